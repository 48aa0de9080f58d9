// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// A lost stream is no event (contract section 2), and what was reported in
// between comes in order on the next one, whether the stream was lost before
// the report or with it.
func TestReportsResumeOnTheNextStream(t *testing.T) {
	for name, lost := range map[string]int{
		"stream closed before":           0,
		"reports swallowed":              3, // HELLO, RECEIPT, RECEIPT for the request
		"one report arrived, one is not": 4,
	} {
		t.Run(name, func(t *testing.T) {
			within(t, 12*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
				sa, sb := transfer.Pipe()
				var stream transfer.Stream = sa
				if lost > 0 {
					stream = &lossy{Stream: sa, left: lost}
				}
				ls, lr := attachOver(t, g.s, g.r, stream, sb)
				must(t, g.fabric.Stall(receiver))
				rs, ss := g.begin()
				synctest.Wait()
				if lost == 0 {
					must(t, ls.Close())
				}
				time.Sleep(wait) // IN_DOUBT
				must(t, g.fabric.Continue(receiver))
				time.Sleep(time.Second) // FAILED_QUIESCED
				synctest.Wait()
				if _, err := ss.State(); !err {
					t.Fatal("the sender forgot the session")
				}
				must(t, ls.Close())
				<-lr.Done()
				wantErr(t, lr.Err(), io.EOF)
				g.r.expect("publish")
				attach(t, g.s, g.r)
				must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
				g.r.expect("doubt: PUBLISHED -> IN_DOUBT", "settle: IN_DOUBT -> FAILED_QUIESCED")
				if n := g.r.count("doubt: "); n != 1 {
					t.Errorf("%d doubts, want 1: a report was doubled", n)
				}
				must(t, errors.Join(g.s.Reopen(), g.r.Reopen()))
			})
		})
	}
}

// A request that was lost with its stream counts as sent, and is sent again.
func TestRequestResumesOnTheNextStream(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		sa, sb := transfer.Pipe()
		_, lr := attachOver(t, g.s, g.r, sa, &lossy{Stream: sb, left: 2}) // HELLO, RECEIPT
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender)})
		must(t, err)
		must(t, lr.Close())
		wantPhysical(t, rs, ownership.PhysicalDraining)
		attach(t, g.s, g.r)
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
	})
}

// A newer stream of the same life takes over at once.
func TestNewerStreamReplaces(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		ls, lr := attach(t, g.s, g.r)
		attach(t, g.s, g.r)
		<-ls.Done()
		<-lr.Done()
		if !errors.Is(ls.Err(), transfer.ErrReplaced) && !errors.Is(lr.Err(), transfer.ErrReplaced) {
			t.Errorf("the old stream ended by %v and %v, want ErrReplaced on one side", ls.Err(), lr.Err())
		}
		rs, ss := g.begin()
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		if n := g.s.count("doubt"); n != 0 {
			t.Error("the loss of a stream was taken for doubt")
		}
	})
}

// A hello with a new incarnation means that the old one is gone: doubt about
// its claims, its late reports stale, and it never comes back.
func TestNewIncarnationIsDoubtAboutTheOld(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		g.r.keepOwning = true // hand-made peers confirm nothing, so Stop would wait for ever
		old := rawPeer(t, g.r, sender, 1)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender)})
		must(t, err)
		claim := old.next().(wire.RequestData).Claim
		fresh := rawPeer(t, g.r, sender, 2)
		<-rs.Done()
		wantAnswer(t, rs, "FAILED, cause doubt, origin peer")
		wantPhysical(t, rs, ownership.PhysicalInDoubt)
		<-old.link.Done()
		fresh.send(wire.Result{Seq: 1, Claim: claim, Evidence: wire.FailedQuiesced})
		synctest.Wait()
		wantPhysical(t, rs, ownership.PhysicalInDoubt) // the new life cannot speak for the old
		if n := g.r.Counters().ForeignMessages; n != 1 {
			t.Errorf("%d foreign messages, want 1", n)
		}
		_, result := rawHello(t, g.r, wire.Hello{Version: wire.Current, Endpoint: sender, Incarnation: old.life})
		wantErr(t, (<-result).err, transfer.ErrGone)
		must(t, g.r.Fence(ownership.FenceSpec{Accessor: sender, Scope: ownership.Passive}))
		must(t, rs.Drain(t.Context()))
		wantAnswer(t, rs, "FAILED, cause doubt, origin peer")
	})
}

