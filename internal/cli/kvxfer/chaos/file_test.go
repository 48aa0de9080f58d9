// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A file that is left over is named so that it can be found: a socket by its ends.
func TestOpenFilesHaveNames(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	path := filepath.Join(t.TempDir(), "left")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	u, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	got, err := openFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		path, "socket " + l.Addr().String(), "socket " + c.LocalAddr().String() + " to " + l.Addr().String(), `socket "` + u.Addr().String() + `"`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
}
