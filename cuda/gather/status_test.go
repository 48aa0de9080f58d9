// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/cuda/gather"
	"github.com/kvxfer/kvxfer/memory"
)

// What each failing call of the driver makes of a copy. Before the call that
// gives the blocks to the device, nothing can have touched them: that is proof.
// From that call on nobody knows.
func TestEveryFailureOfACopy(t *testing.T) {
	for _, c := range []struct {
		method gather.Method
		call   string
		code   int
		start  backend.Status
		poll   backend.Status // 0: what start said stays
	}{
		{gather.Kernel, "cuFlushGPUDirectRDMAWrites", 801, backend.NotSubmitted, 0},
		{gather.Kernel, "cuFlushGPUDirectRDMAWrites", 719, backend.NotSubmitted, 0},
		{gather.Kernel, "cuStreamWaitEvent", 400, backend.NotSubmitted, 0},
		{gather.Kernel, "cuMemcpyAsync", 2, backend.NotSubmitted, 0}, // of the list, not of the blocks
		{gather.Kernel, "cuMemcpyAsync", 700, backend.NotSubmitted, 0},
		{gather.Kernel, "cuLaunchKernel", 1, backend.Error, 0},
		{gather.Kernel, "cuLaunchKernel", 701, backend.Error, 0},
		{gather.Kernel, "cuLaunchKernel", 719, backend.Error, 0},
		{gather.Kernel, "cuEventRecord", 400, backend.Error, 0},
		{gather.Kernel, "cuEventQuery", 700, backend.Submitted, backend.Error},
		{gather.Kernel, "cuEventQuery", 400, backend.Submitted, backend.Error},
		{gather.Kernel, "cuEventQuery", 600, backend.Submitted, backend.InProgress},
		{gather.CopyEngine, "cuStreamWaitEvent", 709, backend.NotSubmitted, 0},
		{gather.CopyEngine, "cuMemcpyBatchAsync", 1, backend.Error, 0},
		{gather.CopyEngine, "cuMemcpyBatchAsync", 214, backend.Error, 0},
		{gather.CopyEngine, "cuEventRecord", 2, backend.Error, 0},
		{gather.CopyEngine, "cuEventQuery", 999, backend.Submitted, backend.Error},
	} {
		t.Run(fmt.Sprint(c.method, c.call, c.code), func(t *testing.T) {
			r := newRig(t, gather.Config{Method: c.method})
			buffer, block := r.device(t, 64), r.device(t, 64)
			r.SetMode(cudatest.BySteps)
			stream, pending := got(r.ctx.NewStream())(t), got(r.ctx.NewEvent())(t)
			ok(t, pending.Record(stream))
			l := got(r.engine.Scatter(gather.Spec{
				Buffer: all(buffer), Blocks: []gather.Extent{all(block)}, After: []*cuda.Event{pending},
			}))(t)
			r.Fail(c.call, c.code, skipOf(c.call), 1)
			if o := l.Start(); o.Status != c.start || (o.Err == nil) != (c.start == backend.Submitted) {
				t.Fatalf("start: %v, %v, want %v", o.Status, o.Err, c.start)
			}
			if c.poll == 0 {
				c.poll = c.start
			}
			r.Step(100)
			if o := l.Poll(); o.Status != c.poll {
				t.Fatalf("poll: %v, %v, want %v", o.Status, o.Err, c.poll)
			}
			// The driver tells the truth from here on, and all work has ended.
			want := c.poll
			if want == backend.InProgress {
				want = backend.Done
			}
			for range 2 {
				if o := l.Poll(); o.Status != want {
					t.Errorf("later: %v, %v, want %v", o.Status, o.Err, want)
				}
			}
			checkRetained(t, r, l, block, want == backend.Error)
		})
	}
}

// skipOf lets the queries pass that a wait for an event makes.
func skipOf(call string) int {
	if call == "cuEventQuery" {
		return 1
	}
	return 0
}