// The Hello alone says that the old life is gone: that the backend cannot load
// the new one's metadata, as where it kept its agent's name, changes nothing.
func TestOldLifeIsGoneThoughTheNewOneCannotAttach(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		g.r.keepOwning = true // hand-made peers confirm nothing
		old := rawPeer(t, g.r, sender, 1)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender)})
		must(t, err)
		hello := wire.Hello{Version: wire.Current, Endpoint: sender, Incarnation: wire.Incarnation{2}, Metadata: []byte("refused")}
		_, result := rawHello(t, g.r, hello)
		wantErr(t, (<-result).err, backend.ErrMetadata)
		<-rs.Done()
		wantAnswer(t, rs, "FAILED, cause doubt, origin peer")
		wantPhysical(t, rs, ownership.PhysicalInDoubt)
		<-old.link.Done()
		wantErr(t, old.link.Err(), transfer.ErrReplaced)
		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.extra("more"), From: transfer.FromPeers(sender)})
		wantErr(t, err, transfer.ErrNoPeer)
		_, result = rawHello(t, g.r, wire.Hello{Version: wire.Current, Endpoint: sender, Incarnation: old.life})
		wantErr(t, (<-result).err, transfer.ErrGone)
		hello.Metadata = nil
		_, result = rawHello(t, g.r, hello)
		must(t, (<-result).err)
		must(t, g.r.Fence(ownership.FenceSpec{Accessor: sender, Scope: ownership.Passive}))
		must(t, rs.Drain(t.Context()))
	})
}

// Repeated messages and messages about others are dropped and counted before
// they are evidence (contract section 8).
func TestRepeatedAndForeignMessages(t *testing.T) {
	within(t, 2*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		peer := rawPeer(t, g.r, "prefill-7", 7)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-7")})
		must(t, err)
		claim := peer.next().(wire.RequestData).Claim
		if claim != peer.claim(g.r, rs.Name(), claim.Sequence) {
			t.Fatalf("the request has claim %+v", claim)
		}
		with := func(change func(*wire.ClaimName)) wire.ClaimName { c := claim; change(&c); return c }
		foreign := []wire.ClaimName{
			with(func(c *wire.ClaimName) { c.Accessor = "prefill-8" }),
			with(func(c *wire.ClaimName) { c.Incarnation = wire.Incarnation{8} }),
			with(func(c *wire.ClaimName) { c.Owner = wire.Incarnation{9} }),
		}
		seq := uint64(0)
		report := func(c wire.ClaimName, e wire.Evidence) {
			seq++
			peer.send(wire.Result{Seq: seq, Claim: c, Evidence: e})
		}
		for _, c := range foreign {
			report(c, wire.OK)
		}
		report(with(func(c *wire.ClaimName) { c.Sequence++ }), wire.OK) // a name never used: stale
		report(with(func(c *wire.ClaimName) { c.Session.Attempt++ }), wire.OK)
		synctest.Wait()
		wantAnswer(t, rs, "ACTIVE")
		report(claim, wire.OK)
		for s := range seq { // all of it once more
			peer.send(wire.Result{Seq: s + 1, Claim: claim, Evidence: wire.InDoubt})
		}
		must(t, rs.Wait(t.Context()))
		synctest.Wait()
		n := g.r.Counters()
		if n.ForeignMessages != uint64(len(foreign)) || n.RepeatedMessages != seq || n.Stale != 2 || n.Conflicts != 0 {
			t.Errorf("foreign %d, repeated %d, stale %d, conflicts %d; want %d, %d, 2, 0",
				n.ForeignMessages, n.RepeatedMessages, n.Stale, n.Conflicts, len(foreign), seq)
		}
		must(t, rs.Drain(t.Context()))
		peer.send(wire.Receipt{Received: 1})
	})
}

