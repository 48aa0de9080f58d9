// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/memory"
)

// Memory stays until an event behind the work is done, and the driver does not
// hear of an earlier free.
func TestFreeWaitsForProof(t *testing.T) {
	r := newRig(t)
	s, e, device := r.recorded(t)
	r.Calls()
	for range 2 {
		if err := device.Free(); !errors.Is(err, cuda.ErrInFlight) {
			t.Errorf("free: %v", err)
		}
	}
	if heard := r.Calls(); len(heard) != 0 {
		t.Errorf("the driver heard %v", heard)
	}
	r.Step(1) // the copy, not the record
	if state, _ := e.Query(); state != cuda.EventPending {
		t.Errorf("after the copy alone: %v", state)
	}
	if err := device.Free(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("free: %v", err)
	}
	r.Step(1)
	if err := device.Free(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("free before anybody asked: %v", err)
	}
	if state, err := e.Query(); state != cuda.EventDone || err != nil {
		t.Fatal(state, err)
	}
	another := got(r.ctx.Alloc(64))(t)
	ok(t, device.Free())
	ok(t, device.Free())
	if err := s.Copy(device.All(), another.All()); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("copy to freed memory: %v", err)
	}
	if b := device.Bytes(); b != nil {
		t.Error("device memory has bytes of the host")
	}
}

func TestWorkWithoutEventIsHeld(t *testing.T) {
	r := newRig(t)
	host, device := r.pair(t, 64)
	s := got(r.ctx.NewStream())(t)
	ok(t, s.Copy(device.All(), host.All()))
	if err := device.Free(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("free: %v", err)
	}
	if err := s.Close(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("close: %v", err)
	}
	ok(t, s.Synchronize())
	ok(t, device.Free())
	ok(t, s.Close())
	ok(t, s.Close())
	if err := s.Set(host.All(), 1); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := host.Bytes(); err == nil {
		t.Error("host memory has no bytes")
	}
}

// A failed call may have started something: the memory is held all the same.
func TestFailedCopyIsHeld(t *testing.T) {
	r := newRig(t)
	host, device := r.pair(t, 64)
	s := got(r.ctx.NewStream())(t)
	r.Fail("cuMemcpyAsync", 1, 0, 1)
	if err := s.Copy(device.All(), host.All()); !errors.Is(err, cuda.ErrorInvalidValue) {
		t.Fatalf("copy: %v", err)
	}
	if err := device.Free(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("free: %v", err)
	}
	r.Fail("cuMemcpyAsync", 700, 0, 1)
	if err := s.Copy(device.All(), host.All()); !errors.Is(err, cuda.ErrInDoubt) || !errors.Is(err, cuda.ErrorIllegalAddress) {
		t.Errorf("copy: %v", err)
	}
	if err := device.Free(); !errors.Is(err, cuda.ErrInDoubt) {
		t.Errorf("free in doubt: %v", err)
	}
}

func TestFailedSynchronizeIsNoProof(t *testing.T) {
	r := newRig(t)
	s, e, device := r.recorded(t)
	r.Fail("cuEventSynchronize", 702, 0, 1)
	if err := e.Synchronize(); !errors.Is(err, cuda.ErrorLaunchTimeout) {
		t.Errorf("synchronize: %v", err)
	}
	r.Step(2)
	if err := s.Synchronize(); !errors.Is(err, cuda.ErrInDoubt) {
		t.Errorf("stream: %v", err)
	}
	if err := device.Free(); !errors.Is(err, cuda.ErrInDoubt) {
		t.Errorf("free: %v", err)
	}
}

// What is given to a stream while somebody synchronises with it has no proof.
func TestSynchronizeIsNoProofOfLaterWork(t *testing.T) {
	r := newRig(t)
	host, device := r.pair(t, 64)
	r.SetMode(cudatest.BySteps)
	s, theirs := got(r.ctx.NewStream())(t), got(r.other.NewStream())(t)
	gate := got(r.other.NewEvent())(t)
	ok(t, gate.Record(theirs))
	ok(t, s.Wait(gate))
	ok(t, s.Copy(device.All(), host.All()))
	r.Stick(1, int(cuda.ErrorUnknown)) // the other device works no more: the gate stays shut
	r.SetMode(cudatest.ByThread)
	r.Calls()
	ended := make(chan error)
	go func() { ended <- s.Synchronize() }()
	for !slices.Contains(r.Calls(), "cuStreamSynchronize") {
		runtime.Gosched()
	}
	ok(t, s.Copy(device.All(), host.All()))
	r.Stick(1, 0)
	ok(t, <-ended)
	if err := device.Free(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("free: %v", err)
	}
	ok(t, s.Synchronize())
	ok(t, device.Free())
}

