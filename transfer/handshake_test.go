// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// tapped is a stream of which one direction may do something else.
type tapped struct {
	transfer.Stream
	send func(context.Context, wire.Message) error
	recv func(context.Context) (wire.Message, error)
}

func (s *tapped) Send(ctx context.Context, m wire.Message) error {
	if s.send != nil {
		return s.send(ctx, m)
	}
	return s.Stream.Send(ctx, m)
}

func (s *tapped) Recv(ctx context.Context) (wire.Message, error) {
	if s.recv != nil {
		return s.recv(ctx)
	}
	return s.Stream.Recv(ctx)
}

// A handshake fails with what has failed, and leaves nothing running.
func TestHandshakeSaysWhatFailed(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		ours, theirs := transfer.Pipe()
		go func() { _ = ours.Close() }()
		_, err := g.r.Attach(t.Context(), theirs)
		wantErr(t, err, transfer.ErrHandshake)
		wantText(t, err, "transfer: endpoint decode-0: handshake not completed: the peer went away")

		ours, theirs = transfer.Pipe()
		must(t, ours.Send(t.Context(), hello("x", 1)))
		_, err = g.r.Attach(t.Context(), &tapped{Stream: theirs, send: func(context.Context, wire.Message) error { return errScript }})
		wantErr(t, err, errScript)
		wantErr(t, err, transfer.ErrHandshake)
		if _, err := ours.Recv(t.Context()); err != io.EOF {
			t.Errorf("the stream is left open: %v", err)
		}

		_, result := rawHello(t, g.r, hello(receiver, 1))
		wantText(t, (<-result).err, "peer decode-0: handshake not completed: it has our own name")
		_, result = rawHello(t, g.r, hello(string(ownership.Local), 1))
		wantText(t, (<-result).err, "the name is reserved")
		if n := g.r.Counters().FailedHandshakes; n != 4 {
			t.Errorf("%d failed handshakes, want 4", n)
		}
		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("x")})
		wantErr(t, err, transfer.ErrNoPeer)
		wantText(t, err, "peer x: ")
	})
}

// One handshake of a peer waits for the other, no longer than its context.
func TestHandshakesOfOnePeerTakeTurns(t *testing.T) {
	within(t, 3*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		b := &scripted{}
		p := g.party("a", script(b))
		h := hello("x", 1)
		other, err := g.fabric.Agent("x")
		must(t, err)
		h.Metadata, err = other.Metadata()
		must(t, err)
		release := b.hold("Connect")
		r, first := rawHello(t, p, h)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ours, theirs := transfer.Pipe()
		must(t, ours.Send(t.Context(), h))
		begin := time.Now()
		_, err = p.Attach(ctx, theirs)
		wantErr(t, err, context.DeadlineExceeded)
		wantErr(t, err, transfer.ErrHandshake)
		wantText(t, err, "peer x: ")
		if took := time.Since(begin); took != time.Second {
			t.Errorf("it gave up after %v", took)
		}
		release()
		got := <-first
		must(t, got.err)
		select {
		case <-got.link.Done():
			t.Errorf("the first ended: %v", got.link.Err())
		default:
		}
		go r.readAll()
		r.send(wire.Receipt{})
		r.send(wire.Goodbye{})
	})
}

// A Hello that was said to an earlier life of ours attaches nothing to the present one.
func TestHandshakeAcrossOurOwnLives(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		ours, theirs := transfer.Pipe()
		result := make(chan error, 1)
		go func() { _, err := g.r.Attach(t.Context(), theirs); result <- err }()
		synctest.Wait()
		g.reincarnate(g.r, nil)
		must(t, ours.Send(t.Context(), hello("x", 1)))
		err := <-result
		wantErr(t, err, transfer.ErrReincarnated)
		wantText(t, err, "endpoint decode-0: ")
		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("x")})
		wantErr(t, err, transfer.ErrNoPeer)
	})
}

// A link ends with what broke either direction, and not before both are over.
func TestLinkEndsWithEitherDirection(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		sa, sb := transfer.Pipe()
		broken := &tapped{Stream: sb}
		_, lr := attachOver(t, g.s, g.r, sa, broken)
		synctest.Wait()
		broken.send = func(context.Context, wire.Message) error { return errScript }
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender)})
		must(t, err)
		<-lr.Done()
		wantErr(t, lr.Err(), errScript)
		wantPhysical(t, rs, ownership.PhysicalDraining) // it may have left
		attach(t, g.s, g.r)
		must(t, (<-g.s.requests).Refuse("no"))
		must(t, rs.Drain(t.Context()))
	})
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		sa, sb := transfer.Pipe()
		gate := make(chan struct{})
		slow := &tapped{Stream: sb}
		slow.recv = func(ctx context.Context) (wire.Message, error) {
			m, err := sb.Recv(ctx)
			if err != nil {
				<-gate
			}
			return m, err
		}
		_, lr := attachOver(t, g.s, g.r, sa, slow)
		closed := make(chan struct{})
		go func() { _ = lr.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-lr.Done():
			t.Error("it is done while somebody receives")
		case <-closed:
			t.Error("Close has returned while somebody receives")
		default:
		}
		if err := lr.Err(); err != nil {
			t.Errorf("it lives, with %v", err)
		}
		close(gate)
		<-closed
		wantErr(t, lr.Err(), io.ErrClosedPipe)
	})
}

