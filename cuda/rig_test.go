// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda_test

import (
	"os"
	"testing"

	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
)

func TestMain(m *testing.M) {
	if code, played := play(); played {
		os.Exit(code)
	}
	os.Exit(cudatest.Main(m))
}

// rig is a fake driver with the contexts of its two devices.
type rig struct {
	*cudatest.Fake
	driver *cuda.Driver
	ctx    *cuda.Context // of device 0
	other  *cuda.Context // of device 1
}

func newRig(t testing.TB, defines ...string) *rig {
	t.Helper()
	r := &rig{Fake: cudatest.New(t, defines...)}
	var err error
	if r.driver, err = cuda.Open(cuda.Options{Library: r.Path()}); err != nil {
		t.Fatal(err)
	}
	devices := r.driver.Devices()
	if len(devices) != 2 {
		t.Fatalf("%d devices, want 2", len(devices))
	}
	r.ctx = got(devices[0].Primary())(t)
	r.other = got(devices[1].Primary())(t)
	r.Calls()
	return r
}

// got takes a result and wants it to be without error.
func got[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pair is a pinned source with a pattern, and device memory as long.
func (r *rig) pair(t testing.TB, n int) (host, device *cuda.Memory) {
	t.Helper()
	host, device = got(r.ctx.AllocHost(n))(t), got(r.ctx.Alloc(n))(t)
	for i, b := 0, host.Bytes(); i < n; i++ {
		b[i] = byte(i*7 + i>>8)
	}
	return host, device
}

// recorded is a stream with a pending copy, and an event behind it.
func (r *rig) recorded(t testing.TB) (*cuda.Stream, *cuda.Event, *cuda.Memory) {
	t.Helper()
	r.SetMode(cudatest.BySteps)
	host, device := r.pair(t, 64)
	s, e := got(r.ctx.NewStream())(t), got(r.ctx.NewEvent())(t)
	ok(t, s.Copy(device.All(), host.All()))
	ok(t, e.Record(s))
	return s, e, device
}
