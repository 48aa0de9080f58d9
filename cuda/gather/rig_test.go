// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/cuda/gather"
	"github.com/kvxfer/kvxfer/memory"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func got[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		ok(t, err)
		return v
	}
}

// kernelDefine makes the fake run the very source of the kernel, compiled for
// the CPU.
func kernelDefine(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("FAKE_KERNEL_FILE=%q", got(filepath.Abs("copy.cu"))(t))
}

// rig is a fake driver and an engine on its first device.
type rig struct {
	*cudatest.Fake
	ctx    *cuda.Context
	other  *cuda.Context
	engine *gather.GPU
}

func newRig(t testing.TB, c gather.Config, defines ...string) *rig {
	t.Helper()
	r := &rig{Fake: cudatest.New(t, append(defines, kernelDefine(t))...)}
	driver := got(cuda.Open(cuda.Options{Library: r.Path()}))(t)
	r.ctx = got(driver.Devices()[0].Primary())(t)
	r.other = got(driver.Devices()[1].Primary())(t)
	r.engine = got(gather.NewGPU(r.ctx, c))(t)
	r.Calls()
	return r
}

func (r *rig) host(t testing.TB, n int) *cuda.Memory   { return got(r.ctx.AllocHost(n))(t) }
func (r *rig) device(t testing.TB, n int) *cuda.Memory { return got(r.ctx.Alloc(n))(t) }

func arena(t testing.TB, n int) *memory.Arena { return got(memory.New(memory.Spec{Len: n}))(t) }

func all(m gather.Memory) gather.Extent { return gather.Extent{Memory: m, Len: m.Len()} }

func part(m gather.Memory, offset, n int) gather.Extent {
	return gather.Extent{Memory: m, Offset: offset, Len: n}
}

// every cuts a memory into blocks of n bytes and takes every second one.
func every(m gather.Memory, n int) (blocks []gather.Extent, total int) {
	for at := 0; at+n <= m.Len(); at += 2 * n {
		blocks = append(blocks, part(m, at, n))
	}
	return blocks, n * len(blocks)
}

func fill(b []byte, seed int) {
	for i := range b {
		b[i] = byte(seed + i*7 + i>>8)
	}
}

// run starts a copy and drives it to its end.
func run(t testing.TB, l backend.Local) {
	t.Helper()
	o := l.Start()
	for o.Status == backend.Submitted || o.Status == backend.InProgress {
		o = l.Poll()
	}
	if o.Status != backend.Done {
		t.Fatalf("copy ended as %v: %v", o.Status, o.Err)
	}
	ok(t, l.Release())
}
