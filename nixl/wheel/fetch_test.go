// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wheel

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// file is one entry of a wheel that a test makes.
type file struct {
	name, text string
	mode       os.FileMode
}

// makeWheel writes an archive and returns it with a lock that pins it.
func makeWheel(t *testing.T, files ...file) (path, lock string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "nixl_cu12-1.5.1-cp312-cp312-any.whl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, e := range files {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path, lockFor(t, path)
}

func lockFor(t *testing.T, path string) string {
	t.Helper()
	sum, err := hash(path)
	if err != nil {
		t.Fatal(err)
	}
	return "nixl-cu12==1.5.1 \\\n    --hash=sha256:" + sum + "\n"
}

// pip writes a python3 whose pip runs the script with $out set to the folder
// that was asked for, and notes its arguments in a file beside it.
func pip(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), "python3")
	text := "#!/bin/sh\necho \"$@\" > '" + path + ".args'\nfor out; do :; done\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func giving(t *testing.T, wheel string) string {
	return pip(t, fmt.Sprintf(`mkdir -p "$out" && cp '%s' "$out"/`, wheel))
}

var good = []file{
	{".nixl_cu12.mesonpy.libs/libnixl_capi.so", "library", 0o755},
	{"nixl_cu12-1.5.1.dist-info/METADATA", "Version: 1.5.1\n", 0o644},
}

func TestFetchUnpacksThePinnedWheel(t *testing.T) {
	wheel, lock := makeWheel(t, good...)
	dir := filepath.Join(t.TempDir(), "new", ".nixl")
	python := giving(t, wheel)
	got, err := Fetch(t.Context(), dir, Options{Lock: lock, Python: python})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "1.5.1"); got != want {
		t.Errorf("folder %s, want %s", got, want)
	}
	for _, f := range good {
		info, err := os.Stat(filepath.Join(got, f.name))
		if err != nil || info.Mode().Perm()&0o100 != f.mode&0o100 || info.Size() != int64(len(f.text)) {
			t.Errorf("%s: %v, %v", f.name, info, err)
		}
	}
	args, err := os.ReadFile(python + ".args")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-m pip download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--platform manylinux_2_28_", "--python-version 3.12"} {
		if !strings.Contains(string(args), want) {
			t.Errorf("pip was called with %s, without %s", args, want)
		}
	}
	leaves(t, dir, "1.5.1")

	// A second fetch asks nobody.
	if _, err := Fetch(t.Context(), dir, Options{Lock: lock, Python: "/nonexistent"}); err != nil {
		t.Error(err)
	}
}

// leaves requires that dir holds these names and no temporary ones.
func leaves(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

func TestFetchFailsWithTheReason(t *testing.T) {
	wheel, lock := makeWheel(t, good...)
	slip, slipLock := makeWheel(t, file{"../outside", "x", 0o644})
	cut := filepath.Join(t.TempDir(), "cut.whl")
	if b, err := os.ReadFile(wheel); err != nil || os.WriteFile(cut, b[:len(b)/2], 0o600) != nil {
		t.Fatal("cannot cut the wheel")
	}
	other := strings.Replace(lock, "sha256:"+lock[len(lock)-65:len(lock)-1], "sha256:"+strings.Repeat("0", 64), 1)
	failing := func(text string) string { return pip(t, "cat >&2 <<'END'\n"+text+"\nEND\nexit 1") }
	for name, c := range map[string]struct {
		python, lock string
		want         error
		says         string
	}{
		"no python":         {filepath.Join(t.TempDir(), "python3"), lock, ErrNoPython, "python3 not found"},
		"no pip":            {failing("/usr/bin/python3: No module named pip"), lock, ErrNoPip, "python3-pip"},
		"no network":        {failing("WARNING: Retrying: NewConnectionError('Network is unreachable')\nERROR: Could not find a version"), lock, ErrNetwork, "Could not find"},
		"no name":           {failing("WARNING: Temporary failure in name resolution\nERROR: No matching distribution found"), lock, ErrNetwork, "No matching"},
		"pip sees a hash":   {failing("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE."), lock, ErrHash, "DO NOT MATCH"},
		"anything else":     {failing("ERROR: disk quota exceeded"), lock, ErrPip, "disk quota"},
		"pip leaves none":   {pip(t, "exit 0"), lock, ErrPip, "no wheel"},
		"wrong hash":        {giving(t, wheel), other, ErrHash, "sha256"},
		"cut short":         {giving(t, cut), lockFor(t, cut), ErrCorrupt, "cut.whl"},
		"leaves its folder": {giving(t, slip), slipLock, ErrCorrupt, "outside"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := Fetch(t.Context(), dir, Options{Lock: c.lock, Python: c.python})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line of %v that says %q", err, c.want, c.says)
			}
			leaves(t, dir)
		})
	}
}

func TestFetchCanBeCancelled(t *testing.T) {
	_, lock := makeWheel(t, good...)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	python := pip(t, "exec sleep 60")
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := Fetch(ctx, dir, Options{Lock: lock, Python: python}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	leaves(t, dir)
}

func TestFetchInManyProcessesAtOnce(t *testing.T) {
	wheel, lock := makeWheel(t, good...)
	dir := t.TempDir()
	python := giving(t, wheel)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := Fetch(t.Context(), dir, Options{Lock: lock, Python: python}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	leaves(t, dir, "1.5.1")
}

func TestFetchReportsProgress(t *testing.T) {
	wheel, lock := makeWheel(t, good...)
	seen := make(chan int64, 1)
	// Pip goes on only when the report was seen, so nothing depends on time.
	gate := filepath.Join(t.TempDir(), "gate")
	python := pip(t, fmt.Sprintf(`mkdir -p "$out" && head -c 5000 /dev/zero > "$TMPDIR"/part
while [ ! -e '%s' ]; do sleep 0.05; done; rm "$TMPDIR"/part; cp '%s' "$out"/`, gate, wheel))
	_, err := Fetch(t.Context(), t.TempDir(), Options{Lock: lock, Python: python, Progress: func(n int64) {
		if n < 5000 {
			return
		}
		select {
		case seen <- n:
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Error(err)
			}
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if n := <-seen; n < 5000 {
		t.Errorf("reported %d bytes", n)
	}
}
