// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/blocks"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// TestWindowIsBounded: no more messages than that are on their way to a peer that
// confirms none; each one that is confirmed makes room.
func TestWindowIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		p := &peer{endpoint: e, name: "x", life: ownership.Incarnation{1}}
		o := &p.out
		var pubs []*publication
		for range maxWindow + 3 {
			pub := newPublication(wire.RequestData{})
			pubs = append(pubs, pub)
			o.queue = append(o.queue, pub)
		}
		for n := 1; n <= maxWindow; n++ {
			m, pub := o.next(p)
			if pub != pubs[n-1] || m.Sequence() != uint64(n) || len(o.window) != n || o.sent != n {
				t.Fatalf("message %d is %v, with %d in the window, %d sent", n, m, len(o.window), o.sent)
			}
		}
		if m, pub := o.next(p); m != nil || pub != nil {
			t.Fatalf("%v leaves with a full window", m)
		}
		o.acknowledge(2)
		if len(o.window) != maxWindow-2 || o.sent != maxWindow-2 {
			t.Errorf("%d in the window, %d sent", len(o.window), o.sent)
		}
		if !pubs[maxWindow].withdraw() || pubs[maxWindow].withdraw() || pubs[0].withdraw() {
			t.Error("what waits is withdrawn once, and what has left is not")
		}
		for n := maxWindow + 1; n <= maxWindow+2; n++ {
			if m, pub := o.next(p); pub != pubs[n] || m.Sequence() != uint64(n) {
				t.Errorf("message %d is %v", n, m)
			}
		}
		if m, _ := o.next(p); m != nil {
			t.Errorf("%v leaves with a full window", m)
		}
		// On the next link all that was not confirmed comes again, in order.
		o.resume(0)
		for n := 3; n <= maxWindow+2; n++ {
			if m, pub := o.next(p); pub != nil || m.Sequence() != uint64(n) {
				t.Fatalf("message %d is %v again", n, m)
			}
		}
		o.acknowledge(maxWindow + 2)
		if len(o.window) != 0 || o.sent != 0 || o.last != maxWindow+2 {
			t.Errorf("%d in the window, %d sent, %d numbers", len(o.window), o.sent, o.last)
		}
		o.resume(0)
		o.queue = append(o.queue, pubs[maxWindow])
		o.acknowledge(maxWindow + 2)
		o.clear()
		if len(o.queue)+len(o.window) != 0 || o.last != 0 {
			t.Errorf("%+v is left", o)
		}
	})
}

// TestQueuedRequestsAreWithdrawn: those of a life that is over never leave, and who waits
// for one is told; so is who comes too late.
func TestQueuedRequestsAreWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		p := &peer{endpoint: e, name: "x", life: ownership.Incarnation{1}, wake: newSignal()}
		pub := p.publish(p.member(), wire.RequestData{})
		select {
		case <-pub.done:
			t.Error("it is told before it left")
		case <-p.wake:
		}
		p.out.clear()
		<-pub.done
		if pub.state.Load() != withdrawn {
			t.Error("it may have left")
		}
		late := p.publish(ownership.Member{Accessor: "x", Incarnation: ownership.Incarnation{2}}, wire.RequestData{})
		<-late.done
		if late.state.Load() != withdrawn || len(p.out.queue) != 0 {
			t.Error("a request for another life is queued")
		}
	})
}

// TestMetadataTravelOnce: a request has our metadata where the peer's are older; the
// Hello of the next link had newer ones than any that waits.
func TestMetadataTravelOnce(t *testing.T) {
	e := &Endpoint{metadata: []byte("new"), fetched: 5}
	o := &outgoing{told: 4}
	if m := o.withMetadata(e, wire.RequestData{}); string(m.Metadata) != "new" || o.told != 5 {
		t.Errorf("%+v, told %d", m, o.told)
	}
	if m := o.withMetadata(e, wire.RequestData{}); m.Metadata != nil {
		t.Errorf("%q travel again", m.Metadata)
	}
	o.window = []wire.Sequenced{wire.RequestData{Seq: 1, Metadata: []byte("new")}, wire.SessionQuiesced{Seq: 2}}
	o.sent = 2
	o.resume(7)
	if m := o.window[0].(wire.RequestData); m.Metadata != nil || m.Seq != 1 || o.told != 7 || o.sent != 0 || o.window[1].Sequence() != 2 {
		t.Errorf("%+v", o)
	}
}