func TestArguments(t *testing.T) {
	r := newRig(t)
	_, device := r.pair(t, 64)
	s := got(r.ctx.NewStream())(t)
	half := got(device.Range(0, 32))(t)
	late := got(device.Range(31, 32))(t)
	alien := newRig(t)
	foreign := got(alien.ctx.Alloc(32))(t)
	for what, c := range map[string]struct{ err, want error }{
		"lengths":      {s.Copy(device.All(), half), cuda.ErrArgument},
		"overlap":      {s.Copy(late, half), cuda.ErrArgument},
		"nothing":      {s.Copy(cuda.Range{}, half), cuda.ErrArgument},
		"set":          {s.Set(cuda.Range{}, 1), cuda.ErrArgument},
		"driver":       {s.Copy(half, foreign.All()), cuda.ErrWrongContext},
		"range":        {second(device.Range(1, 64)), cuda.ErrArgument},
		"negative":     {second(device.Range(-1, 2)), cuda.ErrArgument},
		"empty range":  {second(device.Range(0, 0)), cuda.ErrArgument},
		"list":         {second(r.ctx.NewCopyList(0)), cuda.ErrArgument},
		"launch":       {s.Launch(cuda.Launch{}), cuda.ErrArgument},
		"foreign":      {second(r.ctx.Foreign(1, 1)), cuda.ErrArgument},
		"foreign zero": {second(r.ctx.Foreign(0, 1)), cuda.ErrArgument},
		"no PTX":       {second(r.ctx.LoadModule("")), cuda.ErrArgument},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", what, c.err, c.want)
		}
	}
	ok(t, device.Free()) // nothing of all that has held it
}

// Every batch call of the driver, and none, copies the same.
func TestCopyBatch(t *testing.T) {
	for define, calls := range map[string][]string{
		"FAKE_VERSION=12080": {"cuMemcpyBatchAsync"},
		"FAKE_BATCH_V2":      {"cuMemcpyBatchAsync"},
		"FAKE_NO_BATCH":      {"cuMemcpyAsync", "cuMemcpyAsync", "cuMemcpyAsync"},
	} {
		t.Run(define, func(t *testing.T) {
			r := newRig(t, define)
			if r.driver.HasBatch() != (len(calls) == 1) {
				t.Errorf("HasBatch is %v", r.driver.HasBatch())
			}
			host, device := r.pair(t, 48)
			back := got(r.ctx.AllocHost(48))(t)
			s, e := got(r.ctx.NewStream())(t), got(r.ctx.NewEvent())(t)
			l := got(r.ctx.NewCopyList(8))(t)
			ok(t, l.Begin(3))
			for i := range 3 {
				ok(t, l.Append(got(device.Range(32-16*i, 16))(t), got(host.Range(16*i, 16))(t)))
			}
			r.Calls()
			ok(t, s.CopyBatch(l))
			if heard := r.Calls(); !slices.Equal(heard, calls) {
				t.Errorf("the driver heard %v", heard)
			}
			ok(t, s.Copy(back.All(), device.All()))
			if err := l.Begin(1); !errors.Is(err, cuda.ErrInFlight) {
				t.Errorf("begin in flight: %v", err)
			}
			ok(t, e.Record(s))
			if state, _ := e.Query(); state != cuda.EventDone {
				t.Fatal(state)
			}
			for i := range 3 {
				if !slices.Equal(back.Bytes()[32-16*i:48-16*i], host.Bytes()[16*i:16*i+16]) {
					t.Errorf("block %d differs", i)
				}
			}
			ok(t, l.Begin(2))
			if err := s.CopyBatch(l); !errors.Is(err, cuda.ErrArgument) {
				t.Errorf("half-filled list: %v", err)
			}
			ok(t, l.Free())
		})
	}
}

// A batch that stops in the middle has started some of it.
func TestHalfSubmittedBatchIsHeld(t *testing.T) {
	r := newRig(t, "FAKE_NO_BATCH")
	host, device := r.pair(t, 32)
	s := got(r.ctx.NewStream())(t)
	l := got(r.ctx.NewCopyList(2))(t)
	ok(t, l.Begin(2))
	for i := range 2 {
		ok(t, l.Append(got(device.Range(16*i, 16))(t), got(host.Range(16*i, 16))(t)))
	}
	if err := l.Append(got(device.Range(0, 16))(t), got(host.Range(0, 16))(t)); !errors.Is(err, cuda.ErrArgument) {
		t.Errorf("one too many: %v", err)
	}
	r.Fail("cuMemcpyAsync", 2, 1, 1)
	if err := s.CopyBatch(l); !errors.Is(err, cuda.ErrorOutOfMemory) {
		t.Fatalf("got %v", err)
	}
	for _, err := range []error{host.Free(), device.Free(), l.Free()} {
		if !errors.Is(err, cuda.ErrInFlight) {
			t.Errorf("free: %v", err)
		}
	}
}

