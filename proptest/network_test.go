// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/trace"
	"github.com/kvxfer/kvxfer/transfer"
)

var (
	few     = rapid.SampledFrom([]int{1, 1, 2, 3})
	some    = rapid.IntRange(0, areas-1)
	sleep   = rapid.SampledFrom([]time.Duration{time.Millisecond, 50 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second})
	manner  = rapid.SampledFrom([]string{"move", "move", "move", "move", "move", "gather", "gather", "gather", "refuse"})
	delay   = rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, time.Second, 15 * time.Second})
	bytesNo = rapid.SampledFrom([]int64{0, 1, 100, regionLen - 1, loop.Rest})
)

// checkNetwork is the life of endpoints that move bytes both ways, in virtual
// time. After each step all memory that nobody owns has the bytes that its last
// user left there, and nowhere is a byte of a source that was given back.
func checkNetwork(t *rapid.T) {
	rapid.SyncTest(t, func(t *rapid.T) { liveNetwork(t) })
}

func liveNetwork(t *rapid.T) *network {
	// A third one makes cohorts of two, and costs.
	nodes := rapid.SampledFrom([]int{2, 2, 3}).Draw(t, "nodes")
	n := newNetwork(t, flip.Draw(t, "notify"), loop.Config{
		Auto: true, BytesPerTick: rapid.SampledFrom([]int64{100, 700, regionLen}).Draw(t, "bytes a tick"),
		PassiveProgress: flip.Draw(t, "passive progress"),
	}, nodes)
	defer n.bury()
	n.seed = rapid.Uint64().Draw(t, "seed")
	n.connectAll(true)
	t.Repeat(map[string]func(*rapid.T){
		"ask":     n.ask,
		"ask2":    n.ask,
		"add":     n.add,
		"cancel":  n.cancel,
		"stream":  n.stream,
		"stream2": n.stream,
		"harm":    n.harm,
		"kill":    n.kill,
		"lift": func(t *rapid.T) {
			if roll(t, "fence the copies") {
				n.fenceLocals()
			}
			for _, p := range n.nodes {
				_ = p.Reopen()
			}
		},
		"sleep":  func(t *rapid.T) { time.Sleep(sleep.Draw(t, "sleep")) },
		"sleep2": func(t *rapid.T) { time.Sleep(sleep.Draw(t, "sleep")) },
		"": func(*rapid.T) {
			n.check()
			n.mend()
		},
	})
	n.end()
	return n
}

// mend attaches another stream where one is broken, as whoever runs endpoints does.
func (n *network) mend() {
	for _, c := range n.pairs {
		if c.link.ctx.Err() == nil {
			continue
		}
		if c.down += c.link.down(); c.down > 15*time.Second {
			n.harmed = true // no proof can come in time
		}
		n.seed++
		n.connect(c, newHostile(n.seed, true))
	}
}

// connect attaches two nodes to the ends of a new stream, which takes over.
func (n *network) connect(c *pair, h *hostile) {
	c.link = h
	n.links = append(n.links, h)
	for i, s := range []transfer.Stream{h.near, h.far} {
		p := n.nodes[[]int{c.a, c.b}[i]]
		n.attach.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, _ = p.Attach(ctx, s) // a broken stream cannot be attached: another one comes
		})
	}
}

func (n *network) connectAll(hostile bool) {
	for _, c := range n.pairs {
		n.seed++
		n.connect(c, newHostile(n.seed, hostile))
	}
}

func (n *network) any(t *rapid.T) *node {
	return n.nodes[rapid.IntRange(0, len(n.nodes)-1).Draw(t, "node")]
}

// others are all nodes but one.
func (n *network) others(p *node) (out []*node) {
	for _, o := range n.nodes {
		if o != p {
			out = append(out, o)
		}
	}
	return out
}

func (n *network) other(t *rapid.T, p *node) *node {
	list := n.others(p)
	return list[rapid.IntRange(0, len(list)-1).Draw(t, "other")]
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
	c := n.pairs[rapid.IntRange(0, len(n.pairs)-1).Draw(t, "pair")]
	switch dice.Draw(t, "stream") {
	case 0, 1:
		n.note("the stream of %s and %s is cut", n.nodes[c.a].name, n.nodes[c.b].name)
		c.link.cut()
	case 2:
		n.note("a partition between %s and %s begins", n.nodes[c.a].name, n.nodes[c.b].name)
		n.harmed = true // it may last too long for proof
		c.link.partition()
	case 3, 4:
		c.link.heal()
	default:
		n.note("a new stream between %s and %s", n.nodes[c.a].name, n.nodes[c.b].name)
		n.connect(c, newHostile(rapid.Uint64().Draw(t, "seed"), true))
	}
}

// harm makes the hardware misbehave, as it was seen to.
func (n *network) harm(t *rapid.T) {
	p := n.any(t)
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
		err = n.fabric.Break(p.name, n.other(t, p).name, bytesNo.Draw(t, "in the socket"))
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
	i := rapid.IntRange(0, len(n.nodes)-1).Draw(t, "node")
	p := n.nodes[i]
	n.harmed = true
	n.note("%s is killed", p.name)
	n.die(p, bytesNo.Draw(t, "in the socket"))
	n.start(i)
	for _, o := range n.others(n.nodes[i]) {
		if flip.Draw(t, "fence") {
			n.fence(o, p)
		}
	}
	n.connectAll(true)
}

func (n *network) die(p *node, inSocket int64) {
	n.cutAll()
	close(p.dead)
	p.Halt()
	_ = n.fabric.Kill(p.name, inSocket) // one that has stopped has no agent
}

func TestNetwork(t *testing.T) {
	moved, released, lives := 0, 0, 0
	var traces trace.JointReport
	kinds := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			n := liveNetwork(t)
			if lives%20 == 0 {
				n.replay()
			}
			if lives%8 == 4 {
				n.agree(&traces)
			}
			moved, released, lives = moved+n.moved, released+n.released, lives+1
			for k, c := range n.kinds {
				kinds[k] += c
			}
		})
	})
	t.Logf("%d lives: %d sessions delivered, %v of them, %d gave their memory back", lives, moved, kinds, released)
	t.Logf("traces: %d messages, %d operations, %d notifications", traces.Messages, traces.Operations, traces.Notified)
	if lives >= 1000 && (traces.Messages == 0 || traces.Operations == 0) {
		t.Error("nothing of the traces was compared")
	}
	if lives >= 100 && (moved < lives/20 || released < lives/2) {
		t.Error("the lives do not reach enough")
	}
	for _, kind := range []string{"open", "pooled", "two peers", "counted"} {
		if lives >= 2000 && kinds[kind] == 0 {
			t.Errorf("no session that is %s delivered", kind)
		}
	}
}

// TestShadowNotices: a fence that is not true, which frees memory while bytes of
// a dead process are still in a socket, does not pass unnoticed.
func TestShadowNotices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			n := newNetwork(t, false, loop.Config{}, 2)
			defer n.bury()
			n.connectAll(false)
			n.attach.Wait()
			to, from := n.nodes[1], n.nodes[0]
			a := to.areas[some.Draw(t, "area")]
			region := to.take(a, false)
			s, err := to.Receive(context.Background(), transfer.ReceiveSpec{Region: region, From: transfer.FromPeers(from.name), Label: "move 0 0 0 -"})
			if err != nil {
				t.Fatal(err)
			}
			n.hold(&held{Session: s, node: to, pieces: []*heldPiece{{name: transfer.DefaultPiece, area: a, region: region, asked: true}}, writes: true})
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
