// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

var (
	which   = rapid.IntRange(0, 1)
	some    = rapid.IntRange(0, regions-1)
	sleep   = rapid.SampledFrom([]time.Duration{time.Millisecond, 50 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second})
	manner  = rapid.SampledFrom([]string{"move", "move", "move", "gather", "gather", "refuse"})
	delay   = rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, time.Second, 15 * time.Second})
	bytesNo = rapid.SampledFrom([]int64{0, 1, 100, regionLen - 1, loop.Rest})
)

// checkNetwork is the life of two endpoints that move bytes both ways, in virtual
// time. After each step all memory that nobody owns has the bytes that its last
// user left there, and nowhere is a byte of a source that was given back.
func checkNetwork(t *rapid.T) {
	rapid.SyncTest(t, func(t *rapid.T) { liveNetwork(t) })
}

func liveNetwork(t *rapid.T) *network {
	n := &network{t: t, sources: make(map[string][]byte), passive: flip.Draw(t, "passive progress")}
	n.fabric = loop.New(loop.Config{
		Auto: true, BytesPerTick: rapid.SampledFrom([]int64{100, 700, regionLen}).Draw(t, "bytes a tick"), PassiveProgress: n.passive,
	})
	n.start(0)
	n.start(1)
	defer n.bury()
	seed := rapid.Uint64().Draw(t, "seed")
	n.connect(newHostile(seed, true))
	t.Repeat(map[string]func(*rapid.T){
		"ask":     n.ask,
		"ask2":    n.ask,
		"cancel":  n.cancel,
		"stream":  n.stream,
		"stream2": n.stream,
		"harm":    n.harm,
		"kill":    n.kill,
		"lift": func(t *rapid.T) {
			if roll(t, "fence the copies") {
				n.fenceLocals()
			}
			_, _ = n.nodes[0].Reopen(), n.nodes[1].Reopen()
		},
		"sleep":  func(t *rapid.T) { time.Sleep(sleep.Draw(t, "sleep")) },
		"sleep2": func(t *rapid.T) { time.Sleep(sleep.Draw(t, "sleep")) },
		"": func(*rapid.T) {
			n.check()
			if n.link.ctx.Err() != nil { // whoever runs the endpoints attaches another
				if n.down += n.link.down(); n.down > 15*time.Second {
					n.harmed = true // no proof can come in time
				}
				seed++
				n.connect(newHostile(seed, true))
			}
		},
	})
	n.end()
	return n
}

// connect attaches both nodes to the ends of a new stream, which takes over.
func (n *network) connect(h *hostile) {
	n.link = h
	n.links = append(n.links, h)
	for i, s := range []transfer.Stream{h.near, h.far} {
		p := n.nodes[i]
		n.attach.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, _ = p.Attach(ctx, s) // a broken stream cannot be attached: another one comes
		})
	}
}

