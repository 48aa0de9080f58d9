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
	"path/filepath"
	"testing"

	"github.com/kvxfer/kvxfer/internal/ctest"
)

//go:embed testdata/fake
var files embed.FS

var source = ctest.Source{Files: files, Folder: "testdata/fake", Flags: []string{"-O2"}}

const (
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
	return source.Unpack(t, dir)
}

// Wheel puts the fake into the layout of an unpacked wheel of the given
// version, empty for a build that says none, and returns its folder. Each call
// gives a library of its own to the process.
func Wheel(t testing.TB, version string, defines ...string) string {
	t.Helper()
	b := source.Build(t, defines...)
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
