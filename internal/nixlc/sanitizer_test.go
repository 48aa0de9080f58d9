// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixlc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/internal/nixltest"
)

// The C side under AddressSanitizer and UndefinedBehaviorSanitizer, with the
// fake as the library: no byte outside of what was allocated, nothing used
// after it was freed, nothing left. Go's own allocator would hide all of it.
func TestTheCSideUnderSanitizers(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) on this machine")
	}
	dir := t.TempDir()
	flags := []string{"-g", "-O1", "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I."}
	empty := filepath.Join(dir, "empty.c")
	if err := os.WriteFile(empty, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	probe := filepath.Join(dir, "probe")
	if b, err := exec.Command(cc, append(flags, "-o", probe, empty)...).CombinedOutput(); err != nil {
		t.Skipf("cc has no sanitizers: %v: %s", err, b)
	}
	if b, err := exec.Command(probe).CombinedOutput(); err != nil {
		t.Skipf("a sanitized program does not run here: %v: %s", err, b)
	}
	shim, err := filepath.Glob("shim_*.c")
	if err != nil || len(shim) == 0 {
		t.Fatal(err, shim)
	}
	program := filepath.Join(dir, "driver")
	args := append(flags, "-Wall", "-Werror", "-o", program, filepath.Join("testdata", "driver.c"))
	args = append(append(args, shim...), nixltest.Sources(t, dir)...)
	if b, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, b)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=1")
	b, err := cmd.CombinedOutput()
	if err != nil && strings.Contains(string(b), "LeakSanitizer has encountered a fatal error") {
		t.Logf("leaks cannot be looked for here: %s", b)
		cmd = exec.Command(program)
		cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
		b, err = cmd.CombinedOutput()
	}
	if err != nil {
		t.Errorf("%v\n%s", err, b)
	}
}
