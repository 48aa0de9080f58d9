// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/internal/overlay"
)

// TestOverlay: edits of one file follow each other, the file itself stays, and what does
// not stand exactly once is an error.
func TestOverlay(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(source, []byte("one two two"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := overlay.New(t.TempDir())
	for _, edit := range [][2]string{{"one", "1"}, {"1 two", "1 2"}} {
		if err := o.Edit(source, edit[0], edit[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Edit(source, "one", "1"); err == nil || !strings.Contains(err.Error(), "0 times, want once") {
		t.Errorf("an edit that does not fit: %v", err)
	}
	if err := o.Put(filepath.Join(filepath.Dir(source), "b.go"), []byte("more")); err != nil {
		t.Fatal(err)
	}
	path, err := o.Write()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Replace map[string]string }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{source: "1 2 two", filepath.Join(filepath.Dir(source), "b.go"): "more"} {
		if text, err := os.ReadFile(list.Replace[file]); err != nil || string(text) != want {
			t.Errorf("in the place of %s: %q, %v", file, text, err)
		}
	}
	if text, err := os.ReadFile(source); err != nil || string(text) != "one two two" {
		t.Errorf("the file is %q, %v", text, err)
	}
}
