// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// Who asks for more than there is room for hears of it at once, and has its memory back;
// what it asked for before goes on, and another attempt finds the room that there is then.
func TestRequestWithoutRoomIsDeclined(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		s := g.party("prefill-1", func(c *transfer.Config) { c.PeerRequests = 1 })
		attach(t, s, g.r)
		first, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-1")})
		must(t, err)
		var spec transfer.ReceiveSpec
		for range 3 {
			spec = transfer.ReceiveSpec{Region: g.r.extra("more"), From: transfer.FromPeers("prefill-1")}
			second, err := g.r.Receive(t.Context(), spec)
			must(t, errors.Join(err, second.Drain(t.Context())))
			wantAnswer(t, second, "CANCELLED, cause cancel, origin peer")
			must(t, errors.Join(spec.Region.Reuse(), spec.Region.Deregister()))
		}
		request := <-s.requests
		if n := s.Counters().RequestsTurnedAway; n != 3 || len(s.requests) > 0 {
			t.Errorf("%d requests turned away, want 3; %d handed over", n, len(s.requests))
		}
		session, err := request.Send(transfer.SendSpec{Region: s.region})
		must(t, errors.Join(err, first.Wait(t.Context()), first.Drain(t.Context()), session.Drain(t.Context())))
		again, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.extra("more"), From: transfer.FromPeers("prefill-1")})
		must(t, err)
		session, err = (<-s.requests).Send(transfer.SendSpec{Region: s.region})
		must(t, errors.Join(err, again.Wait(t.Context()), again.Drain(t.Context()), session.Drain(t.Context())))
		synctest.Wait()
		if told := s.count("turned away for want of room"); told != 2 { // not of the third
			t.Errorf("told %d times", told)
		}
	})
}

// An endpoint that has ended registers nothing, and says so.
func TestRegisterAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *party){
		"stop": func(t *testing.T, p *party) { must(t, p.Stop(t.Context())) },
		"halt": func(_ *testing.T, p *party) { p.keepOwning = true; p.Halt() },
	} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
				p := g.party("decode-1")
				end(t, p)
				arena, err := memory.New(memory.Spec{Len: 4096})
				must(t, err)
				_, err = p.Register("late", arena)
				wantErr(t, err, transfer.ErrHalted)
				if errors.Is(err, transfer.ErrReincarnated) || errors.Is(err, ownership.ErrClosed) {
					t.Errorf("%v says something else too", err)
				}
				must(t, arena.Close()) // nobody holds it
				if n := len(p.Snapshot().Regions); n > 1 {
					t.Errorf("%d regions", n)
				}
			})
		})
	}
}
