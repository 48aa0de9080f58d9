// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/internal/dl"
)

// Every way in which a driver cannot be used is typed and says what to do.
func TestUnavailable(t *testing.T) {
	notELF := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(notELF, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	failing := func(call string, code int) string {
		f := cudatest.New(t)
		f.Fail(call, code, 0, 1)
		return f.Path()
	}
	noDevice := cudatest.New(t)
	noDevice.Devices(0)
	for name, c := range map[string]struct {
		path string
		is   error
		says []string
	}{
		"absent":     {filepath.Join(t.TempDir(), "libcuda.so.1"), dl.ErrNoLibrary, []string{"install the NVIDIA driver", "--gpus all"}},
		"no library": {notELF, dl.ErrNoLibrary, []string{"install the NVIDIA driver"}},
		"too old":    {cudatest.New(t, "FAKE_VERSION=11040").Path(), nil, []string{"CUDA 11.4", "at least 12.0", "update the NVIDIA driver"}},
		"symbol":     {cudatest.New(t, "FAKE_MISSING").Path(), dl.ErrNoSymbol, []string{"cuCtxPopCurrent_v2", "CUDA 12.8", "update the NVIDIA driver"}},
		"no device":  {noDevice.Path(), cuda.ErrorNoDevice, []string{"CUDA_ERROR_NO_DEVICE (100)", "no CUDA-capable device is detected", "CUDA_VISIBLE_DEVICES"}},
		"stub":       {failing("cuInit", 34), cuda.ErrorStubLibrary, []string{"CUDA_ERROR_STUB_LIBRARY (34)", "toolkit's stub"}},
		"mismatch":   {failing("cuInit", 803), cuda.ErrorDriverMismatch, []string{"reboot"}},
		"device":     {failing("cuDeviceGetName", 999), cuda.ErrorUnknown, []string{"device 0", "cuDeviceGetName"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cuda.Open(cuda.Options{Library: c.path})
			var ue *cuda.UnavailableError
			if !errors.Is(err, cuda.ErrUnavailable) || !errors.As(err, &ue) || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("got %v, want an UnavailableError that is %v", err, c.is)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
			if strings.Contains(err.Error(), "cuda: cuda:") {
				t.Errorf("%q repeats its package", err)
			}
		})
	}
	if _, err := cuda.Open(cuda.Options{Library: cudatest.New(t, "FAKE_VERSION=11040").Path()}); !errors.As(err, new(*cuda.VersionError)) {
		t.Errorf("too old is %v, want a VersionError", err)
	}
}

func TestDevices(t *testing.T) {
	r := newRig(t)
	if again := got(cuda.Open(cuda.Options{Library: r.Path()}))(t); again != r.driver {
		t.Error("the driver was opened twice")
	}
	if v := r.driver.Version(); v != (cuda.Version{Major: 12, Minor: 8}) || r.driver.Path() != r.Path() {
		t.Errorf("version %v, path %s", v, r.driver.Path())
	}
	g := r.driver.Devices()[1]
	if g.Name() != "Fake GPU 1" || g.PCI() != "0000:1c:00.0" || g.Memory() != 1<<30 || g.Ordinal() != 1 ||
		g.UUID().String() != "GPU-02111213-1415-1617-1819-1a1b1c1d1e1f" {
		t.Errorf("device %v, uuid %v", g, g.UUID())
	}
	if n := got(g.Attribute(cuda.AttrMultiprocessors))(t); n != 4 {
		t.Errorf("%d multiprocessors", n)
	}
	if can := got(g.CanAccessPeer(r.driver.Devices()[0]))(t); !can {
		t.Error("no peer access")
	}
	if _, err := g.CanAccessPeer(nil); !errors.Is(err, cuda.ErrArgument) {
		t.Errorf("no peer: %v", err)
	}
	old := newRig(t, "FAKE_NO_UUID_V2")
	if u := old.driver.Devices()[0].UUID(); u[0] != 1 {
		t.Errorf("without the later call: %v", u)
	}
	if unused, total, err := r.ctx.MemInfo(); err != nil || unused != total || total != 1<<30 {
		t.Errorf("memory: %d of %d, %v", unused, total, err)
	}
}

// The primary context is one for all, and goes with its last user and only
// when nothing of it is open.
func TestContextIsShared(t *testing.T) {
	r := newRig(t)
	again := got(r.driver.Devices()[0].Primary())(t)
	if again != r.ctx {
		t.Fatal("two contexts of one device")
	}
	m := got(again.Alloc(8))(t)
	ok(t, again.Close())
	if err := r.ctx.Close(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("close with open memory: %v", err)
	}
	ok(t, m.Free())
	ok(t, r.ctx.Close())
	if err := r.ctx.Close(); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("close again: %v", err)
	}
}

// Calls that the driver refuses, in its own words, and without doubt.
func TestRefusalsAreNoDoubt(t *testing.T) {
	r := newRig(t)
	r.Capacity(1 << 10)
	_, err := r.ctx.Alloc(1 << 20)
	var e *cuda.Error
	if !errors.Is(err, cuda.ErrorOutOfMemory) || !errors.As(err, &e) || e.Call != "cuMemAlloc" || e.Text != "out of memory" {
		t.Errorf("got %v", err)
	}
	if _, err := r.ctx.LoadModule("nonsense"); !errors.Is(err, cuda.ErrorInvalidPTX) || !strings.Contains(err.Error(), "ptxas error") {
		t.Errorf("got %v, want the compiler's words", err)
	}
	m := got(r.ctx.LoadModule(".version 8.0\n.entry known()"))(t)
	if _, err := m.Function("unknown"); !errors.Is(err, cuda.ErrorNotFound) || !strings.Contains(err.Error(), `"unknown"`) {
		t.Errorf("got %v", err)
	}
	if err := r.ctx.Err(); err != nil {
		t.Errorf("context: %v", err)
	}
	ok(t, m.Close())
	ok(t, m.Close())
	if _, err := m.Function("known"); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("closed module: %v", err)
	}
	for _, n := range []int{0, -1} {
		if _, err := r.ctx.Alloc(n); !errors.Is(err, cuda.ErrArgument) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
