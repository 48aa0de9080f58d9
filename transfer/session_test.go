// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// A context ends a wait and nothing else; the error of Drain says what is in the way as
// well. Whoever waits is woken by what moves.
func TestContextEndsTheWaitAlone(t *testing.T) {
	within(t, 3*time.Second, loop.Config{BytesPerTick: size}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, ss := g.begin()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := rs.Wait(ctx); err != context.DeadlineExceeded {
			t.Errorf("wait: %v", err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("the wait took %v", took)
		}
		wantAnswer(t, rs, "ACTIVE")
		_, err := rs.Cancel()
		must(t, err)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = rs.Drain(ctx)
		wantErr(t, err, context.DeadlineExceeded)
		wantErr(t, err, ownership.ErrRefused)
		wantText(t, err, "transfer: session "+rs.Name().String()+": context deadline exceeded: ")
		changed := rs.Changed()
		select {
		case <-changed:
			t.Error("nothing has changed")
		default:
		}
		synctest.Wait()
		g.fabric.Advance(1)
		<-changed
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		if _, known := rs.State(); known || rs.Physical() != ownership.PhysicalRetired {
			t.Errorf("a closed session is known, and %v", rs.Physical())
		}
		<-rs.Released()
		must(t, errors.Join(rs.Close(), rs.Drain(t.Context())))
		var failed *transfer.OutcomeError
		if err := rs.Wait(t.Context()); !errors.As(err, &failed) || failed.Session != rs.Name() || failed.Outcome != outcome.Cancelled {
			t.Errorf("wait: %v", err)
		} else {
			wantText(t, err, "transfer: session "+rs.Name().String()+": CANCELLED, cause cancel, origin local")
		}
	})
}

// FATAL ends every wait for memory at once, though proof will never come.
func TestFatalEndsEveryDrain(t *testing.T) {
	inVirtualTime(t, loop.Config{}, func(t *testing.T, g *rig) {
		g.s.keepOwning, g.r.keepOwning = true, true
		attach(t, g.s, g.r)
		begin := time.Now()
		rs, ss := g.begin()
		result := make(chan error, 2)
		go func() { result <- rs.Drain(t.Context()) }()
		go func() { result <- ss.Drain(t.Context()) }()
		for range 2 {
			wantErr(t, <-result, ownership.ErrFatal)
		}
		if took := time.Since(begin); took != wait+grace {
			t.Errorf("it took %v, want %v", took, wait+grace)
		}
	})
}

// Complete while a gather runs holds for the piece that it makes; again is fine, also
// after the end.
func TestCompleteWhileItGathers(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender), Open: true})
		must(t, err)
		gather := g.local(g.arena(), g.s.arena, loop.Fault{})
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
		must(t, err)
		synctest.Wait()
		must(t, errors.Join(ss.Complete(), rs.Complete()))
		wantAnswer(t, ss, "ACTIVE")
		for range 2 {
			g.fabric.Advance(2)
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		must(t, errors.Join(ss.Wait(t.Context()), rs.Wait(t.Context()), ss.Complete(), rs.Complete()))
		must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
	})
}

// Two pieces are gathered at their own speed; the session is complete with the later one.
func TestTwoGathersOfOneSession(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{From: transfer.FromPeers(sender), Pieces: []transfer.Piece{
			{Name: "a", Region: g.r.region}, {Name: "b", Region: g.r.extra("b")},
		}})
		must(t, err)
		a, b := <-g.s.requests, <-g.s.requests
		ss, err := a.Send(transfer.SendSpec{Region: g.s.region, Gather: g.local(g.arena(), g.s.arena, loop.Fault{})})
		must(t, err)
		again, err := b.Send(transfer.SendSpec{Region: g.s.extra("b")})
		must(t, err)
		if again != ss {
			t.Error("two sessions answer")
		}
		must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
	})
}

