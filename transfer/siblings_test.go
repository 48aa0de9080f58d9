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
)

// I14: whatever ends a session, and whoever gives its memory back, it stays until the
// other ranks have retired the request; those that live here alone are not held up.
func TestMemoryWaitsForOtherRanks(t *testing.T) {
	inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		retired := map[uint64]chan struct{}{1: make(chan struct{}), 2: make(chan struct{})}
		asked := map[uint64]int{}
		p := g.party("decode-1", func(c *transfer.Config) {
			c.Retired = func(s ownership.SessionName) <-chan struct{} {
				asked[s.Request.Number]++
				return retired[s.Request.Number]
			}
		})
		attach(t, g.s, p)
		ask := func(region string) *transfer.Session {
			s, err := p.Receive(t.Context(), transfer.ReceiveSpec{Region: p.extra(region), From: transfer.FromPeers(sender)})
			must(t, err)
			return s
		}
		first, second, alone := ask("a"), ask("b"), ask("c")
		answer := func(r *transfer.Request) {
			s, err := r.Send(transfer.SendSpec{Region: g.s.region})
			must(t, errors.Join(err, s.Drain(t.Context())))
		}
		for range 3 {
			if r := <-g.s.requests; r.Session() != second.Name() { // that one is not answered
				answer(r)
			}
		}
		must(t, errors.Join(first.Wait(t.Context()), alone.Drain(t.Context())))
		synctest.Wait()
		wantErr(t, first.Close(), ownership.ErrRefused)
		wantText(t, first.Close(), "other ranks")
		if first.Physical() != ownership.PhysicalRetired {
			t.Errorf("%v: nothing stands in the way here", first.Physical())
		}

		soon := func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return ctx
		}
		err := first.Drain(soon())
		wantErr(t, err, context.DeadlineExceeded)
		wantErr(t, err, ownership.ErrRefused)
		err = p.Stop(soon())
		wantErr(t, err, context.DeadlineExceeded)
		wantErr(t, err, ownership.ErrRefused)
		wantText(t, err, "other ranks")
		wantAnswer(t, second, "CANCELLED, cause cancel, origin local")
		_, err = p.Receive(t.Context(), transfer.ReceiveSpec{Region: p.region, From: transfer.FromPeers(sender)})
		wantErr(t, err, ownership.ErrClosed)
		if n := p.Counters().Released; n != 1 {
			t.Errorf("%d released, want the one that lives here alone", n)
		}

		close(retired[2])
		must(t, second.Drain(t.Context()))
		stopped := make(chan error, 1)
		go func() { stopped <- p.Stop(t.Context()) }()
		synctest.Wait()
		if len(stopped) > 0 {
			t.Fatalf("stopped while a rank holds the first: %v", <-stopped)
		}
		close(retired[1])
		must(t, <-stopped)
		if asked[1] != 1 || asked[2] != 1 || asked[3] != 1 {
			t.Errorf("asked %v times", asked)
		}
	})
}

// Stop ends what is ACTIVE at once, also what lives here alone, while it waits for other ranks.
func TestStopEndsWhatLivesHereAlone(t *testing.T) {
	inVirtualTime(t, loop.Config{}, func(t *testing.T, g *rig) {
		retired := make(chan struct{})
		p := g.party("decode-1", func(c *transfer.Config) {
			c.Retired = func(s ownership.SessionName) <-chan struct{} {
				if s.Request.Number == 1 {
					return retired
				}
				return nil
			}
		})
		attach(t, g.s, p)
		for _, region := range []*transfer.Region{p.region, p.extra("more")} {
			_, err := p.Receive(t.Context(), transfer.ReceiveSpec{Region: region, From: transfer.FromPeers(sender)})
			must(t, err)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- p.Stop(t.Context()) }()
		synctest.Wait()
		for _, s := range p.Snapshot().Sessions {
			if s.Outcome != outcome.Cancelled || s.Physical != ownership.PhysicalRetired {
				t.Errorf("%v is %v, %v", s.Name, s.Outcome, s.Physical)
			}
		}
		if n := p.Counters(); n.Sessions != 2 || len(stopped) > 0 {
			t.Errorf("%d sessions, stopped %d times", n.Sessions, len(stopped))
		}
		close(retired)
		must(t, <-stopped)
	})
}

// What was never published is not held: a session whose construction fails leaves nothing.
func TestHalfMadeSessionWaitsForNobody(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		never := make(chan struct{})
		p := g.party("decode-1", func(c *transfer.Config) {
			c.Retired = func(ownership.SessionName) <-chan struct{} { return never }
			c.Owners = 1
		})
		attach(t, g.s, p)
		pieces := []transfer.Piece{{Name: "a", Region: p.region}, {Name: "b", Region: p.extra("more")}}
		_, err := p.Receive(t.Context(), transfer.ReceiveSpec{Pieces: pieces, From: transfer.FromPeers(sender)})
		wantErr(t, err, ownership.ErrCapacity)
		if n := p.Counters(); n.Sessions != 0 || n.Owners != 0 {
			t.Errorf("%+v", n)
		}
	})
}
