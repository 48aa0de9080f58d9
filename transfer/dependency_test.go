// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// Who links ownership and transfer compiles the standard library and this
// module, and nothing else: no gRPC, no protobuf, no testing, no cgo.
func TestLibraryUsersGetNoDependencies(t *testing.T) {
	const module = "github.com/kvxfer/kvxfer/"
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,CgoFiles", module+"ownership", module+"transfer")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; seen++ {
		var p struct {
			ImportPath string
			Standard   bool
			CgoFiles   []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch {
		case p.ImportPath == "testing":
			t.Error("testing is linked")
		case p.ImportPath == "net/http": // transfer/admin is a package of its own for this
			t.Error("an HTTP server is linked")
		case p.Standard:
		case !strings.HasPrefix(p.ImportPath, module):
			t.Errorf("%s is linked", p.ImportPath)
		case len(p.CgoFiles) > 0:
			t.Errorf("%s uses cgo", p.ImportPath)
		case strings.HasPrefix(p.ImportPath, module+"transfer/rpc"), strings.HasPrefix(p.ImportPath, module+"nixl"):
			t.Errorf("%s is linked", p.ImportPath)
		}
	}
	if seen < 20 {
		t.Fatalf("go list named only %d packages", seen)
	}
}