// What cannot be asked for is refused before anybody hears of it.
func TestPiecesThatCannotBeAdded(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		scatter := g.local(g.arena(), g.arena(), loop.Fault{})
		open, err := g.r.Offer(t.Context(), transfer.OfferSpec{Region: g.r.region, To: transfer.ToPeers(sender), Open: true})
		must(t, err)
		first := <-g.s.requests
		name := "session " + open.Name().String()
		for _, test := range []struct {
			pieces []transfer.Piece
			want   error
			text   string
		}{
			{nil, transfer.ErrConfig, name + ": invalid argument: no pieces"},
			{[]transfer.Piece{{Name: "x", Region: g.r.region, Scatter: scatter}}, transfer.ErrConfig, "piece x: invalid argument: an offer has a Scatter"},
			{[]transfer.Piece{{Name: "x"}}, transfer.ErrConfig, "piece x: invalid argument: Region is nil or another endpoint's"},
			{[]transfer.Piece{{Name: "x", Region: g.r.region, Peers: transfer.ToPeers("nobody")}}, transfer.ErrNoPeer, "peer nobody"},
			{[]transfer.Piece{{Region: g.r.region}}, ownership.ErrReject, ""},
		} {
			err := open.Add(t.Context(), test.pieces...)
			wantErr(t, err, test.want)
			wantText(t, err, test.text)
		}
		_, err = g.r.Offer(t.Context(), transfer.OfferSpec{Pieces: []transfer.Piece{{Name: "x", Region: g.r.region, Scatter: scatter}}, To: transfer.ToPeers(sender)})
		wantErr(t, err, transfer.ErrConfig)
		wantText(t, err, "piece x: ")
		_, err = g.r.Offer(t.Context(), transfer.OfferSpec{Region: g.r.region, Pieces: []transfer.Piece{{Name: "x", Region: g.r.region}}, To: transfer.ToPeers(sender)})
		wantErr(t, err, transfer.ErrConfig)
		wantText(t, err, "both Pieces and a piece of its own")
		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{Session: open.Name(), Region: g.r.extra("more"), From: transfer.FromPeers(sender)})
		wantErr(t, err, ownership.ErrReject)
		wantText(t, err, name+": ")
		wantText(t, err, "the name is owned")
		_, err = open.Cancel()
		must(t, err)
		err = open.Add(t.Context(), transfer.Piece{Name: "y", Region: g.r.extra("late")})
		wantErr(t, err, ownership.ErrClosed)
		wantText(t, err, "(the session is CANCELLED, cause cancel, origin local)")
		must(t, errors.Join(open.Drain(t.Context()), first.Refuse("no"), scatter.Release()))
		if n := g.r.Counters(); n.Sessions != 0 || n.Owners != 0 {
			t.Errorf("%+v", n)
		}
	})
}

// A spec is a piece or a list of them, whatever of the piece is given.
func TestSpecIsOnePieceOrSeveral(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		scatter := g.local(g.arena(), g.arena(), loop.Fault{})
		for name, spec := range map[string]transfer.ReceiveSpec{
			"name": {Piece: "x"}, "region": {Region: g.r.region}, "blocks": {Blocks: []transfer.Block{{Len: 1}}}, "count": {Count: 1}, "scatter": {Scatter: scatter},
		} {
			spec.Pieces, spec.From = []transfer.Piece{{Name: "y", Region: g.r.region}}, transfer.FromPeers(sender)
			if _, err := g.r.Receive(t.Context(), spec); !errors.Is(err, transfer.ErrConfig) {
				t.Errorf("%s: %v", name, err)
			}
		}
		must(t, scatter.Release())
	})
}

// After Halt nothing is taken in, and what waits to leave has not left.
func TestHaltTakesNothingIn(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		g.r.keepOwning = true
		sa, sb := transfer.Pipe()
		attachOver(t, g.s, g.r, sa, &stuck{sb})
		type result struct {
			s   *transfer.Session
			err error
		}
		results := make(chan result, 2)
		for _, r := range []*transfer.Region{g.r.region, g.r.extra("more")} {
			go func() {
				s, err := g.r.Receive(context.Background(), transfer.ReceiveSpec{Region: r, From: transfer.FromPeers(sender)})
				results <- result{s, err}
			}()
			synctest.Wait()
		}
		g.r.Halt()
		for range 2 {
			got := <-results
			must(t, got.err)
			want := "ACTIVE" // the first may have left
			if got.s.Name().Request.Number == 2 {
				want = "FAILED, cause publication, origin local"
			}
			wantAnswer(t, got.s, want)
		}
		_, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender)})
		wantErr(t, err, transfer.ErrNoPeer)
		p := rawPeer(t, g.s, "x", 1)
		go p.readAll()
		claim := p.claim(g.s, ownership.SessionName{Request: ownership.RequestID{Endpoint: "x", Number: 1}, Attempt: 1}, 1)
		claim.Owner, claim.Accessor, claim.Incarnation = p.life, sender, wire.Incarnation(g.s.Incarnation())
		p.send(wire.RequestData{Seq: 1, Claim: claim, Direction: wire.Write, Segments: []wire.Segment{{Addr: 4096, Len: size}}})
		request := <-g.s.requests
		g.s.Halt()
		g.s.keepOwning = true
		_, err = request.Send(transfer.SendSpec{Region: g.s.region})
		wantErr(t, err, transfer.ErrHalted)
		wantText(t, err, "endpoint "+sender)
	})
}

