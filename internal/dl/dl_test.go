// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package dl

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// build compiles one C source into a shared library below the test's folder.
func build(t *testing.T, source string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) on this machine")
	}
	dir := t.TempDir()
	src, out := filepath.Join(dir, "lib.c"), filepath.Join(dir, "lib.so")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-shared", "-fPIC", "-Wall", "-Werror", "-o", out, src}, flags...)
	if b, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, b)
	}
	return out
}

func TestOpenFindsSymbols(t *testing.T) {
	path := build(t, "int kvx_present(void) { return 1; }\n")
	lib, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	sym, err := lib.Must("kvx_present")
	if err != nil || sym == nil {
		t.Fatalf("Must(kvx_present) = %v, %v", sym, err)
	}
	if got := lib.Origin(sym); got != path {
		t.Errorf("Origin = %q, want %q", got, path)
	}
	if lib.Maybe("kvx_present") != sym {
		t.Error("Maybe and Must disagree")
	}
	if lib.Maybe("kvx_absent") != nil {
		t.Error("Maybe found an absent symbol")
	}
	_, err = lib.Must("kvx_absent")
	var se *SymbolError
	if !errors.Is(err, ErrNoSymbol) || !errors.As(err, &se) || !strings.Contains(se.Reason, "kvx_absent") {
		t.Errorf("Must(kvx_absent) = %v, want the loader's words", err)
	}
	if err := errors.Join(lib.Close(), lib.Close()); err != nil {
		t.Error(err)
	}
}

func TestOpenKeepsTheLoadersWords(t *testing.T) {
	cut := filepath.Join(t.TempDir(), "cut.so")
	if err := os.WriteFile(cut, []byte("\x7fELF\x02\x01\x01"), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := build(t, "char kvx_much[1 << 20] = {1};\n")
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "short.so")
	if err := os.WriteFile(short, content[:len(content)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	unresolved := build(t, "int kvx_nowhere(void);\nint kvx_here(void) { return kvx_nowhere(); }\n")
	pipe := filepath.Join(t.TempDir(), "pipe.so")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ path, want string }{
		"pipe":       {pipe, "pipe.so: not a regular file"},
		"device":     {"/dev/zero", "/dev/zero: not a regular file"},
		"absent":     {filepath.Join(t.TempDir(), "libabsent.so"), "libabsent.so"},
		"truncated":  {cut, "cut.so"},
		"cut short":  {short, "short.so: file is cut short"},
		"unresolved": {unresolved, "kvx_nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(tc.path)
			var oe *OpenError
			if !errors.Is(err, ErrNoLibrary) || !errors.As(err, &oe) {
				t.Fatalf("Open = %v, want an OpenError", err)
			}
			if !strings.Contains(oe.Reason, tc.want) {
				t.Errorf("reason %q does not name %q", oe.Reason, tc.want)
			}
		})
	}
}

// Errors of one goroutine must not show up in another's: dlerror is per thread.
func TestErrorsStayWithTheirCaller(t *testing.T) {
	lib, err := Open(build(t, "int kvx_present(void) { return 1; }\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	var wg sync.WaitGroup
	for _, name := range []string{"kvx_a", "kvx_b", "kvx_c", "kvx_d"} {
		wg.Go(func() {
			for range 500 {
				if _, err := lib.Must(name); err == nil || !strings.Contains(err.(*SymbolError).Reason, name) {
					t.Errorf("%s: got %v", name, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
