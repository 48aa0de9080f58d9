// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/cuda/gather"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// party is an endpoint with a GPU of its own, whose slots are regions.
type party struct {
	*rig
	*transfer.Endpoint
	bounce   *gather.Bounce
	blocks   *cuda.Memory
	requests chan *transfer.Request
	failed   bool // it keeps what it owns
}

const slotSize = 16 << 10

func newParty(t *testing.T, fabric *loop.Fabric, name string, r *rig) *party {
	t.Helper()
	p := &party{rig: r, requests: make(chan *transfer.Request, 1), blocks: r.device(t, 2*slotSize)}
	p.Endpoint = got(transfer.New(transfer.Config{
		Name: name, Backend: got(fabric.Agent(name))(t), FirstRequest: 1,
		Contain:   func(ownership.Containment) error { return nil },
		OnRequest: func(q *transfer.Request) { p.requests <- q },
	}))(t)
	p.bounce = got(gather.NewBounce(r.host(t, 2*slotSize), slotSize, func(i int, e gather.Extent) (gather.Region, error) {
		return p.RegisterMemory(fmt.Sprint("slot ", i), backend.Memory{Addr: e.Memory.Addr() + uintptr(e.Offset), Len: uint64(e.Len)})
	}))(t)
	return p
}

func (p *party) end(t *testing.T) {
	if p.failed || t.Failed() {
		p.Halt()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ok(t, p.Stop(ctx))
}

// moving is a transfer from blocks of one device to blocks of another, through
// a slot on each side.
type moving struct {
	s, r                *party
	sending, receiving  *transfer.Session
	fromSlot, intoSlot  *gather.Lease
	source, destination []gather.Extent
}

// inVirtualTime builds two parties and starts a transfer between them.
func inVirtualTime(t *testing.T, f func(*testing.T, *moving)) {
	t.Helper()
	rigs := [2]*rig{}
	for i := range rigs { // outside of the bubble: the compiler runs
		rigs[i] = newRig(t, gather.Config{Method: gather.Kernel})
		rigs[i].SetMode(cudatest.BySteps)
	}
	synctest.Test(t, func(t *testing.T) {
		fabric := loop.New(loop.Config{Auto: true})
		m := &moving{s: newParty(t, fabric, "prefill-0", rigs[0]), r: newParty(t, fabric, "decode-0", rigs[1])}
		defer m.s.end(t)
		defer m.r.end(t)
		a, b := transfer.Pipe()
		joined := make(chan error, 1)
		go func() {
			_, err := m.r.Attach(t.Context(), b)
			joined <- err
		}()
		_, err := m.s.Attach(t.Context(), a)
		ok(t, errors.Join(err, <-joined))
		m.start(t)
		f(t, m)
	})
}

func (m *moving) start(t *testing.T) {
	t.Helper()
	var total int
	m.source, total = every(m.s.blocks, 512)
	m.destination, _ = every(m.r.blocks, 512)
	m.fromSlot, m.intoSlot = got(m.s.bounce.Lease())(t), got(m.r.bounce.Lease())(t)
	scatter := got(m.r.engine.Scatter(gather.Spec{Buffer: got(m.intoSlot.Buffer(total))(t), Blocks: m.destination}))(t)
	collect := got(m.s.engine.Gather(gather.Spec{Buffer: got(m.fromSlot.Buffer(total))(t), Blocks: m.source}))(t)
	var err error
	m.receiving, err = m.r.Receive(t.Context(), transfer.ReceiveSpec{
		Region: m.intoSlot.Region().(*transfer.Region), From: transfer.FromPeers("prefill-0"), Scatter: scatter,
	})
	ok(t, err)
	m.sending, err = (<-m.s.requests).Send(transfer.SendSpec{Region: m.fromSlot.Region().(*transfer.Region), Gather: collect})
	ok(t, err)
	synctest.Wait()
}

// works lets a device do its work, and the endpoints see it.
func works(p *party) {
	p.Step(1000)
	time.Sleep(time.Second) // of virtual time, for the poller
	synctest.Wait()
}

func TestTransferThroughBounceSlots(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *moving) {
		if m.s.bounce.Free() != 1 {
			t.Fatal("no slot is leased")
		}
		for _, l := range []*gather.Lease{m.fromSlot, m.intoSlot} {
			if err := l.Return(); !errors.Is(err, ownership.ErrRefused) {
				t.Errorf("return in flight: %v", err)
			}
		}
		works(m.s)
		if m.receiving.Answer().Outcome != outcome.Active {
			t.Fatalf("received before the scatter: %v", m.receiving.Answer())
		}
		if err := m.intoSlot.Return(); !errors.Is(err, ownership.ErrRefused) {
			t.Errorf("return before the scatter: %v", err)
		}
		works(m.r)
		for _, s := range []*transfer.Session{m.receiving, m.sending} {
			ok(t, s.Wait(t.Context()))
			ok(t, s.Drain(t.Context()))
		}
		ok(t, m.fromSlot.Return())
		ok(t, m.intoSlot.Return())
		for i := range m.source { // the fakes' devices are the host's memory
			from, to := m.s.Host(m.s.blocks), m.r.Host(m.r.blocks)
			at := m.source[i].Offset
			if string(from[at:at+512]) != string(to[at:at+512]) {
				t.Fatalf("block %d differs", i)
			}
		}
		ok(t, m.s.engine.Close())
		ok(t, m.r.engine.Close())
	})
}

// The sender's device faults in the gather: nothing is sent, the claim is in
// doubt, and neither slot nor blocks come back.
func TestTransferWithAGatherInDoubt(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *moving) {
		m.s.failed = true
		m.s.Stick(0, int(cuda.ErrorIllegalAddress))
		works(m.s)
		m.s.Stick(0, 0)
		works(m.s)
		if a := m.sending.Answer(); a.Outcome != outcome.Failed || a.Cause != ownership.CauseDoubt {
			t.Errorf("sender: %v", a)
		}
		if err := m.fromSlot.Return(); !errors.Is(err, ownership.ErrRefused) {
			t.Errorf("slot: %v", err)
		}
		if err := m.s.blocks.Free(); !errors.Is(err, cuda.ErrInDoubt) {
			t.Errorf("blocks: %v", err)
		}
		m.r.failed = true // it waits for a peer that will not say that it is quiet
	})
}
