// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

// Package cudatest is a CUDA driver without a device, for tests: C code with
// the driver's own symbols, compiled when a test asks for it, whose memory is
// the host's and whose streams work when the test says so. It also counts the
// tests that could not run for lack of a real GPU, and names them.
package cudatest

/*
#include <stdlib.h>

static void call_fail(void *fn, const char *call, long code, long skip, long count) {
	((void (*)(const char *, long, long, long))fn)(call, code, skip, count);
}
static long call_set(void *fn, const char *what, long value) {
	return ((long (*)(const char *, long))fn)(what, value);
}
static long call_calls(void *fn, char *out, long len) {
	return ((long (*)(char *, long))fn)(out, len);
}
*/
import "C"

import (
	"embed"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/internal/ctest"
	"github.com/kvxfer/kvxfer/internal/dl"
)

//go:embed testdata/fake
var files embed.FS

var source = ctest.Source{Files: files, Folder: "testdata/fake", Flags: []string{"-Wextra", "-O1", "-fvisibility=hidden"}}

// Mode says when a fake does the work of its streams.
type Mode int

// Modes.
const (
	AtOnce   Mode = iota // when it is given
	BySteps              // when the test calls Step
	ByThread             // on a thread of the fake's own
)

// Fake is one driver. Each has its own state; all of it is safe for use from
// many goroutines.
type Fake struct {
	t    testing.TB
	path string

	fail, set, calls dl.Symbol
}

// New compiles a fake, with -D for each define, and loads a copy of its own.
// Without a C compiler the test is skipped.
func New(t testing.TB, defines ...string) *Fake {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(path, source.Build(t, defines...), 0o700); err != nil {
		t.Fatal(err)
	}
	lib, err := dl.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &Fake{t: t, path: path}
	for name, s := range map[string]*dl.Symbol{"fake_fail": &f.fail, "fake_set": &f.set, "fake_calls": &f.calls} {
		if *s, err = lib.Must(name); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// Path is the library, for cuda.Options.
func (f *Fake) Path() string { return f.path }

// Fail makes calls of the C function, named without its version suffix, answer
// code: after skip calls, count times.
func (f *Fake) Fail(call string, code, skip, count int) {
	c := C.CString(call)
	defer C.free(unsafe.Pointer(c))
	C.call_fail(f.fail, c, C.long(code), C.long(skip), C.long(count))
}

// Pause makes the next call of the C function wait inside of the driver until
// Resume; what it asks about may change meanwhile.
func (f *Fake) Pause(call string) { f.Fail(call, -1, 0, 1) }

// Resume lets all paused calls go on.
func (f *Fake) Resume() { f.control("resume", 0) }

func (f *Fake) control(what string, value int) int {
	c := C.CString(what)
	defer C.free(unsafe.Pointer(c))
	rc := int(C.call_set(f.set, c, C.long(value)))
	if rc < 0 {
		f.t.Errorf("the fake knows no %q", what)
	}
	return rc
}

// Devices sets how many devices there are: before cuda.Open, at most 8.
func (f *Fake) Devices(n int) { f.control("devices", n) }

// Capacity sets how many bytes can be allocated.
func (f *Fake) Capacity(n int) { f.control("capacity", n) }

// OtherAddress makes registered host memory have another address for devices.
func (f *Fake) OtherAddress() { f.control("same address", 0) }

// SetMode says when work is done from now on.
func (f *Fake) SetMode(m Mode) { f.control("mode", int(m)) }

// Step does up to n pieces of work and tells how many there were to do: a copy,
// a kernel, the record of an event, a wait that is over.
func (f *Fake) Step(n int) int { return f.control("step", n) }

// Stick makes every call in the context of device 0 or 1 answer code; 0 lets
// it answer truly again, which no real driver does.
func (f *Fake) Stick(device, code int) {
	f.control([]string{"sticky 0", "sticky 1"}[device], code)
}

// InUse is how many bytes are allocated.
func (f *Fake) InUse() int { return f.control("in use", 0) }

// Calls returns the calls that have reached the driver since the last time.
func (f *Fake) Calls() []string {
	const room = 1 << 17
	b := (*C.char)(C.malloc(room))
	defer C.free(unsafe.Pointer(b))
	C.call_calls(f.calls, b, room)
	return strings.Fields(C.GoString(b))
}

// Host is the host's view of a fake's device memory, which a real device has not.
func (f *Fake) Host(m *cuda.Memory) []byte {
	addr := m.Addr()
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), m.Len())
}