// TestRepliesAreSaidOnce: an answer that waits is not doubled; one for another life is none.
func TestRepliesAreSaidOnce(t *testing.T) {
	p := &peer{name: "x", life: ownership.Incarnation{1}, wake: newSignal()}
	name := wire.SessionName{Request: wire.RequestID{Endpoint: "x", Number: 1}, Attempt: 1}
	a, b := wire.SessionQuiesced{Session: name}, wire.CancelSession{Session: name, From: wire.Send}
	p.reply(ownership.Incarnation{2}, a)
	if len(p.out.replies) != 0 || len(p.wake) != 0 {
		t.Errorf("%v for another life", p.out.replies)
	}
	p.reply(p.life, a, b, a)
	p.reply(p.life, b)
	if len(p.out.replies) != 2 || len(p.wake) != 1 {
		t.Errorf("%v", p.out.replies)
	}
}

// TestWholeRegionIsTakenAlone: a call about the whole region excludes its division and its
// end, for as long as it runs.
func TestWholeRegionIsTakenAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		r := mapped(t, e, "kv")
		_, one, err := r.take()
		_, two, again := r.take()
		if err != nil || again != nil {
			t.Fatal(err, again)
		}
		for range 2 {
			if _, err := r.Pool(1024); !errors.Is(err, ownership.ErrRefused) || !strings.Contains(err.Error(), "region kv: refused: is just being taken whole") {
				t.Errorf("pool: %v", err)
			}
			if err := r.Deregister(); !errors.Is(err, ownership.ErrRefused) || !strings.Contains(err.Error(), "is just being taken") {
				t.Errorf("deregister: %v", err)
			}
			one()
			one = two
		}
		pool, err := r.Pool(1024)
		if err != nil || pool.BlockSize() != 1024 || pool.Range(blocks.Block{Number: 3}) != (Block{Offset: 3072, Len: 1024}) {
			t.Fatalf("%v", err)
		}
		if _, err := r.Pool(1024); !errors.Is(err, ownership.ErrReject) || !strings.Contains(err.Error(), "is divided into blocks") {
			t.Errorf("a second division: %v", err)
		}
		e.freeze()
		if _, err := mapped(t, e, "late").Pool(1024); !errors.Is(err, ownership.ErrFatal) {
			t.Errorf("after FATAL: %v", err)
		}
	})
}

// TestRegionOfBlocksUnderATakenName: nothing is pinned by it.
func TestRegionOfBlocksUnderATakenName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		pool, err := mapped(t, e, "kv").Pool(1024)
		if err != nil {
			t.Fatal(err)
		}
		table := make([]blocks.Block, 1)
		if _, err := pool.Blocks().Allocate("holder", table); err != nil {
			t.Fatal(err)
		}
		taken := mapped(t, e, "kv/send#2")
		if _, err := pool.Region(ownership.Reads, "send", table); !errors.Is(err, ownership.ErrReject) {
			t.Fatalf("got %v", err)
		}
		if pins := pool.Blocks().Pins(); len(pins) != 1 {
			t.Errorf("pins %v", pins)
		}
		if err := taken.Deregister(); err != nil {
			t.Error(err)
		}
		r, err := pool.Region(ownership.Reads, "send", table)
		if err != nil || !strings.HasPrefix(r.ID(), "kv/send#") {
			t.Fatalf("%v", err)
		}
		for range 2 { // again is fine
			if err := r.Deregister(); err != nil || len(pool.Blocks().Pins()) != 1 {
				t.Errorf("%v, pins %v", err, pool.Blocks().Pins())
			}
		}
		if list := e.everyRegion(); len(list) != 1 || list[0].ID() != "kv" {
			t.Errorf("%d regions are known, want the pool's alone", len(list))
		}
	})
}

