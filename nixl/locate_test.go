// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/internal/nixltest"
)

// fakePython puts a python3 in front that says that its path is dir.
func fakePython(t *testing.T, dir string) {
	t.Helper()
	bin := t.TempDir()
	script := "#!/bin/sh\nprintf '\\n%s\\n' '" + dir + "'\n"
	if err := os.WriteFile(filepath.Join(bin, "python3"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestSearchOrder(t *testing.T) {
	given, env, python, folder := nixltest.Wheel(t, "1.5.1"), nixltest.Wheel(t, "1.5.1"), nixltest.Wheel(t, "1.5.1"), nixltest.Wheel(t, "1.5.1")
	venv := t.TempDir()
	site := filepath.Join(venv, "lib", "python3.12", "site-packages")
	if err := os.MkdirAll(filepath.Dir(site), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(nixltest.Wheel(t, "1.5.1"), site); err != nil {
		t.Fatal(err)
	}
	old := nixltest.Wheel(t, "1.3.2")
	inside := func(dir string) string {
		real, err := filepath.EvalSymlinks(filepath.Join(dir, ".nixl_cu12.mesonpy.libs", LibraryName))
		if err != nil {
			t.Fatal(err)
		}
		return real
	}
	for _, c := range []struct {
		name                     string
		given, env, venv, python string
		folders                  []string
		want                     string
	}{
		{"the option goes first", given, env, venv, python, []string{folder}, inside(given)},
		{"then the environment", "", env, venv, python, []string{folder}, inside(env)},
		{"then the virtual environment", "", "", venv, python, []string{folder}, inside(site)},
		{"then python's own path", "", "", "", python, []string{folder}, inside(python)},
		{"then the program's folders", "", "", "", "", []string{t.TempDir(), folder}, inside(folder)},
		{"an installed one that is too old is passed over", "", "", "", old, []string{folder}, inside(folder)},
	} {
		t.Run(c.name, func(t *testing.T) {
			fakePython(t, c.python)
			t.Setenv(EnvLibrary, c.env)
			t.Setenv("VIRTUAL_ENV", c.venv)
			lib, err := Open(Options{Library: c.given, Folders: c.folders})
			if err != nil {
				t.Fatal(err)
			}
			if lib.Path() != c.want {
				t.Errorf("found %s in %s, want %s", lib.Path(), lib.Found(), c.want)
			}
		})
	}
}

// What the user named is never replaced by something else that is there.
func TestNamedPlaceIsTheOnlyOne(t *testing.T) {
	good := nixltest.Wheel(t, "1.5.1")
	t.Setenv(EnvLibrary, filepath.Join(t.TempDir(), "none.so"))
	_, err := Open(Options{Folders: []string{good}})
	var nf *NotFoundError
	if !errors.As(err, &nf) || len(nf.Attempts) != 1 {
		t.Errorf("got %v", err)
	}
}

func TestNewestFolderFirst(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"1.5.1", "1.10.0", "1.4.1"} {
		if err := os.Symlink(nixltest.Wheel(t, v), filepath.Join(dir, v)); err != nil {
			t.Fatal(err)
		}
	}
	got := inFolder(dir)
	want := []string{"1.10.0", "1.5.1", "1.4.1"}
	if !slices.EqualFunc(got, want, func(g, w string) bool {
		return g == filepath.Join(dir, w, ".nixl_cu12.mesonpy.libs", LibraryName)
	}) {
		t.Errorf("got %v, want the folders %v", got, want)
	}
}
