// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
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

// What the backend says of an operation is told in the words of its status and with its
// cause, and an operation that provably did not begin is a failure without a doubt.
func TestOperationsAreTold(t *testing.T) {
	for name, test := range map[string]struct {
		config loop.Config
		begin  func(*scripted)
		notes  []string
		answer string
	}{
		"not prepared": {loop.Config{Auto: true}, func(b *scripted) { b.fail("Prepare", errScript) },
			[]string{"not prepared: " + errScript.Error()}, "FAILED, cause not_submitted, origin local"},
		"not submitted": {loop.Config{Auto: true}, func(b *scripted) { _ = b.fabric.Inject("a", loop.Fault{Status: backend.NotSubmitted, Err: errScript}) },
			[]string{"post: not_submitted: " + errScript.Error()}, "FAILED, cause not_submitted, origin local"},
		"submitted": {loop.Config{Auto: true}, func(b *scripted) {}, []string{"post: submitted", "poll: done"}, "SUCCEEDED"},
		"in progress": {loop.Config{Auto: true}, func(b *scripted) { b.answer("Post", backend.InProgress) },
			[]string{"post: in_progress", "poll: done"}, "SUCCEEDED"},
		"ended in Post": {loop.Config{Auto: true, Inline: true}, func(b *scripted) {}, []string{"post: done"}, "SUCCEEDED"},
		"error in Post": {loop.Config{Auto: true}, func(b *scripted) { b.answer("Post", backend.Error) },
			[]string{"post: error: " + errScript.Error(), "poll: done"}, "FAILED, cause doubt, origin local"},
		"error in Poll": {loop.Config{Auto: true, BytesPerTick: size / 2}, func(b *scripted) { b.answer("Poll", backend.Error) },
			[]string{"post: submitted", "poll: error", "poll: done"}, "FAILED, cause doubt, origin local"},
	} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, test.config, func(t *testing.T, g *rig) {
				b := &scripted{fabric: g.fabric}
				p := g.party("a", script(b))
				attach(t, p, g.r)
				test.begin(b)
				rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("a")})
				must(t, err)
				ss, err := (<-p.requests).Send(transfer.SendSpec{Region: p.region})
				must(t, err)
				must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
				wantAnswer(t, ss, test.answer)
				synctest.Wait()
				var notes []string
				p.mu.Lock()
				for _, line := range p.lines {
					if after, is := strings.CutPrefix(line, "operation "); is {
						claim, says, _ := strings.Cut(after, ": ")
						if strings.HasSuffix(claim, " not prepared") {
							says = "not prepared: " + says
						}
						if before, after, is := strings.Cut(says, "loop: post "); is { // the backend's own words
							_, cause, _ := strings.Cut(after, "): ")
							says = before + cause
						}
						notes = append(notes, says)
					}
				}
				p.mu.Unlock()
				if got, want := strings.Join(notes, "\n"), strings.Join(test.notes, "\n"); got != want {
					t.Errorf("told is\n%s\nwant\n%s", got, want)
				}
				if n := b.calls("Release"); n != 1 && name != "not prepared" || n != 0 && name == "not prepared" {
					t.Errorf("the handle was released %d times", n)
				}
				if strings.Contains(test.answer, "doubt") {
					must(t, errors.Join(p.Reopen(), g.r.Reopen()))
				}
			})
		})
	}
}

// A copy is told of like an operation; one that is refused a start is let go.
func TestCopiesAreTold(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender), Scatter: g.local(g.r.arena, g.arena(), loop.Fault{})})
		must(t, err)
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region, Gather: g.local(g.arena(), g.s.arena, loop.Fault{})})
		must(t, err)
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		piece := rs.Name().String() + ":kv"
		g.s.expect("local copy of "+piece+": start: submitted", "of local #2: poll: done", "of decode-0 #1: post: submitted", "of decode-0 #1: poll: done")
		g.r.expect("local copy of "+piece+": start: submitted", "of local #2: poll: done")
		if g.r.count("scatter of") != 0 || g.s.count("gather of") != 0 || g.s.count("is not posted") != 0 {
			t.Error("what went well is told as a failure")
		}
	})
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) { // a cancel while it gathers
		attach(t, g.s, g.r)
		rs, request := g.request()
		gather := g.local(g.arena(), g.s.arena, loop.Fault{})
		ss, err := request.Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
		must(t, err)
		synctest.Wait()
		_, err = ss.Cancel()
		must(t, err)
		g.fabric.Advance(2)
		must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
		g.s.expect("poll: done", "piece "+rs.Name().String()+":kv is not posted: ownership: ")
		if n := g.s.count("post: "); n != 0 {
			t.Errorf("%d posts", n)
		}
	})
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) { // an error with its cause
		attach(t, g.s, g.r)
		rs, request := g.request()
		ss, err := request.Send(transfer.SendSpec{Region: g.s.region, Gather: g.local(g.arena(), g.s.arena, loop.Fault{Status: backend.Error, Err: errScript})})
		must(t, err)
		g.s.expect("start: error: " + errScript.Error())
		must(t, g.s.Fence(ownership.FenceSpec{Accessor: ownership.Local, Scope: ownership.Own}))
		must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
	})
}

