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

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// Many transfers at once, of both directions, of one piece and of several, with
// gathers and scatters, with cancels from both sides at any moment, while streams
// are cut and replaced. It asserts no time, only that everything ends and comes
// back: what was admitted is released, nothing is invalid or in doubt, and no region
// is written after it was given back.
func TestManyTransfersWithCancelsAndLostStreams(t *testing.T) {
	const workers, rounds = 8, 25
	fabric := loop.New(loop.Config{Auto: true, BytesPerTick: 2048})
	prefill := stressEndpoint(t, fabric, "prefill-0")
	decode := stressEndpoint(t, fabric, "decode-0")
	load := newLoad(t, fabric, prefill)
	var sends sync.WaitGroup
	sends.Add(1) // until nothing can arrive any more: Wait must not meet a first Add
	prefill.OnRequest(func(r *transfer.Request) {
		sends.Go(func() { load.answer(r) })
	})
	stop := make(chan struct{})
	var cutter sync.WaitGroup
	cutter.Go(func() { cutStreams(t, prefill, decode, stop) })
	probe := stressRegion(t, decode, "probe")
	load.receive(decode, probe, probe) // until a stream is attached

	var all sync.WaitGroup
	for w := range workers {
		name := string(rune('a' + w))
		kv, aux := stressRegion(t, decode, name), stressRegion(t, decode, name+"-aux")
		all.Go(func() {
			for range rounds {
				load.receive(decode, kv, aux)
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
	load.wantReleased()
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
	arena, err := memory.New(memory.Spec{Len: stressLen})
	must(t, err)
	t.Cleanup(func() { arena.Close() })
	region, err := e.Register(id, arena)
	must(t, err)
	return region
}

// load is what the parties of a stress test do, by chance.
type load struct {
	t      *testing.T
	fabric *loop.Fabric
	lives  bool                  // endpoints get other lives
	source *transfer.Region      // which several sends share
	alone  chan *transfer.Region // for who writes: a READ, or a gather

	mu     sync.Mutex
	locals []*loop.Local // guarded by mu
}

const stressLen = 16 << 10

func newLoad(t *testing.T, f *loop.Fabric, sender *transfer.Endpoint) *load {
	l := &load{t: t, fabric: f, source: stressRegion(t, sender, "source"), alone: make(chan *transfer.Region, 20)}
	for i := range cap(l.alone) {
		l.alone <- stressRegion(t, sender, "alone-"+string(rune('a'+i)))
	}
	return l
}

// copy makes a local copy between a region and memory of nobody's, or none at all.
func (l *load) copy(r *transfer.Region, out bool) *loop.Local {
	arena, err := memory.New(memory.Spec{Len: stressLen})
	if err != nil {
		l.t.Error(err)
		return nil
	}
	l.t.Cleanup(func() { arena.Close() })
	a := []backend.Segment{{Addr: uint64(r.Memory().Addr), Len: stressLen / 2}, {Addr: uint64(r.Memory().Addr) + stressLen/2, Len: stressLen / 2}}
	b := []backend.Segment{{Addr: uint64(arena.Addr()), Len: stressLen / 2}, {Addr: uint64(arena.Addr()) + stressLen/2, Len: stressLen / 2}}
	if !out {
		a, b = b, a
	}
	c, err := l.fabric.Local(a, b)
	if err != nil {
		l.t.Error(err)
	}
	l.mu.Lock()
	l.locals = append(l.locals, c)
	l.mu.Unlock()
	return c
}

// wantReleased wants every local copy released: all ended on proof, or never began.
func (l *load) wantReleased() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.locals {
		for i := 0; !c.Released() && i < 10000; i++ {
			time.Sleep(time.Millisecond) // it may just be on its way
		}
		if !c.Released() {
			l.t.Error("a local copy was not released")
			return
		}
	}
	if len(l.locals) == 0 {
		l.t.Error("no local copy was made")
	}
}

// answer moves data, refuses, or moves data and cancels.
func (l *load) answer(r *transfer.Request) {
	if rand.IntN(8) == 0 {
		if err := r.Refuse("by chance"); err != nil {
			l.t.Error(err)
		}
		return
	}
	s, give, err := l.move(r)
	if err != nil { // the peer has cancelled meanwhile
		if err := r.Refuse(err.Error()); err != nil {
			l.t.Error(err)
		}
		give()
		return
	}
	if rand.IntN(4) == 0 {
		if _, err := s.Cancel(); err != nil {
			l.t.Error(err)
		}
	}
	if err := s.Drain(context.Background()); err != nil {
		l.t.Error(err)
	}
	give()
}

// move answers a request in its direction; give hands back what it took.
func (l *load) move(r *transfer.Request) (s *transfer.Session, give func(), err error) {
	gathers := rand.IntN(4) == 0
	if r.Direction() == backend.Write && !gathers {
		s, err = r.Send(transfer.SendSpec{Region: l.source})
		return s, func() {}, err
	}
	region := <-l.alone
	give = func() {
		if err := region.Reuse(); err != nil && !errors.Is(err, ownership.ErrInvalidArgument) { // Stop was faster
			l.t.Error(err)
		}
		l.alone <- region
	}
	if r.Direction() == backend.Read {
		s, err = r.Fetch(transfer.FetchSpec{Region: region})
		return s, give, err
	}
	gather := l.copy(region, false)
	if s, err = r.Send(transfer.SendSpec{Region: region, Gather: gather}); err != nil {
		if err := gather.Release(); err != nil {
			l.t.Error(err)
		}
	}
	return s, give, err
}

// receive makes one session of a kind by chance, cancels it or not, and waits until
// its memory is free.
func (l *load) receive(e *transfer.Endpoint, kv, aux *transfer.Region) {
	var s *transfer.Session
	for {
		var err error
		if s, err = l.ask(e, kv, aux); err == nil {
			break
		}
		later := errors.Is(err, transfer.ErrNoPeer) // a stream was cut just now
		if l.lives {
			later = later || errors.Is(err, transfer.ErrReincarnated) || errors.Is(err, ownership.ErrStale) || errors.Is(err, ownership.ErrClosed)
		}
		if !later {
			l.t.Error(err)
			return
		}
		time.Sleep(time.Millisecond)
	}
	if rand.IntN(4) == 0 {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		if _, err := s.Cancel(); err != nil {
			l.t.Error(err)
		}
	}
	if err := s.Drain(context.Background()); err != nil {
		l.t.Error(err)
	}
	if err := errors.Join(kv.Reuse(), aux.Reuse()); err != nil {
		l.t.Error(err)
	}
}

func (l *load) ask(e *transfer.Endpoint, kv, aux *transfer.Region) (*transfer.Session, error) {
	ctx, from := context.Background(), transfer.FromPeers("prefill-0")
	pieces := []transfer.Piece{{Name: "kv", Region: kv}, {Name: "aux", Region: aux}}
	if kv == aux {
		return e.Receive(ctx, transfer.ReceiveSpec{Region: kv, From: from})
	}
	switch rand.IntN(5) {
	case 0:
		return e.Offer(ctx, transfer.OfferSpec{Region: kv, To: from})
	case 1:
		return e.Offer(ctx, transfer.OfferSpec{To: from, Pieces: pieces})
	case 2:
		return e.Receive(ctx, transfer.ReceiveSpec{From: from, Pieces: pieces})
	case 3:
		scatter := l.copy(kv, true)
		pieces[0].Scatter = scatter
		s, err := e.Receive(ctx, transfer.ReceiveSpec{From: from, Pieces: pieces})
		if err != nil {
			err = errors.Join(err, scatter.Release())
		}
		return s, err
	}
	return e.Receive(ctx, transfer.ReceiveSpec{Region: kv, From: from})
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

// Either side gets another life again and again while transfers run in both
// directions: what a life leaves in doubt is freed by the next one of whoever owns
// it, and not a byte moves through an agent that is gone.
func TestManyLives(t *testing.T) {
	const workers, lives = 4, 12
	fabric := loop.New(loop.Config{Auto: true, BytesPerTick: 512})
	prefill := stressEndpoint(t, fabric, "prefill-0")
	decode := stressEndpoint(t, fabric, "decode-0")
	load := newLoad(t, fabric, prefill)
	load.lives = true
	var answers sync.WaitGroup
	answers.Add(1)
	prefill.OnRequest(func(r *transfer.Request) { answers.Go(func() { load.answer(r) }) })

	stop := make(chan struct{})
	var all sync.WaitGroup
	for w := range workers {
		name := string(rune('a' + w))
		kv, aux := stressRegion(t, decode, name), stressRegion(t, decode, name+"-aux")
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					load.receive(decode, kv, aux)
				}
			}
		})
	}
	again := func(name string) (backend.Backend, error) { return fabric.Agent(name) }
	for i := range lives {
		rejoin(t, prefill, decode)
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		for _, e := range []*transfer.Endpoint{prefill, decode}[i%2:] { // both, or decode alone
			r, err := e.Reincarnate(t.Context(), again)
			if err != nil || !r.Proven.Own.Proven || !r.Proven.Passive.Proven {
				t.Errorf("%s: %+v, %v", e.Name(), r, err)
			}
		}
		if i%2 == 1 { // what decode's end left in doubt at prefill
			if _, err := prefill.Reincarnate(t.Context(), again); err != nil {
				t.Error(err)
			}
		}
	}
	rejoin(t, prefill, decode)
	close(stop)
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, e := range []*transfer.Endpoint{decode, prefill} {
		if err := e.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
			e.Halt()
		}
		if n := e.Counters(); n.Admitted == 0 || n.Admitted != n.Released || n.Owners != 0 || n.Conflicts != 0 {
			t.Errorf("%s: admitted %d, released %d, owners %d, conflicts %d", e.Name(), n.Admitted, n.Released, n.Owners, n.Conflicts)
		}
	}
	if n := fabric.Stats().LateBytes; n != 0 {
		t.Errorf("%d bytes landed late", n)
	}
	answers.Done()
	answers.Wait()
	load.wantReleased()
}

// rejoin attaches one stream between two endpoints.
func rejoin(t *testing.T, a, b *transfer.Endpoint) {
	t.Helper()
	sa, sb := transfer.Pipe()
	attached := make(chan error, 1)
	go func() { _, err := a.Attach(context.Background(), sa); attached <- err }()
	_, err := b.Attach(context.Background(), sb)
	if err := errors.Join(err, <-attached); err != nil {
		t.Error(err)
	}
}