func TestHandshakesThatFail(t *testing.T) {
	life := wire.Incarnation{1}
	for name, test := range map[string]struct {
		hello wire.Hello
		want  error
		text  string
	}{
		"other version": {wire.Hello{Version: wire.Version{Major: 9}, Endpoint: "x", Incarnation: life}, wire.ErrVersion, "9.0"},
		"bad name":      {wire.Hello{Version: wire.Current, Endpoint: "x y", Incarnation: life}, wire.ErrInvalid, "Endpoint"},
		"no life":       {wire.Hello{Version: wire.Current, Endpoint: "x"}, wire.ErrInvalid, "Incarnation"},
		"our own name":  {wire.Hello{Version: wire.Current, Endpoint: receiver, Incarnation: life}, transfer.ErrHandshake, receiver},
		"reserved":      {wire.Hello{Version: wire.Current, Endpoint: string(ownership.Local), Incarnation: life}, transfer.ErrHandshake, "reserved"},
		"bad metadata": {wire.Hello{Version: wire.Current, Endpoint: "x", Incarnation: life, Metadata: []byte("junk")},
			backend.ErrMetadata, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
				peer, result := rawHello(t, g.r, test.hello)
				err := (<-result).err
				if !errors.Is(err, test.want) || !errors.Is(err, transfer.ErrHandshake) || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, want %v with %q in one line", err, test.want, test.text)
				}
				if _, err := peer.stream.Recv(t.Context()); err == nil {
					t.Error("the stream was left open")
				}
				if n := g.r.Counters().FailedHandshakes; n != 1 {
					t.Errorf("%d failed handshakes, want 1", n)
				}
			})
		})
	}
}

func TestHandshakeEndsWithPeerTimeOrContext(t *testing.T) {
	within(t, 11*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		attach := func(ctx context.Context, then func(transfer.Stream)) error {
			ours, theirs := transfer.Pipe()
			result := make(chan error, 1)
			go func() { _, err := g.r.Attach(ctx, theirs); result <- err }()
			then(ours)
			return <-result
		}
		err := attach(t.Context(), func(s transfer.Stream) { s.Close() })
		wantErr(t, err, transfer.ErrHandshake)
		err = attach(t.Context(), func(s transfer.Stream) { must(t, s.Send(t.Context(), wire.Receipt{})) })
		wantErr(t, err, transfer.ErrProtocol)
		start := time.Now()
		wantErr(t, attach(t.Context(), func(transfer.Stream) {}), context.DeadlineExceeded)
		if took := time.Since(start); took != transfer.DefaultHandshakeTimeout {
			t.Errorf("a silent peer was given up after %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		wantErr(t, attach(ctx, func(transfer.Stream) { cancel() }), context.Canceled)
	})
}

func TestProtocolViolationsEndTheStream(t *testing.T) {
	for name, m := range map[string]wire.Message{
		"a second hello":                wire.Hello{Version: wire.Current, Endpoint: "x", Incarnation: wire.Incarnation{1}},
		"receipt for what never left":   wire.Receipt{Received: 5},
		"message without its number":    wire.SessionQuiesced{Session: wire.SessionName{Request: wire.RequestID{Endpoint: "x", Number: 1}, Attempt: 1}},
		"message with an empty session": wire.CancelSession{Seq: 1, From: wire.Send},
		"message after a gap":           wire.SessionQuiesced{Seq: 2, Session: wire.SessionName{Request: wire.RequestID{Endpoint: "x", Number: 1}, Attempt: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
				peer := rawPeer(t, g.r, "x", 1)
				peer.send(m)
				<-peer.link.Done()
				wantErr(t, peer.link.Err(), transfer.ErrProtocol)
				if n := g.r.Counters().ProtocolViolations; n != 1 {
					t.Errorf("%d protocol violations, want 1", n)
				}
			})
		})
	}
}