// checkRetained wants a copy in doubt to keep everything, and another nothing.
func checkRetained(t *testing.T, r *rig, l backend.Local, block *cuda.Memory, doubted bool) {
	t.Helper()
	if err := block.Free(); !errors.Is(err, cuda.ErrInFlight) && !errors.Is(err, cuda.ErrInDoubt) {
		t.Errorf("free before release: %v", err)
	}
	for range 2 {
		if err := l.Release(); errors.Is(err, backend.ErrInFlight) != doubted {
			t.Errorf("release: %v", err)
		}
	}
	if !doubted && r.ctx.Err() == nil { // the next copy finds a slot
		again := got(r.engine.Gather(gather.Spec{Buffer: all(r.device(t, 64)), Blocks: []gather.Extent{all(block)}}))(t)
		ok(t, again.Release())
	}
	if err := r.engine.Close(); doubted != errors.Is(err, backend.ErrInFlight) && r.ctx.Err() == nil {
		t.Errorf("close: %v", err)
	}
	if !doubted && r.ctx.Err() == nil {
		ok(t, block.Free())
	}
}

func TestOrderOfCalls(t *testing.T) {
	for name, engine := range engines(t) {
		t.Run(name, func(t *testing.T) {
			a, b := engine.memory(t, 64), engine.memory(t, 64)
			build := func() backend.Local {
				return got(engine.Gather(gather.Spec{Buffer: all(a), Blocks: []gather.Extent{all(b)}}))(t)
			}
			never := build()
			if o := never.Poll(); o.Status != backend.Error {
				t.Errorf("poll before start: %v", o.Status)
			}
			if err := engine.Close(); !errors.Is(err, backend.ErrInFlight) {
				t.Errorf("close with an open copy: %v", err)
			}
			ok(t, never.Release()) // never started: nothing to wait for
			if o := never.Poll(); o.Status != backend.Lost {
				t.Errorf("poll after release: %v", o.Status)
			}
			if o := never.Start(); o.Status != backend.Error {
				t.Errorf("start after release: %v", o.Status)
			}
			l := build()
			l.Start()
			if o := l.Start(); o.Status != backend.Error || !errors.Is(o.Err, backend.ErrInvalid) {
				t.Errorf("second start: %v", o)
			}
			for l.Poll().Status != backend.Done {
			}
			ok(t, l.Release())
			ok(t, engine.Close())
			if _, err := engine.Scatter(gather.Spec{Buffer: all(a), Blocks: []gather.Extent{all(b)}}); !errors.Is(err, backend.ErrClosed) {
				t.Errorf("closed: %v", err)
			}
		})
	}
}

type engineWith struct {
	gather.Engine
	memory func(testing.TB, int) gather.Memory
}

func engines(t *testing.T) map[string]engineWith {
	out := map[string]engineWith{"CPU": {new(gather.CPU), func(t testing.TB, n int) gather.Memory { return arena(t, n) }}}
	for _, m := range []gather.Method{gather.Kernel, gather.CopyEngine} {
		r := newRig(t, gather.Config{Method: m})
		out[m.String()] = engineWith{r.engine, func(t testing.TB, n int) gather.Memory { return r.device(t, n) }}
	}
	return out
}

// Memory is held from the moment the copy is built.
func TestCopyHoldsItsMemory(t *testing.T) {
	a, b := arena(t, 64), arena(t, 64)
	l := got(new(gather.CPU).Gather(gather.Spec{Buffer: all(a), Blocks: []gather.Extent{all(b), part(b, 0, 0)}[:1]}))(t)
	for _, m := range []*memory.Arena{a, b} {
		if err := m.Close(); !errors.Is(err, memory.ErrHeld) {
			t.Errorf("close: %v", err)
		}
	}
	ok(t, l.Release())
	ok(t, a.Close())
	if _, err := new(gather.CPU).Gather(gather.Spec{Buffer: gather.Extent{Memory: a, Len: 64}, Blocks: []gather.Extent{all(b)}}); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("closed memory: %v", err)
	}
	ok(t, b.Close())
}

