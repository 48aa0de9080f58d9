// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// Many transfers at once with cancels from both sides at any moment, while
// streams are cut and replaced. It asserts no time, only that everything ends
// and comes back: what was admitted is released, nothing is invalid or in
// doubt, and no region is written after it was given back.
func TestManyTransfersWithCancelsAndLostStreams(t *testing.T) {
	const workers, rounds = 8, 25
	fabric := loop.New(loop.Config{Auto: true, BytesPerTick: 2048})
	prefill := stressEndpoint(t, fabric, "prefill-0")
	decode := stressEndpoint(t, fabric, "decode-0")
	source := stressRegion(t, prefill, "source")
	var sends sync.WaitGroup
	sends.Add(1) // until nothing can arrive any more: Wait must not meet a first Add
	prefill.OnRequest(func(r *transfer.Request) {
		sends.Go(func() { answer(t, r, source) })
	})
	stop := make(chan struct{})
	var cutter sync.WaitGroup
	cutter.Go(func() { cutStreams(t, prefill, decode, stop) })
	waitAttached(t, decode)

	var all sync.WaitGroup
	for w := range workers {
		region := stressRegion(t, decode, string(rune('a'+w)))
		all.Go(func() {
			for range rounds {
				receiveOnce(t, decode, region)
			}
		})
	}
	all.Wait()
	close(stop)
	cutter.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, e := range []*transfer.Endpoint{decode, prefill} {
		if err := e.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
			e.Halt()
		}
		n := e.Counters()
		if n.Admitted == 0 || n.Admitted != n.Released || n.Owners != 0 || n.Conflicts != 0 || n.ForeignMessages != 0 {
			t.Errorf("%s: admitted %d, released %d, owners %d, conflicts %d, foreign %d",
				e.Name(), n.Admitted, n.Released, n.Owners, n.Conflicts, n.ForeignMessages)
		}
	}
	if n := fabric.Stats().LateBytes; n != 0 {
		t.Errorf("%d bytes landed in memory that was given back", n)
	}
	sends.Done()
	sends.Wait()
}

func stressEndpoint(t *testing.T, f *loop.Fabric, name string) *transfer.Endpoint {
	agent, err := f.Agent(name)
	must(t, err)
	e, err := transfer.New(transfer.Config{Name: name, Backend: agent, Contain: func(c ownership.Containment) error {
		t.Errorf("FATAL: %+v", c)
		return nil
	}})
	must(t, err)
	return e
}

func stressRegion(t *testing.T, e *transfer.Endpoint, id string) *transfer.Region {
	arena, err := memory.New(memory.Spec{Len: 16 << 10})
	must(t, err)
	t.Cleanup(func() { arena.Close() })
	region, err := e.Register(id, arena)
	must(t, err)
	return region
}

// answer sends, refuses, or sends and cancels.
func answer(t *testing.T, r *transfer.Request, source *transfer.Region) {
	if rand.IntN(8) == 0 {
		if err := r.Refuse("by chance"); err != nil {
			t.Error(err)
		}
		return
	}
	s, err := r.Send(transfer.SendSpec{Region: source})
	if err != nil { // the peer has cancelled meanwhile
		if err := r.Refuse(err.Error()); err != nil {
			t.Error(err)
		}
		return
	}
	if rand.IntN(4) == 0 {
		if _, err := s.Cancel(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

func receiveOnce(t *testing.T, e *transfer.Endpoint, region *transfer.Region) {
	var s *transfer.Session
	for {
		var err error
		s, err = e.Receive(context.Background(), transfer.ReceiveSpec{Region: region, From: transfer.FromPeers("prefill-0")})
		if err == nil {
			break
		}
		if !errors.Is(err, transfer.ErrNoPeer) {
			t.Error(err)
			return
		}
		time.Sleep(time.Millisecond) // a stream was cut just now
	}
	if rand.IntN(4) == 0 {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		if _, err := s.Cancel(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	if err := region.Reuse(); err != nil {
		t.Error(err)
	}
}

// cutStreams attaches stream after stream; each is cut by whatever comes first.
func cutStreams(t *testing.T, a, b *transfer.Endpoint, stop <-chan struct{}) {
	for {
		sa, sb := transfer.Pipe()
		attached := make(chan error, 1)
		go func() { _, err := a.Attach(context.Background(), sa); attached <- err }()
		l, err := b.Attach(context.Background(), sb)
		if err = errors.Join(err, <-attached); err != nil {
			t.Error(err)
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
			l.Close()
		case <-stop:
			return
		}
	}
}

func waitAttached(t *testing.T, e *transfer.Endpoint) {
	region := stressRegion(t, e, "probe")
	receiveOnce(t, e, region)
}
