// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/scenario"
)

// TestFiles runs every file of testdata; the file's name is the scenario's.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := scenario.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if f.Name != name {
				t.Errorf("name is %q, the file is %q", f.Name, name)
			}
			report, err := scenario.Run(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := report.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}