// TestKindsOfBlockErrors: the contract's kinds (section 11).
func TestKindsOfBlockErrors(t *testing.T) {
	for is, want := range map[error]ownership.Kind{
		blocks.ErrStale: ownership.KindStale, blocks.ErrFrozen: ownership.KindFatal, blocks.ErrClosed: ownership.KindClosed, blocks.ErrInUse: ownership.KindRefused,
		blocks.ErrPinned: ownership.KindRefused, blocks.ErrExhausted: ownership.KindCapacity, blocks.ErrInvalid: ownership.KindInvalid, errors.New("x"): ownership.KindInvalid,
	} {
		if err := blockError("thing", is); ownership.KindOf(err) != want || !errors.Is(err, is) || !strings.Contains(err.Error(), "thing") {
			t.Errorf("%v is %v", is, err)
		}
	}
}

// TestCancelsThatWaitAreCounted: by one for each, until there is room or their life is
// over, and never beyond the bound.
func TestCancelsThatWaitAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t, func(c *Config) { c.Tombstones, c.PeerTombstones = 2, 1 })
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		p := e.lookup("guest")
		waiting := func(want int64) {
			t.Helper()
			synctest.Wait()
			if n := p.postponed.Load(); n != want {
				t.Errorf("%d cancels wait, want %d", n, want)
			}
		}
		for n := 1; n <= maxPostponed+1; n++ {
			g.cancel("guest", n)
		}
		waiting(maxPostponed)
		if g.link.Err() != nil {
			t.Fatal("the stream has ended within the bound")
		}
		time.Sleep(10 * retryCancel)
		waiting(maxPostponed)
		g.cancel("guest", maxPostponed+2)
		<-g.link.Done()
		if err := g.link.Err(); !errors.Is(err, ownership.ErrCapacity) || !strings.Contains(err.Error(), "256 cancels wait: ") {
			t.Errorf("the stream ended with %v", err)
		}
		waiting(maxPostponed)
		g = mustVisit(t, e, "guest", 1)
		g.seq = maxPostponed + 1
		g.send(wire.Receipt{Watermark: 101}) // makes room for one
		time.Sleep(retryCancel)
		waiting(maxPostponed - 100) // what is below a watermark needs no tombstone, and one has the room
		if n := e.Counters().ForeignMessages; n != 0 {
			t.Errorf("%d foreign messages", n)
		}
		mustVisit(t, e, "guest", 2)
		time.Sleep(retryCancel)
		waiting(0)
	})
}

// TestFencesOfFormerLives: a fence may be of a life that is over, or of all that a peer
// ever had; of one that nobody has seen it is refused.
func TestFencesOfFormerLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		g.goodbye()
		g = mustVisit(t, e, "guest", 2)
		g.goodbye()
		if _, err := enterFails(t, e, "never"); err == nil {
			t.Fatal("a peer without a life is attached")
		}
		says := fence.Statement{Who: "x", Checked: map[fence.Fact]string{fence.ProcessGone: "y", fence.ContextDestroyed: "y", fence.RegionInvalid: "y"}, Own: true, Passive: true}
		for _, test := range []struct {
			name ownership.Accessor
			life wire.Incarnation
			ok   bool
		}{
			{"guest", wire.Incarnation{}, true}, {"guest", nth(1), true}, {"guest", nth(2), true}, {"guest", nth(3), false},
			{"never", wire.Incarnation{}, false}, {"never", nth(1), false}, {ownership.Local, wire.Incarnation{}, true},
		} {
			spec := ownership.FenceSpec{Accessor: test.name, Incarnation: ownership.Incarnation(test.life), Scope: ownership.All}
			_, err := e.FenceBy(spec, says)
			if _, _, demand := e.FenceDemand(spec); (demand == nil) != (err == nil) {
				t.Errorf("%s %v: demand: %v", test.name, test.life, demand)
			}
			if (err == nil) != test.ok || err != nil && !errors.Is(err, ErrNoPeer) {
				t.Errorf("%s %v: %v", test.name, test.life, err)
			}
		}
	})
}

// enterFails lets a peer whose metadata cannot be used try to attach.
func enterFails(t *testing.T, e *Endpoint, name string) (*guest, error) {
	t.Helper()
	ours, theirs := Pipe()
	return enter(t, e, ours, theirs, wire.Hello{Version: wire.Current, Endpoint: name, Incarnation: nth(1), Metadata: []byte("junk")})
}