// A stream is told of from its beginning to its end, with the cause.
func TestStreamsAreTold(t *testing.T) {
	within(t, 2*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		for i, end := range []struct {
			how  func(*raw)
			says string
		}{
			{func(r *raw) { _ = r.stream.Close() }, "EOF"},
			{func(r *raw) { must(t, r.link.Close()) }, "io: read/write on closed pipe"},
			{func(r *raw) { r.send(wire.Receipt{Received: 9}) }, transfer.ErrProtocol.Error() + ": receipt for message 9 of 0"},
			{func(r *raw) { rawPeer(t, g.r, "x", r.life[0]) }, transfer.ErrReplaced.Error()},
			{func(r *raw) { must(t, g.r.Fence(ownership.FenceSpec{Accessor: "x", Scope: ownership.All})) }, transfer.ErrGone.Error()},
		} {
			r := rawPeer(t, g.r, "x", byte(i+1))
			g.r.expect("stream to x attached")
			if i > 0 {
				g.r.expect("peer x came back in a new life")
			}
			end.how(r)
			<-r.link.Done()
			g.r.expect("stream to x ended: " + end.says)
			wantText(t, r.link.Err(), end.says)
			g.r.mu.Lock()
			g.r.lines = nil
			g.r.mu.Unlock()
			if r.link.Peer() != "x" || r.link.Incarnation() != ownership.Incarnation(r.life) {
				t.Errorf("the link is of %s, %v", r.link.Peer(), r.link.Incarnation())
			}
		}
	})
}

// What a peer may not do, or what is full, is a line for the operator.
func TestPeersMistakesAreLogged(t *testing.T) {
	within(t, 2*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		var book book
		s := g.party("a", func(c *transfer.Config) { c.Log, c.Requests = book.logger(0), 1 })
		attach(t, s, g.r)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("a")})
		must(t, err)
		request := <-s.requests
		stranger := rawPeer(t, s, "stranger", 9)
		go stranger.readAll()
		named := wire.SessionName{Request: wire.RequestID(rs.Name().Request), Attempt: rs.Name().Attempt}
		stranger.send(wire.CancelSession{Seq: 1, Session: named, From: wire.Send})
		synctest.Wait()
		book.want(t, `level=WARN msg="cancel of a session of others" peer=stranger session=`+rs.Name().String())
		more, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.extra("more"), From: transfer.FromPeers("a")})
		must(t, err)
		synctest.Wait()
		book.want(t, `level=WARN msg="request dropped" request=`+more.Name().String()+":kv", "peer="+receiver, `error="there is no room for it"`)
		_, err = more.Cancel()
		must(t, errors.Join(err, more.Drain(t.Context()), request.Refuse("no"), rs.Drain(t.Context())))
		stranger.send(wire.Goodbye{})
	})
}

// Evidence that contradicts what was proven is told to the operator, and so is whose.
func TestContradictionIsLogged(t *testing.T) {
	within(t, 2*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		var book book
		r := g.party("b", func(c *transfer.Config) { c.Log = book.logger(0) })
		r.keepOwning = true
		p := rawPeer(t, r, "x", 1)
		rs, err := r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers("x")})
		must(t, err)
		claim := p.next().(wire.RequestData).Claim
		p.send(wire.Result{Seq: 1, Claim: claim, Evidence: wire.OK})
		p.send(wire.Result{Seq: 2, Claim: claim, Evidence: wire.Failed})
		synctest.Wait()
		if n := r.Counters().Conflicts; n != 1 {
			t.Errorf("%d conflicts", n)
		}
		book.want(t, `level=WARN msg="message of a peer" peer=x message=`, "RESULT", "error=", "conflict")
		wantErr(t, rs.Close(), ownership.ErrRefused)
		if n := book.count("message of a peer"); n != 1 {
			t.Errorf("%d lines, want 1: the first result was right", n)
		}
	})
}

// An operation that a cancel overtook is let go of, prepared as it was, and never posted.
func TestOperationThatACancelOvertook(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		b := &scripted{}
		p := g.party("a", script(b))
		attach(t, p, g.r)
		release := b.hold("Prepare")
		defer release()
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("a")})
		must(t, err)
		ss, err := (<-p.requests).Send(transfer.SendSpec{Region: p.region})
		must(t, err)
		synctest.Wait()
		_, err = ss.Cancel()
		must(t, err)
		release()
		must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
		synctest.Wait()
		if b.calls("Release") != 1 || b.calls("Post") != 0 {
			t.Errorf("%d releases, %d posts", b.calls("Release"), b.calls("Post"))
		}
	})
}
