// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package nixltest builds a fake NIXL library for tests: with the symbols of
// the real one, with peers that answer what a test writes into their names, and
// with peers that move bytes the way the real one was measured to.
// testdata/fake/fake.h tells how a test speaks with it.
package nixltest

import (
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

//go:embed testdata/fake
var sources embed.FS

const (
	folder  = "testdata/fake"
	library = "libnixl_capi.so"
	libs    = ".nixl_cu12.mesonpy.libs"
)

// Control is the peer that stands for the fake itself: a notification to it is
// a command.
const (
	Control = "fake"
	// Break makes everything in flight answer with an error; the bytes still
	// land when their target makes progress.
	Break = "break"
	// Live makes the notification's code the number of objects alive.
	Live = "live"
)

// Sources writes the fake's sources below dir and returns the C files.
func Sources(t testing.TB, dir string) (files []string) {
	t.Helper()
	entries, err := sources.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := sources.ReadFile(folder + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, e.Name())
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(to, ".c") {
			files = append(files, to)
		}
	}
	return files
}

// built are the libraries of this process, by what they were built with.
var built struct {
	sync.Mutex
	by map[string][]byte
}

// Build compiles the fake, once for each set of defines; the test is skipped
// where there is no C compiler.
func Build(t testing.TB, defines ...string) []byte {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) on this machine")
	}
	built.Lock()
	defer built.Unlock()
	key := strings.Join(defines, " ")
	if b := built.by[key]; b != nil {
		return b
	}
	dir := t.TempDir()
	out := filepath.Join(dir, library)
	args := []string{"-shared", "-fPIC", "-pthread", "-O2", "-Wall", "-Werror", "-o", out}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if b, err := exec.Command(cc, append(args, Sources(t, dir)...)...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if built.by == nil {
		built.by = map[string][]byte{}
	}
	built.by[key] = b
	return b
}

// Wheel puts the fake into the layout of an unpacked wheel of the given
// version, empty for a build that says none, and returns its folder. Each call
// gives a library of its own to the process.
func Wheel(t testing.TB, version string, defines ...string) string {
	t.Helper()
	b := Build(t, defines...)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, libs), 0o755); err != nil {
		t.Fatal(err)
	}
	if version != "" {
		if err := os.Mkdir(filepath.Join(dir, "nixl_cu12-"+version+".dist-info"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(Library(dir), b, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Library is the file in a wheel's folder.
func Library(wheel string) string { return filepath.Join(wheel, libs, library) }