// TestEvidenceOfAFence: it is that of the memory in its scope.
func TestEvidenceOfAFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		mustVisit(t, e, "guest", 1)
		checked := map[fence.Fact]string{fence.ProcessGone: "y", fence.ContextDestroyed: "y", fence.RegionInvalid: "y"}
		for _, test := range []struct {
			scope ownership.Scope
			says  fence.Statement
		}{
			{ownership.Own, fence.Statement{Who: "own", Checked: checked, Own: true}},
			{ownership.Passive, fence.Statement{Who: "passive", Checked: checked, Passive: true}},
			{ownership.All, fence.Statement{Who: "all", Checked: checked, Own: true, Passive: true}},
		} {
			done, err := e.FenceBy(ownership.FenceSpec{Accessor: "guest", Scope: test.scope}, test.says)
			if err != nil || !strings.HasPrefix(done.Evidence, test.says.Who+" states: ") || done.Scope != test.scope || done.Freed != 0 {
				t.Errorf("%v: %+v, %v", test.scope, done, err)
			}
		}
	})
}

// TestPoolsAreExplainedInOrder: by the ids of their regions.
func TestPoolsAreExplainedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		for _, id := range []string{"d", "b", "a", "e", "c"} {
			if _, err := mapped(t, e, id).Pool(1024); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			var ids []string
			for _, p := range e.Explain().Pools {
				ids = append(ids, p.Region)
			}
			if strings.Join(ids, "") != "abcde" {
				t.Errorf("got %v", ids)
			}
		}
	})
}

// TestSegmentsOfBlocks: a range that counts along a table is cut where the blocks are.
func TestSegmentsOfBlocks(t *testing.T) {
	r := &Region{id: "R"}
	r.memory = backend.Memory{Addr: 1000, Len: 40}
	pool := &Pool{region: r, blockSize: 4}
	part := &Region{id: "R/x", memory: r.memory, pinned: &pinned{pool: pool, table: []blocks.Block{{Number: 7}, {Number: 2}, {Number: 9}}}}
	at := func(addrLen ...uint64) (list []backend.Segment) {
		for i := 0; i < len(addrLen); i += 2 {
			list = append(list, backend.Segment{Addr: addrLen[i], Len: addrLen[i+1]})
		}
		return list
	}
	for _, test := range []struct {
		blocks []Block
		want   []backend.Segment
	}{
		{nil, at(1028, 4, 1008, 4, 1036, 4)}, {[]Block{{0, 1}}, at(1028, 1)}, {[]Block{{3, 1}}, at(1031, 1)}, {[]Block{{3, 2}}, at(1031, 1, 1008, 1)},
		{[]Block{{4, 4}}, at(1008, 4)}, {[]Block{{11, 1}, {2, 7}}, at(1039, 1, 1030, 2, 1008, 4, 1036, 1)},
	} {
		if got, err := segments(part, test.blocks); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%v is %v, %v; want %v", test.blocks, got, err, test.want)
		}
	}
	for _, bad := range []Block{{12, 1}, {0, 13}, {11, 2}, {0, 0}} {
		if _, err := segments(part, []Block{bad}); !errors.Is(err, ErrConfig) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestWhoHoldsWhat: memory that one life of one peer reaches by itself, until proof.
func TestWhoHoldsWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		mustVisit(t, e, "another", 1)
		life := ownership.Incarnation(nth(1))
		held := func(guest, another bool) {
			t.Helper()
			if e.holds("guest", life) != guest || e.holds("another", life) != another || e.holds("guest", ownership.Incarnation(nth(2))) || e.holds("stranger", life) {
				t.Errorf("held are %v and %v, want %v and %v", e.holds("guest", life), e.holds("another", life), guest, another)
			}
		}
		held(false, false)
		e.sends(t, g, mapped(t, e, "own")) // what we read is not the peer's to reach
		held(false, false)
		s := asked(t, e, mapped(t, e, "kv"))
		held(true, false)
		if _, err := e.Receive(t.Context(), ReceiveSpec{Region: mapped(t, e, "other"), From: FromPeers("another")}); err != nil {
			t.Fatal(err)
		}
		held(true, true)
		c, _ := claimOf(t, s)
		g.next(wire.Result{Claim: wireClaim(c), Evidence: wire.InDoubt})
		synctest.Wait()
		held(true, true)
		g.next(wire.Result{Claim: wireClaim(c), Evidence: wire.FailedQuiesced})
		synctest.Wait()
		held(false, true)
	})
}
