// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// Before the old agent is gone nothing has happened, whatever keeps it: the endpoint
// goes on in its life, takes things in, and Reincarnate may be called again.
func TestReincarnateThatDoesNotBegin(t *testing.T) {
	for name, test := range map[string]struct {
		arrange func(*testing.T, *rig, *party, *scripted) (then func())
		want    error
		text    string
	}{
		"the agent is not to be destroyed": {func(_ *testing.T, _ *rig, _ *party, b *scripted) func() {
			b.fail("Fence", errScript)
			return func() {}
		}, errScript, "reincarnate a: "},
		"another one runs": {func(t *testing.T, g *rig, p *party, b *scripted) func() {
			release := b.hold("Connect")
			g.blockConnect(t, p)
			first := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := p.Reincarnate(ctx, g.again(nil))
				first <- err
			}()
			synctest.Wait()
			return func() {
				wantErr(t, <-first, context.DeadlineExceeded)
				release()
			}
		}, context.DeadlineExceeded, "endpoint a: "},
		"a call does not return": {func(t *testing.T, g *rig, p *party, b *scripted) func() {
			release := b.hold("Connect")
			g.blockConnect(t, p)
			return release
		}, context.DeadlineExceeded, "a call of the backend does not return"},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
				b := &scripted{}
				p := g.party("a", script(b))
				then := test.arrange(t, g, p, b)
				before := p.Incarnation()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := p.Reincarnate(ctx, g.again(nil))
				wantErr(t, err, test.want)
				wantText(t, err, test.text)
				if p.Incarnation() != before {
					t.Error("another life has begun")
				}
				then()
				must(t, p.WaitAdmission(t.Context()))
				p.extra("more")
				attach(t, g.s, p)
				rs, err := p.Receive(t.Context(), transfer.ReceiveSpec{Region: p.region, From: transfer.FromPeers(sender)})
				must(t, err)
				ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region})
				must(t, err)
				must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
				g.reincarnate(p, nil)
				attach(t, g.s, p) // for the last reports
			})
		})
	}
}

// blockConnect makes the party call Connect, which blocks.
func (g *rig) blockConnect(t *testing.T, p *party) {
	t.Helper()
	h := hello("stuck", 1)
	var err error
	h.Metadata, err = g.s.agent.Metadata()
	must(t, err)
	_, result := rawHello(t, p, h)
	go func() { <-result }()
	synctest.Wait()
}

// After FATAL, and after Halt, no life follows.
func TestNoLifeFollows(t *testing.T) {
	inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		g.s.keepOwning, g.r.keepOwning = true, true
		g.doubtful()
		<-g.s.Fatal()
		_, err := g.s.Reincarnate(t.Context(), g.again(nil))
		wantErr(t, err, ownership.ErrFatal)
		wantText(t, err, "endpoint "+sender)
		halted := g.party("a")
		halted.Halt()
		halted.keepOwning = true
		for range 2 { // and the first has let go of its turn
			_, err = halted.Reincarnate(t.Context(), g.again(nil))
			wantErr(t, err, transfer.ErrHalted)
			wantText(t, err, "endpoint a: ")
		}
	})
}

// What the new backend does not take leaves the endpoint without an agent: the new one
// is closed, and Reincarnate may be called again.
func TestNewBackendThatFails(t *testing.T) {
	within(t, 2*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		old := &scripted{}
		p := g.party("a", script(old))
		pool := p.pool()
		_, table := p.allocate(pool, "request", 1, 'a')
		part := region(t, pool, ownership.Reads, "send", table)
		next := &scripted{}
		broken := func(agent string) (backend.Backend, error) {
			a, err := g.fabric.Agent(agent)
			next.Agent = a
			return next, err
		}
		next.fail("Register", errScript)
		next.fail("Close", memory.ErrClosed)
		r, err := p.Reincarnate(t.Context(), broken)
		wantErr(t, err, errScript)
		wantErr(t, err, transfer.ErrConfig)
		wantErr(t, err, memory.ErrClosed) // of the new backend, which is closed
		wantText(t, err, "region pool")
		if n := next.calls("Close"); n != 1 || r.Agent == "" || r.Agent != next.Name() {
			t.Errorf("Close was called %d times, of agent %q", n, r.Agent)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, p.WaitAdmission(ctx), context.DeadlineExceeded)
		second, err := p.Reincarnate(t.Context(), broken)
		must(t, err)
		if n := next.calls("Register"); n != 2 {
			t.Errorf("Register was called %d times, want once a life: blocks have no registration of their own", n)
		}
		if n := old.calls("Fence"); n != 1 {
			t.Errorf("the old agent was destroyed %d times", n)
		}
		if second.Agent == r.Agent || second.Agent != next.Name() || !strings.HasPrefix(second.Agent, "a.") {
			t.Errorf("agents %q and %q", r.Agent, second.Agent)
		}
		must(t, part.Deregister())
		for _, pin := range pool.Blocks().Pins() {
			unpin(t, pool, pin.Name)
		}
	})
}