// ask begins a transfer: bytes are received by the one or offered by the other.
func (n *network) ask(t *rapid.T) {
	p := n.nodes[which.Draw(t, "node")]
	reads := flip.Draw(t, "offer")
	h := &held{node: p, writes: !reads}
	var pieces []transfer.Piece
	for k := range rapid.IntRange(1, 3).Draw(t, "pieces") {
		a := p.areas[(some.Draw(t, "area")+k)%regions]
		how := manner.Draw(t, "manner")
		label := fmt.Sprintf("%s %d %d %d", how, some.Draw(t, "answerer's area"), delay.Draw(t, "answer after"), n.localFault(t))
		spread := !reads && flip.Draw(t, "scatter")
		fault := n.localFault(t)
		if !p.take(a, reads) {
			continue
		}
		h.areas, h.pieces = append(h.areas, a), append(h.pieces, fmt.Sprintf("p%d", k))
		h.spread = append(h.spread, spread)
		piece := transfer.Piece{Name: h.pieces[len(h.pieces)-1], Region: a.region, Label: label}
		if spread {
			piece.Scatter = p.local(a.bytes, a.aside, fault)
		}
		pieces = append(pieces, piece)
	}
	if len(pieces) == 0 {
		return
	}
	name := ownership.SessionName{Request: ownership.RequestID{Endpoint: p.name, Number: uint64(1000*p.life + len(n.log))}, Attempt: 1}
	n.note("%s asks for %v with %v, offer: %v", p.name, h.pieces, pieces[0].Label, reads)
	for i, a := range h.areas {
		if reads {
			n.source(name, h.pieces[i], a)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	peers := []transfer.Accessor{{Peer: n.other(p).name}}
	var err error
	if reads {
		h.Session, err = p.Offer(ctx, transfer.OfferSpec{Session: name, To: peers, Pieces: pieces})
	} else {
		h.Session, err = p.Receive(ctx, transfer.ReceiveSpec{Session: name, From: peers, Pieces: pieces})
	}
	if err != nil {
		for _, a := range h.areas {
			p.back(a, false, "asked in vain: "+err.Error())
		}
		return
	}
	n.hold(h)
}

// localFault is after how many bytes an own copy is lost; 0: it is not.
func (n *network) localFault(t *rapid.T) int64 {
	if !roll(t, "lose the copy") {
		return 0
	}
	n.harmed = true
	return rapid.Int64Range(1, regionLen-1).Draw(t, "after")
}

func (n *network) other(p *node) *node {
	if n.nodes[0] == p {
		return n.nodes[1]
	}
	return n.nodes[0]
}

// cancel ends one of the last sessions, from either side.
func (n *network) cancel(t *rapid.T) {
	n.mu.Lock()
	count := len(n.sessions)
	n.mu.Unlock()
	if count == 0 {
		return
	}
	i := rapid.IntRange(max(0, count-4), count-1).Draw(t, "session")
	n.mu.Lock()
	s := n.sessions[i]
	n.mu.Unlock()
	n.note("%s ends %v", s.node.name, s.Name())
	if flip.Draw(t, "cancel") {
		_, _ = s.Cancel() // it may be over, and its node dead
	} else {
		_ = s.Fail("reason")
	}
}

func (n *network) stream(t *rapid.T) {
	switch dice.Draw(t, "stream") {
	case 0, 1:
		n.note("the stream is cut")
		n.link.cut()
	case 2:
		n.note("a partition begins")
		n.harmed = true // it may last too long for proof
		n.link.partition()
	case 3, 4:
		n.link.heal()
	default:
		n.note("a new stream")
		n.connect(newHostile(rapid.Uint64().Draw(t, "seed"), true))
	}
}

// harm makes the hardware misbehave, as it was seen to.
func (n *network) harm(t *rapid.T) {
	p := n.nodes[which.Draw(t, "node")]
	n.harmed = true
	var err error
	switch what := dice.Draw(t, "harm"); what {
	case 0, 1, 2:
		err = n.fabric.Inject(p.name, loop.Fault{
			Status: rapid.SampledFrom([]backend.Status{backend.Error, backend.NotFound, backend.Lost, backend.Replaced}).Draw(t, "status"),
			After:  rapid.Int64Range(0, regionLen-1).Draw(t, "after"), Late: bytesNo.Draw(t, "late"),
			Buffered: flip.Draw(t, "buffered"), Delay: rapid.IntRange(0, 20).Draw(t, "delay"),
		})
	case 3:
		err = n.fabric.Inject(p.name, loop.Fault{Status: backend.NotSubmitted})
	case 4:
		err = n.fabric.Inject(p.name, loop.Fault{Status: backend.Error, Transient: true, After: rapid.Int64Range(1, regionLen-1).Draw(t, "after")})
	case 5:
		err = n.fabric.Inject(p.name, loop.Fault{DropNotification: true})
	case 6:
		err = n.fabric.Stall(p.name)
	case 7, 8:
		err = n.fabric.Continue(p.name)
	case 9:
		err = n.fabric.Break(p.name, n.other(p).name, bytesNo.Draw(t, "in the socket"))
	default:
		err = n.fabric.Slow(p.name, rapid.Int64Range(0, 200).Draw(t, "bytes a tick"))
	}
	if err != nil {
		t.Fatal(err)
	}
	n.note("harm to %s", p.name)
}

// kill ends a process and starts its next life. Once nothing of the old one can
// land any more, which is known of this fabric alone, that is a fence.
func (n *network) kill(t *rapid.T) {
	if !roll(t, "really") {
		return
	}
	i := which.Draw(t, "node")
	p := n.nodes[i]
	n.harmed = true
	n.note("%s is killed", p.name)
	n.die(p, bytesNo.Draw(t, "in the socket"))
	n.start(i)
	if flip.Draw(t, "fence") {
		n.fence(n.other(n.nodes[i]), p)
	}
	n.connect(newHostile(rapid.Uint64().Draw(t, "seed"), true))
}

func (n *network) die(p *node, inSocket int64) {
	n.cutAll()
	close(p.dead)
	p.Halt()
	_ = n.fabric.Kill(p.name, inSocket) // one that has stopped has no agent
}

// fence gives a survivor proof about a life that is over: all that was in a
// socket has landed.
func (n *network) fence(p, dead *node) {
	if err := errors.Join(n.fabric.Continue(p.name), n.fabric.Slow(p.name, 0)); err != nil {
		n.fail("%v", err)
	}
	n.land(p)
	n.note("%s fences %s, life %d", p.name, dead.name, dead.life)
	if err := p.Fence(ownership.FenceSpec{Accessor: ownership.Accessor(dead.name), Incarnation: dead.Incarnation(), Scope: ownership.All}); err != nil {
		n.fail("fence: %v", err)
	}
}

// land lets everything that is still on its way reach a survivor, whose peer is
// dead: bytes of a dead process land too.
func (n *network) land(p *node) {
	n.fabric.Advance(3 * regionLen)
	for range 3 * regionLen {
		if !n.passive {
			return
		}
		if _, err := p.agent.Progress(); err != nil {
			n.fail("progress of %s: %v", p.name, err)
		}
	}
}

func (n *network) fail(format string, args ...any) {
	n.t.Helper()
	n.t.Logf("what happened:\n%s", strings.Join(n.log, "\n"))
	n.t.Fatalf(format, args...)
}

// check fails unless all memory is as it must be when everything is idle.
func (n *network) check() {
	steps.Add(1)
	if bad := n.look(); len(bad) > 0 {
		n.fail("%s", strings.Join(bad, "\n"))
	}
}

// look compares all memory with its shadow.
func (n *network) look() []string {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	bad := n.bad
	for _, p := range n.nodes {
		for _, a := range p.areas {
			switch {
			case a.owners == 0 && !a.same():
				bad = append(bad, fmt.Sprintf("%s: %s was written after it was given back (the region intact: %v)", p.name, a.region.ID(), bytes.Equal(a.bytes, a.shadow)))
			case a.owners > 0 && a.reads && !a.same():
				bad = append(bad, fmt.Sprintf("%s: %s was written while it was a source", p.name, a.region.ID()))
			case a.owners > 0 && !a.reads && bytes.IndexByte(a.bytes, poison) >= 0:
				bad = append(bad, fmt.Sprintf("%s: %s has bytes of a source that was given back", p.name, a.region.ID()))
			}
		}
		if c := p.Counters(); c.Conflicts > 0 || c.ForeignMessages > 0 {
			bad = append(bad, fmt.Sprintf("%s: %d conflicts, %d foreign messages in an honest world", p.name, c.Conflicts, c.ForeignMessages))
		}
	}
	for _, a := range n.arenas {
		if err := a.Check(); err != nil || !gaps(a) {
			bad = append(bad, fmt.Sprintf("memory outside of every region was touched: %v", err))
		}
	}
	return bad
}

// end lets the network heal and both nodes stop: in a world without harm they
// must, and after any harm a survivor must once the other one is fenced.
func (n *network) end() {
	for _, p := range n.nodes {
		if err := errors.Join(n.fabric.Continue(p.name), n.fabric.Slow(p.name, 0)); err != nil {
			n.fail("%v", err)
		}
	}
	n.cutAll()
	n.attach.Wait()
	n.connect(newHostile(1, false))
	n.attach.Wait()
	n.settle()
	n.fenceLocals()
	var stopped [2]error
	n.stop(&stopped)
	n.check()
	survivor := n.nodes[0]
	if stopped[0] == nil {
		survivor = n.nodes[1]
	}
	switch err := errors.Join(stopped[0], stopped[1]); {
	case err == nil:
	case !n.harmed:
		n.fail("nothing was harmed, and the endpoints do not stop: %v", err)
	case !errors.Is(err, ownership.ErrFatal):
		n.survive(survivor)
	}
}

// fenceLocals is proof for own copies: all of them have run to their end.
func (n *network) fenceLocals() {
	for _, p := range n.nodes {
		synctest.Wait() // the fence of the other one may have let a copy start here
		n.fabric.Advance(3 * regionLen)
		if err := p.Fence(ownership.FenceSpec{Accessor: ownership.Local, Scope: ownership.Own}); err != nil {
			n.fail("fence: %v", err)
		}
	}
	time.Sleep(time.Second)
}

func (n *network) cutAll() {
	for _, h := range n.links {
		h.cut()
	}
}

// settle ends all sessions while both nodes are there to answer: one that has
// stopped says nothing about what it is asked later, and that is no proof.
func (n *network) settle() {
	n.mu.Lock()
	sessions := slices.Clone(n.sessions)
	n.mu.Unlock()
	for _, s := range sessions {
		_, _ = s.Cancel() // most are over, and some nodes dead
	}
	time.Sleep(5 * time.Second)
	n.check()
}

func (n *network) stop(errs *[2]error) {
	done := make(chan struct{})
	for i, p := range n.nodes {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
			defer cancel()
			errs[i] = p.Stop(ctx)
			done <- struct{}{}
		}()
	}
	<-done
	<-done
}

// survive: when the other one is dead and fenced, everything is proven.
func (n *network) survive(p *node) {
	dead := n.other(p)
	n.die(dead, loop.Rest)
	n.land(p)
	if err := p.Fence(ownership.FenceSpec{Accessor: ownership.Accessor(dead.name), Scope: ownership.All}); err != nil {
		n.fail("fence: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// The backend keeps an operation that answered an error until it is destroyed
	// itself; what is owned is none of its business.
	err := p.Stop(ctx)
	if owners := p.Counters().Owners; !errors.Is(err, ownership.ErrFatal) && (owners > 0 || err != nil && !errors.Is(err, backend.ErrInFlight)) {
		n.fail("%s: the other one is dead and fenced, %d pieces are owned, and stop says: %v", p.name, owners, err)
	}
	n.check()
}

// bury ends every goroutine, so that the bubble can.
func (n *network) bury() {
	n.cutAll()
	for _, p := range n.nodes {
		if p.alive() {
			close(p.dead)
		}
		p.Halt()
	}
	n.attach.Wait()
	n.waiters.Wait()
	synctest.Wait()
	spare = append(spare, n.arenas...)
}

func TestNetwork(t *testing.T) {
	moved, released, lives := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			n := liveNetwork(t)
			moved, released, lives = moved+n.moved, released+n.released, lives+1
		})
	})
	t.Logf("%d lives: %d sessions delivered, %d gave their memory back", lives, moved, released)
	if lives >= 100 && (moved < lives/20 || released < lives/2) {
		t.Error("the lives do not reach enough")
	}
}

