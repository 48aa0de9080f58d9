// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/codegen"
)

// TestSharedRuntime: what stands alone with a system has the very runtime of package fsm,
// and imports nothing of this module.
func TestSharedRuntime(t *testing.T) {
	files, err := codegen.Generate(systemSet(t), codegen.Options{ImportPath: "example.org/gen", Standalone: true})
	if err != nil {
		t.Fatal(err)
	}
	shared := ""
	for _, f := range files {
		if strings.Contains(string(f.Data), "github.com/kvxfer") {
			t.Errorf("%s imports this module", f.Path)
		}
		if f.Path == "fsm/fsm.gen.go" {
			shared = string(f.Data)
		}
	}
	head := regexp.MustCompile(`(?s)^.*?\npackage fsm\n(\nimport "[a-z]+"\n)?`)
	for _, name := range []string{"../result.go", "../refused.go", "../call.go"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if body := strings.TrimSpace(head.ReplaceAllString(string(data), "")); !strings.Contains(shared, body) {
			t.Errorf("the shared runtime is not what %s says", name)
		}
	}
}