func TestEngineBounds(t *testing.T) {
	r := newRig(t, gather.Config{Method: gather.Kernel, Copies: 2})
	a, b := r.device(t, 64), r.device(t, 64)
	spec := gather.Spec{Buffer: all(a), Blocks: []gather.Extent{all(b)}}
	first, second := got(r.engine.Gather(spec))(t), got(r.engine.Gather(spec))(t)
	if _, err := r.engine.Gather(spec); !errors.Is(err, gather.ErrFull) {
		t.Errorf("third: %v", err)
	}
	ok(t, first.Release())
	why := errors.New("row remap pending")
	r.engine.Quarantine(why)
	if _, err := r.engine.Gather(spec); !errors.Is(err, why) || !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("quarantined: %v", err)
	}
	run(t, second) // what was built before goes on
	r.engine.Quarantine(nil)
	ok(t, got(r.engine.Gather(spec))(t).Release())

	elsewhere := got(r.other.Alloc(64))(t)
	for what, s := range map[string]gather.Spec{
		"arena":  {Buffer: all(a), Blocks: []gather.Extent{all(arena(t, 64))}},
		"device": {Buffer: all(elsewhere), Blocks: []gather.Extent{all(b)}},
	} {
		if _, err := r.engine.Gather(s); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := new(gather.CPU).Gather(spec); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("the CPU reaches device memory: %v", err)
	}
	if _, err := gather.NewGPU(r.ctx, gather.Config{}); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("no method: %v", err)
	}
	// A failure half way leaves nothing behind.
	before := r.InUse()
	r.Fail("cuModuleLoadDataEx", 222, 0, 1)
	if _, err := gather.NewGPU(r.ctx, gather.Config{Method: gather.Kernel}); !errors.Is(err, cuda.ErrorUnsupportedPTX) {
		t.Errorf("old driver: %v", err)
	}
	poor := got(gather.NewGPU(r.ctx, gather.Config{Method: gather.Kernel}))(t)
	for _, room := range []int{100, 1024*cuda.CopySize + 100} { // not for the list; not for the table
		r.Capacity(before + room)
		if _, err := poor.Gather(spec); !errors.Is(err, cuda.ErrorOutOfMemory) {
			t.Errorf("no memory: %v", err)
		}
	}
	ok(t, poor.Close())
	if left := r.InUse(); left != before {
		t.Errorf("%d bytes are left", left-before)
	}
	ok(t, r.engine.Close())
}

// Copies of one stream: each is done when its own event is, not earlier.
func TestManyCopiesByThread(t *testing.T) {
	r := newRig(t, gather.Config{Method: gather.CopyEngine, Copies: 64})
	r.SetMode(cudatest.ByThread)
	var copies []backend.Local
	var buffers []*cuda.Memory
	src := r.host(t, 64<<10)
	fill(src.Bytes(), 3)
	for i := range 64 {
		buffer := r.host(t, 1<<10)
		spec := gather.Spec{Buffer: all(buffer), Blocks: []gather.Extent{part(src, i<<10, 512), part(src, (63-i)<<10+512, 512)}}
		l := got(r.engine.Gather(spec))(t)
		if o := l.Start(); o.Status != backend.Submitted {
			t.Fatal(o)
		}
		copies, buffers = append(copies, l), append(buffers, buffer)
	}
	for i, l := range copies {
		for l.Poll().Status != backend.Done {
		}
		want := slices.Concat(src.Bytes()[i<<10:i<<10+512], src.Bytes()[(63-i)<<10+512:(64-i)<<10])
		if !slices.Equal(buffers[i].Bytes(), want) {
			t.Fatalf("copy %d was done before its bytes", i)
		}
		ok(t, l.Release())
	}
	ok(t, r.engine.Close())
}