// TestShadowNotices: a fence that is not true, which frees memory while bytes of
// a dead process are still in a socket, does not pass unnoticed.
func TestShadowNotices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			n := &network{t: t, sources: make(map[string][]byte), fabric: loop.New(loop.Config{})}
			n.start(0)
			n.start(1)
			defer n.bury()
			n.connect(newHostile(1, false))
			n.attach.Wait()
			to, from := n.nodes[1], n.nodes[0]
			a := to.areas[some.Draw(t, "area")]
			to.take(a, false)
			s, err := to.Receive(context.Background(), transfer.ReceiveSpec{Region: a.region, From: transfer.FromPeers(from.name), Label: "move 0 0 0"})
			if err != nil {
				t.Fatal(err)
			}
			n.hold(&held{Session: s, node: to, areas: []*area{a}, pieces: []string{transfer.DefaultPiece}, writes: true})
			time.Sleep(time.Millisecond) // it is posted now, and no tick has passed
			n.die(from, loop.Rest)
			if err := to.Fence(ownership.FenceSpec{Accessor: ownership.Accessor(from.name), Scope: ownership.All}); err != nil {
				t.Fatal(err)
			}
			n.waiters.Wait() // it is given back, and refilled
			if bad := n.look(); len(bad) > 0 {
				t.Fatal(bad)
			}
			n.fabric.Step()
			if len(n.look()) == 0 {
				t.Fatal("bytes landed in memory that was given back, and nobody noticed")
			}
		})
	})
}