// Goodbye ends a stream in good order: what came before it is confirmed, and nothing is
// wrong with it.
func TestGoodbyeConfirmsWhatCameBefore(t *testing.T) {
	for range 20 {
		within(t, 2*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
			p := rawPeer(t, g.r, "x", 1)
			must(t, errors.Join(
				p.stream.Send(t.Context(), wire.SessionQuiesced{Seq: 1, Session: wire.SessionName{Request: wire.RequestID{Endpoint: "x", Number: 1}, Attempt: 1}}),
				p.stream.Send(t.Context(), wire.Goodbye{})))
			var latest uint64
			for {
				m, err := p.stream.Recv(t.Context())
				if err != nil {
					break
				}
				if r, is := m.(wire.Receipt); is {
					latest = r.Received
				}
			}
			if latest != 1 {
				t.Errorf("%d messages are confirmed, want 1", latest)
			}
			<-p.link.Done()
			if err := p.link.Err(); err != io.EOF {
				t.Errorf("the stream ended with %v", err)
			}
			if n := g.r.Counters().ProtocolViolations; n != 0 {
				t.Errorf("%d protocol violations", n)
			}
		})
	}
}

// The watermark in a Hello withdraws what it passes, and nothing else.
func TestWatermarkOfAHello(t *testing.T) {
	within(t, 2*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		p := rawPeer(t, g.s, "x", 1)
		go p.readAll()
		var requests []*transfer.Request
		for i, name := range []ownership.RequestID{{Endpoint: "x", Number: 3}, {Endpoint: "x", Number: 4}, {Endpoint: "y", Number: 3}} {
			claim := p.claim(g.s, ownership.SessionName{Request: name, Attempt: 1}, uint64(i+1))
			claim.Owner, claim.Accessor, claim.Incarnation = p.life, sender, wire.Incarnation(g.s.Incarnation())
			p.send(wire.RequestData{Seq: uint64(i + 1), Claim: claim, Direction: wire.Write, Segments: []wire.Segment{{Addr: 4096, Len: 1}}})
			requests = append(requests, <-g.s.requests)
		}
		h := hello("x", 1)
		h.Watermark = 4
		again, result := rawHello(t, g.s, h)
		must(t, (<-result).err)
		go again.readAll()
		synctest.Wait()
		for i, r := range requests {
			select {
			case <-r.Withdrawn():
				if i != 0 {
					t.Errorf("%v is withdrawn", r.Session())
				}
			default:
				if i == 0 {
					t.Errorf("%v waits still", r.Session())
				}
			}
		}
		must(t, g.s.Fence(ownership.FenceSpec{Accessor: "x", Scope: ownership.All}))
	})
}

// While the sender is inside of a carrier nobody knows what has left: Stop waits for it.
func TestStopWaitsForASendThatRuns(t *testing.T) {
	within(t, 3*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		sa, sb := transfer.Pipe()
		gate := make(chan struct{})
		open := sync.OnceFunc(func() { close(gate) })
		defer open()
		slow := &tapped{Stream: sa}
		slow.send = func(ctx context.Context, m wire.Message) error {
			if r, is := m.(wire.Receipt); is && r.Received == 1 {
				<-gate
			}
			return sa.Send(ctx, m)
		}
		_, lr := attachOver(t, g.s, g.r, slow, sb)
		rs, err := g.s.Receive(t.Context(), transfer.ReceiveSpec{Region: g.s.region, From: transfer.FromPeers(receiver)})
		must(t, err)
		ss, err := (<-g.r.requests).Send(transfer.SendSpec{Region: g.r.region})
		must(t, errors.Join(err, rs.Drain(t.Context())))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = g.s.Stop(ctx)
		wantErr(t, err, transfer.ErrUnacknowledged)
		wantErr(t, err, context.DeadlineExceeded)
		wantText(t, err, "to "+receiver)
		open()
		synctest.Wait()
		if err := lr.Err(); err != nil {
			t.Errorf("a Stop that failed has ended the stream: %v", err)
		}
		must(t, errors.Join(ss.Drain(t.Context()), g.s.Stop(t.Context())))
	})
}

// A Goodbye that does not leave keeps Stop waiting like anything else.
func TestStopWaitsForGoodbye(t *testing.T) {
	within(t, 3*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		sa, sb := transfer.Pipe()
		gate := make(chan struct{})
		open := sync.OnceFunc(func() { close(gate) })
		defer open()
		slow := &tapped{Stream: sa}
		slow.send = func(ctx context.Context, m wire.Message) error {
			if m.Kind() == wire.KindGoodbye {
				<-gate
			}
			return sa.Send(ctx, m)
		}
		_, lr := attachOver(t, g.s, g.r, slow, sb)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := g.s.Stop(ctx)
		wantErr(t, err, transfer.ErrUnacknowledged)
		wantText(t, err, "1 to "+receiver)
		open()
		must(t, g.s.Stop(t.Context()))
		<-lr.Done()
		wantErr(t, lr.Err(), io.EOF)
	})
}

// What works is counted as no mistake of anybody. An answer to a cancel may come twice,
// the second time when its session is over: stale is no mistake.
func TestNothingIsWrongWithATransfer(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, ss := g.begin()
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		rs, request := g.request()
		must(t, errors.Join(request.Refuse("no"), rs.Drain(t.Context())))
		rs, _ = g.request()
		_, err := rs.Cancel()
		must(t, errors.Join(err, rs.Drain(t.Context())))
		synctest.Wait()
		for _, p := range g.all {
			c := p.Counters()
			if n := c.RepeatedMessages + c.ForeignMessages + c.ProtocolViolations + c.UndeliverableReports + c.RequestsTurnedAway + c.ForeignNotifications +
				c.LostEvents + c.FailedHandshakes + c.ProgressErrors + c.Conflicts + c.Foreign; n != 0 {
				t.Errorf("%s: %+v", p.Name(), c)
			}
		}
	})
}