func TestRegisteredAndForeignMemory(t *testing.T) {
	r := newRig(t)
	arena := got(memory.New(memory.Spec{Len: 4096}))(t)
	m := got(r.ctx.RegisterHost(arena))(t)
	if err := arena.Close(); !errors.Is(err, memory.ErrHeld) {
		t.Errorf("close of a registered arena: %v", err)
	}
	if m.Kind() != cuda.RegisteredHost || m.Addr() != arena.Addr() || &m.Bytes()[0] != &arena.Bytes()[0] {
		t.Errorf("registered: %v", m)
	}
	if _, err := r.ctx.RegisterHost(arena); !errors.Is(err, cuda.ErrorHostRegistered) {
		t.Errorf("registered twice: %v", err)
	}
	ok(t, m.Free())
	ok(t, arena.Close())
	if _, err := r.ctx.RegisterHost(arena); !errors.Is(err, memory.ErrClosed) {
		t.Errorf("closed arena: %v", err)
	}

	odd := newRig(t)
	odd.OtherAddress()
	other := got(memory.New(memory.Spec{Len: 64}))(t)
	if _, err := odd.ctx.RegisterHost(other); !errors.Is(err, cuda.ErrorNotSupported) {
		t.Errorf("two addresses: %v", err)
	}
	ok(t, other.Close())

	device := got(r.ctx.Alloc(256))(t)
	view := got(r.ctx.Foreign(uint64(device.Addr())+16, 64))(t)
	if view.Kind() != cuda.ForeignDevice || view.Bytes() != nil {
		t.Errorf("foreign: %v", view)
	}
	if _, err := r.other.Foreign(uint64(device.Addr()), 64); !errors.Is(err, cuda.ErrArgument) {
		t.Errorf("foreign of another device: %v", err)
	}
	if _, err := r.ctx.Foreign(uint64(device.Addr()), 257); !errors.Is(err, cuda.ErrArgument) {
		t.Errorf("foreign beyond the end: %v", err)
	}
	ok(t, view.Free())
	ok(t, device.Free())
}

// A wait keeps later work behind another stream's event.
func TestWaitOrdersStreams(t *testing.T) {
	r := newRig(t)
	r.SetMode(cudatest.BySteps)
	host, device := r.pair(t, 16)
	back := got(r.ctx.AllocHost(16))(t)
	producer, consumer := got(r.ctx.NewStream())(t), got(r.ctx.NewStream())(t)
	written, done := got(r.ctx.NewEvent())(t), got(r.ctx.NewEvent())(t)
	ok(t, producer.Copy(device.All(), host.All()))
	ok(t, written.Record(producer))
	ok(t, consumer.Wait(written))
	ok(t, consumer.Copy(back.All(), device.All()))
	ok(t, done.Record(consumer))
	for state := cuda.EventState(0); state != cuda.EventDone; {
		if r.Step(1) == 0 {
			t.Fatal("nothing moves any more")
		}
		state, _ = done.Query()
	}
	if !slices.Equal(back.Bytes(), host.Bytes()) {
		t.Error("the consumer did not wait")
	}
	r.Calls()
	ok(t, consumer.Wait(written))
	if heard := r.Calls(); slices.Contains(heard, "cuStreamWaitEvent") {
		t.Errorf("a wait for what has ended: %v", heard)
	}
}

func TestSignal(t *testing.T) {
	r := newRig(t)
	s, _, _ := r.recorded(t)
	g := got(r.ctx.NewSignal())(t)
	ok(t, s.Signal(g))
	if err := g.Close(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("close before it was raised: %v", err)
	}
	gone, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	if err := g.Wait(gone); err == nil || err.Error() != "enough" {
		t.Errorf("wait: %v", err)
	}
	go r.Step(3)
	limit, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ok(t, g.Wait(limit))
	for g.Close() != nil { // its last write comes after the one that wakes
		if limit.Err() != nil {
			t.Fatal(g.Close())
		}
	}
	ok(t, g.Close())
	if err := s.Signal(g); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := g.Wait(limit); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("wait on closed: %v", err)
	}
	alien := got(r.other.NewSignal())(t)
	if err := s.Signal(alien); !errors.Is(err, cuda.ErrWrongContext) {
		t.Errorf("foreign: %v", err)
	}
	ok(t, alien.Close())
}

func TestElapsedAndFlush(t *testing.T) {
	r := newRig(t)
	s := got(r.ctx.NewStream())(t)
	from, to := got(r.ctx.NewTimingEvent())(t), got(r.ctx.NewTimingEvent())(t)
	ok(t, from.Record(s))
	ok(t, to.Record(s))
	if d := got(cuda.Elapsed(from, to))(t); d != 1500*time.Microsecond {
		t.Errorf("elapsed %v", d)
	}
	plain := got(r.ctx.NewEvent())(t)
	if _, err := cuda.Elapsed(from, plain); !errors.Is(err, cuda.ErrArgument) || !strings.Contains(err.Error(), "timing false") {
		t.Errorf("elapsed without timing: %v", err)
	}
	ok(t, r.ctx.FlushRemoteWrites())
	r.Fail("cuFlushGPUDirectRDMAWrites", 801, 0, 1)
	if err := r.ctx.FlushRemoteWrites(); !errors.Is(err, cuda.ErrorNotSupported) || r.ctx.Err() != nil {
		t.Errorf("flush: %v, context %v", err, r.ctx.Err())
	}
}