// A session's own limits: the poller leaves what is over alone.
func TestPassivePollingEndsWithTheClaims(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *rig, *transfer.Session, *transfer.Request){
		"success": func(t *testing.T, g *rig, rs *transfer.Session, r *transfer.Request) {
			ss, err := r.Send(transfer.SendSpec{Region: g.s.region})
			must(t, errors.Join(err, rs.Drain(t.Context()), ss.Drain(t.Context())))
		},
		"refusal": func(t *testing.T, g *rig, rs *transfer.Session, r *transfer.Request) {
			must(t, errors.Join(r.Refuse("no"), rs.Drain(t.Context())))
		},
		"fence": func(t *testing.T, g *rig, rs *transfer.Session, r *transfer.Request) {
			must(t, errors.Join(g.r.Gone(sender, g.s.Incarnation()), g.r.Fence(ownership.FenceSpec{Accessor: sender, Scope: ownership.Passive}), rs.Drain(t.Context())))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, loop.Config{PassiveProgress: true}, func(t *testing.T, g *rig) {
				b := &scripted{}
				r := g.party("b", script(b))
				g.r = r
				attach(t, g.s, r)
				rs, request := g.request()
				time.Sleep(time.Second)
				if b.calls("Progress") == 0 {
					t.Error("a peer may be at work, and Progress is not called")
				}
				end(t, g, rs, request)
				synctest.Wait()
				before := b.calls("Progress")
				time.Sleep(time.Hour)
				if n := b.calls("Progress") - before; n != 0 {
					t.Errorf("%d calls of Progress in an idle hour", n)
				}
			})
		})
	}
}

// Pieces are answered in any order, also the last ones before those that were asked for
// while it was not known how many there would be.
func TestLastPieceIsAnsweredFirst(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Piece: "0", Region: g.r.region, From: transfer.FromPeers(sender), Open: true})
		must(t, err)
		early := <-g.s.requests
		must(t, rs.AddLast(t.Context(), transfer.Piece{Name: "1", Region: g.r.extra("one")}))
		last := <-g.s.requests
		if early.Pieces() != 0 || last.Pieces() != 2 {
			t.Errorf("pieces are %d and %d", early.Pieces(), last.Pieces())
		}
		ss, err := last.Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		synctest.Wait()
		wantAnswer(t, ss, "ACTIVE")
		again, err := early.Send(transfer.SendSpec{Region: g.s.region})
		must(t, errors.Join(err, rs.Wait(t.Context()), ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		if again != ss {
			t.Error("two sessions answer")
		}
		wantText(t, ss.Add(t.Context(), transfer.Piece{Region: g.s.region}), "it answers what its peer asks for, and adds nothing")
	})
}

// An operation and a copy that run at the same time are both asked about; a backend is not
// asked about no operation, nor for progress that it makes by itself.
func TestOperationBesideACopy(t *testing.T) {
	within(t, 2*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		b, other := &scripted{}, &scripted{}
		p, q := g.party("a", script(b)), g.party("b", script(other))
		attach(t, p, q)
		rs, err := q.Receive(t.Context(), transfer.ReceiveSpec{From: transfer.FromPeers("a"), Pieces: []transfer.Piece{
			{Name: "x", Region: q.region}, {Name: "y", Region: q.extra("y")},
		}})
		must(t, err)
		x, y := <-p.requests, <-p.requests
		gather := &scriptedLocal{Local: g.local(g.arena(), p.arena, loop.Fault{})}
		ss, err := x.Send(transfer.SendSpec{Region: p.region, Gather: gather})
		must(t, err)
		time.Sleep(time.Second)
		if n := b.calls("Poll"); n != 0 {
			t.Errorf("the backend was asked %d times about nothing", n)
		}
		_, err = y.Send(transfer.SendSpec{Region: p.extra("y")})
		must(t, err)
		synctest.Wait()
		before := b.calls("Poll")
		time.Sleep(100 * time.Millisecond)
		if b.calls("Poll") == before {
			t.Error("beside a copy no operation is asked about")
		}
		g.fabric.Advance(2)
		time.Sleep(100 * time.Millisecond)
		g.fabric.Advance(2)
		must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		if n := other.calls("Progress") + b.calls("Progress"); n != 0 {
			t.Errorf("Progress was called %d times", n)
		}
	})
}
