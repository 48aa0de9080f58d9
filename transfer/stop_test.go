// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Stop refuses, with a list, while anything may be touched; it cancels what is
// ACTIVE, and releases everything once the proof has come.
func TestStopRefusesUntilProven(t *testing.T) {
	within(t, 2*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		must(t, g.fabric.Stall(receiver))
		rs, ss := g.begin()
		synctest.Wait() // posted: before that a stop would win
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := g.s.Stop(ctx)
		wantErr(t, err, ownership.ErrRefused)
		wantErr(t, err, context.DeadlineExceeded)
		var refused *ownership.Error
		if !errors.As(err, &refused) || len(refused.Retained) == 0 || refused.Retained[0].Accessor != receiver {
			t.Errorf("the refusal lists %+v, want the claim of %s", refused, receiver)
		}
		if s := err.Error(); !strings.Contains(s, "pool") || strings.Contains(s, "\n") {
			t.Errorf("the refusal %q does not name the region in one line", s)
		}
		wantAnswer(t, ss, "CANCELLED, cause shutdown, origin local")
		wantErr(t, g.s.region.Deregister(), ownership.ErrRefused)
		_, err = g.s.Receive(t.Context(), transfer.ReceiveSpec{Region: g.s.region, From: transfer.FromPeers(receiver)})
		wantErr(t, err, ownership.ErrClosed)

		must(t, g.fabric.Continue(receiver))
		must(t, g.s.Stop(t.Context()))
		<-ss.Released()
		if _, err := g.s.agent.Metadata(); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("the backend is not closed: %v", err)
		}
		must(t, g.s.Stop(t.Context())) // again is fine
		must(t, rs.Drain(t.Context()))
		wantAnswer(t, rs, "CANCELLED, cause cancel, origin peer")
	})
}

// An agent that was destroyed before, whose end was the proof, has nothing left to be
// deregistered.
func TestStopAfterTheAgentWasDestroyed(t *testing.T) {
	within(t, 3*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		must(t, g.fabric.Stall(receiver))
		_, ss := g.begin()
		g.s.extra("more")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, g.s.Stop(ctx), ownership.ErrRefused)
		must(t, g.s.agent.Fence())
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, g.s.Stop(ctx), ownership.ErrRefused) // of itself it proves nothing to the core
		must(t, g.s.Fence(ownership.FenceSpec{Accessor: receiver, Scope: ownership.Own}))
		must(t, g.r.Fence(ownership.FenceSpec{Accessor: sender, Scope: ownership.All}))
		must(t, g.s.Stop(t.Context()))
		<-ss.Released()
		must(t, g.s.arena.Close())
		must(t, g.s.Stop(t.Context())) // again is fine
	})
}

// The backend keeps an operation that answered an error, whatever was proven since: its
// agent is destroyed, and Stop succeeds.
func TestStopAfterTheFenceOfADeadPeer(t *testing.T) {
	within(t, 3*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		must(t, g.fabric.Stall(receiver))
		_, ss := g.begin()
		synctest.Wait()
		must(t, g.fabric.Kill(receiver, 0))
		time.Sleep(time.Second)
		g.s.expect("doubt: PUBLISHED -> IN_DOUBT")
		g.r.Halt()
		g.r.keepOwning = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, g.s.Stop(ctx), ownership.ErrRefused)
		must(t, g.s.Fence(ownership.FenceSpec{Accessor: receiver, Scope: ownership.All}))
		must(t, g.s.Stop(t.Context()))
		<-ss.Released()
		if _, err := g.s.agent.Metadata(); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("the agent lives: %v", err)
		}
	})
}

// A peer that has stopped in good order needs no more reports.
func TestStopDoesNotWaitForAPeerThatSaidGoodbye(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, ss := g.begin()
		must(t, rs.Wait(t.Context()))
		must(t, g.r.Stop(t.Context()))
		must(t, ss.Fail("no matter")) // it has SUCCEEDED; nothing changes
		must(t, g.s.Stop(t.Context()))
		<-ss.Released()
	})
}

// tardy is a stream whose carrier takes what it is given at once, needs time to
// bring it over, and forgets the rest when it is closed.
type tardy struct {
	transfer.Stream
	queue  chan wire.Message
	closed chan struct{}
	once   sync.Once
}

func newTardy(s transfer.Stream, delay time.Duration) *tardy {
	c := &tardy{Stream: s, queue: make(chan wire.Message, 100), closed: make(chan struct{})}
	go func() {
		for {
			select {
			case m := <-c.queue:
				select {
				case <-time.After(delay):
					_ = c.Stream.Send(context.Background(), m)
				case <-c.closed:
					return
				}
			case <-c.closed:
				return
			}
		}
	}()
	return c
}

func (c *tardy) Send(_ context.Context, m wire.Message) error {
	c.queue <- m
	return nil
}

func (c *tardy) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Stream.Close()
}

// What was handed to the carrier before Stop arrives, although the carrier ends
// with the endpoint: the peer's own Stop needs it.
func TestStopLetsTheLastMessagesArrive(t *testing.T) {
	within(t, time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		sa, sb := transfer.Pipe()
		attachOver(t, g.s, g.r, sa, newTardy(sb, 50*time.Millisecond))
		rs, ss := g.begin()
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		must(t, g.r.Stop(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		must(t, g.s.Stop(ctx))
	})
}

// A report that nobody confirms keeps Stop, and nothing else, waiting.
func TestStopWaitsForReceipts(t *testing.T) {
	within(t, 2*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		g.s.keepOwning = true
		sa, sb := transfer.Pipe()
		attachOver(t, g.s, g.r, &lossy{Stream: sa, left: 3}, sb)
		_, ss := g.begin()
		must(t, ss.Wait(t.Context()))
		must(t, ss.Drain(t.Context()))
		must(t, g.s.region.Reuse())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := g.s.Stop(ctx)
		wantErr(t, err, transfer.ErrUnacknowledged)
		if !strings.Contains(err.Error(), receiver) {
			t.Errorf("%q does not name the peer", err)
		}
		g.r.keepOwning = true
		must(t, g.s.Fence(ownership.FenceSpec{Accessor: receiver, Scope: ownership.All}))
		must(t, g.s.Stop(t.Context()))
	})
}

func TestHaltGivesNothingBack(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		g.s.keepOwning, g.r.keepOwning = true, true
		ls, _ := attach(t, g.s, g.r)
		_, ss := g.begin()
		g.s.Halt()
		wantErr(t, ls.Err(), transfer.ErrHalted)
		wantErr(t, g.s.region.Reuse(), ownership.ErrRefused)
		wantErr(t, ss.Close(), ownership.ErrRefused)
		sa, _ := transfer.Pipe()
		if _, err := g.s.Attach(t.Context(), sa); err == nil {
			t.Error("a halted endpoint attached a stream")
		}
		g.s.Halt()
	})
}
