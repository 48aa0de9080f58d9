// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package ctest compiles C libraries that tests have the sources of.
package ctest

import (
	"embed"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Source is the C code of one shared library. It must not be copied after its first
// use; all methods may be called from any goroutine.
type Source struct {
	Files  embed.FS
	Folder string   // of Files; every .c in it is compiled
	Flags  []string // for the compiler, besides those of a shared library

	mu    sync.Mutex
	built map[string][]byte // guarded by mu; by the defines
}

// Unpack writes the sources below dir and returns the C files.
func (s *Source) Unpack(t testing.TB, dir string) (files []string) {
	t.Helper()
	entries, err := s.Files.ReadDir(s.Folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := s.Files.ReadFile(path.Join(s.Folder, e.Name()))
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

// Build returns the library, compiled once in a process for each set of defines. The
// test is skipped where there is no C compiler.
func (s *Source) Build(t testing.TB, defines ...string) []byte {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) on this machine")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.Join(defines, "\x00")
	if b := s.built[key]; b != nil {
		return b
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "library.so")
	args := append([]string{"-shared", "-fPIC", "-pthread", "-Wall", "-Werror", "-o", out}, s.Flags...)
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if b, err := exec.Command(cc, append(args, s.Unpack(t, dir)...)...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if s.built == nil {
		s.built = map[string][]byte{}
	}
	s.built[key] = b
	return b
}