// A new life ends what waits for its metadata: the error is the caller's, and the life
// that has begun goes on without anybody attached.
func TestMetadataOfTheNewLifeFail(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		p := g.party("a")
		next := &scripted{}
		next.fail("Metadata", errScript)
		_, err := p.Reincarnate(t.Context(), func(agent string) (backend.Backend, error) {
			a, err := g.fabric.Agent(agent)
			next.Agent = a
			return next, err
		})
		wantErr(t, err, errScript)
		_, err = p.Register("late", g.arena())
		wantErr(t, err, transfer.ErrReincarnated)
		g.reincarnate(p, nil)
		p.extra("more")
	})
}

// Agents' names have no more than what the wire takes, and are new ones.
func TestAgentNameFits(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		long := strings.Repeat("n", 128)
		p := g.party(long)
		var agent string
		r, err := p.Reincarnate(t.Context(), func(name string) (backend.Backend, error) {
			agent = name
			return g.fabric.Agent(name)
		})
		must(t, err)
		if len(agent) != 128 || agent == long || agent != r.Agent || !strings.HasSuffix(agent, "."+r.To.String()[:16]) || !strings.HasPrefix(agent, long[:128-17]) {
			t.Errorf("agent %q, of %v", agent, r.To)
		}
	})
}

// A life is told of: in the timeline, in the log, and in what Reincarnate returns.
func TestReincarnationIsTold(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		var book book
		p := g.party("a", func(c *transfer.Config) { c.Log = book.logger(0) })
		attach(t, g.s, p)
		rs, err := p.Receive(t.Context(), transfer.ReceiveSpec{Region: p.region, From: transfer.FromPeers(sender)})
		must(t, err)
		<-g.s.requests
		_, changed := p.Admission()
		r := g.reincarnate(p, nil)
		select {
		case <-changed:
		default:
			t.Error("who waits for admission was not woken")
		}
		p.expect("incarnation " + r.To.String() + " follows " + r.From.String() + ": 1 claims fenced, 0 retained; " + r.Proven.String())
		book.want(t, `level=WARN msg="endpoint reincarnated" endpoint=a from=`, r.From.String(), "to="+r.To.String(), "fenced=1 retained=0 proven=")
		must(t, rs.Drain(t.Context()))
		attach(t, g.s, p)
	})
}

// A new life begins with nothing of the old one: its operations are not asked about, its
// numbers are not counted on, and what the new backend needs is done.
func TestNewLifeBeginsAnew(t *testing.T) {
	within(t, 2*time.Second, loop.Config{PassiveProgress: true}, func(t *testing.T, g *rig) {
		old, next := &scripted{limits: &backend.Limits{Transport: "loop", OwnFence: true, PassiveFence: true}}, &scripted{}
		p := g.party("a", script(old))
		attach(t, p, g.r)
		must(t, g.fabric.Stall(receiver))
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("a")})
		must(t, err)
		ss, err := (<-p.requests).Send(transfer.SendSpec{Region: p.region})
		must(t, err)
		synctest.Wait()
		_, err = p.Reincarnate(t.Context(), func(agent string) (backend.Backend, error) {
			a, err := g.fabric.Agent(agent)
			next.Agent = a
			return next, err
		})
		must(t, err)
		must(t, errors.Join(ss.Drain(t.Context()), g.fabric.Continue(receiver)))
		time.Sleep(time.Second)
		if n := next.calls("Poll"); n != 0 || old.calls("Release") != 0 {
			t.Errorf("the new backend was asked %d times, %d handles of the old one were released", n, old.calls("Release"))
		}
		attach(t, p, g.r)
		must(t, g.r.Fence(ownership.FenceSpec{Accessor: "a", Scope: ownership.Passive}))
		must(t, rs.Drain(t.Context()))
		_ = g.r.Reopen()
		_ = p.Reopen()
		// Both ways: numbers begin anew on either side.
		to, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("a")})
		must(t, err)
		ss, err = (<-p.requests).Send(transfer.SendSpec{Region: p.region})
		must(t, errors.Join(err, to.Wait(t.Context()), to.Drain(t.Context()), ss.Drain(t.Context())))
		back, err := p.Receive(t.Context(), transfer.ReceiveSpec{Region: p.region, From: transfer.FromPeers(receiver)})
		must(t, err)
		ss, err = (<-g.r.requests).Send(transfer.SendSpec{Region: g.r.region})
		must(t, errors.Join(err, back.Wait(t.Context()), back.Drain(t.Context()), ss.Drain(t.Context())))
		if next.calls("Progress") == 0 {
			t.Error("the new backend makes no progress of its own, and was not asked for it")
		}
		if n := g.r.Counters().RepeatedMessages + p.Counters().RepeatedMessages; n != 0 {
			t.Errorf("%d messages came twice", n)
		}
	})
}
