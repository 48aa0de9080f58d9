// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

func notify(c *transfer.Config) { c.Notify = true }

// The backend lost the handle, the data arrived all the same: the target's own
// notification frees it there, and by CONFIRMED at the sender, in both directions.
// Without it only a fence could.
func TestNotificationSettlesWhatTheHandleLost(t *testing.T) {
	for name, test := range map[string]struct {
		read, dropped bool
		fault         loop.Fault
	}{
		"write":           {fault: loop.Fault{Status: backend.Lost, After: size / 2, Late: loop.Rest}},
		"read":            {read: true, fault: loop.Fault{Status: backend.Lost, After: size / 2, Late: loop.Rest}},
		"error":           {fault: loop.Fault{Status: backend.Error, After: size / 2, Late: loop.Rest}},
		"it is lost":      {dropped: true, fault: loop.Fault{Status: backend.Lost, After: size / 2, Late: loop.Rest, DropNotification: true}},
		"it never landed": {dropped: true, fault: loop.Fault{Status: backend.Lost, After: size / 2}},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, 2*time.Second, loop.Config{Auto: true, BytesPerTick: 1024}, func(t *testing.T, g *rig) {
				s, r := g.party("prefill-1", notify), g.party("decode-1", notify)
				attach(t, s, r)
				must(t, g.fabric.Inject("prefill-1", test.fault))
				rs, ss := g.exchange(s, r, test.read)
				<-ss.Done()
				wantAnswer(t, ss, "FAILED, cause doubt, origin local")
				time.Sleep(time.Second)
				synctest.Wait()
				if test.dropped {
					wantPhysical(t, ss, ownership.PhysicalInDoubt)
					wantPhysical(t, rs, ownership.PhysicalInDoubt)
					must(t, errors.Join(s.Fence(ownership.FenceSpec{Accessor: "decode-1", Scope: ownership.Own}),
						r.Fence(ownership.FenceSpec{Accessor: "prefill-1", Scope: ownership.Passive})))
				} else {
					for _, side := range []struct {
						p     *party
						learn string
					}{{r, "its end was notified"}, {s, "its target saw it end"}} { // before or after the doubt
						side.p.expect(side.learn, "settle: IN_DOUBT -> FAILED_QUIESCED")
						side.p.expect("-> IN_DOUBT", "settle: IN_DOUBT -> FAILED_QUIESCED")
					}
				}
				must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context()), s.Reopen(), r.Reopen()))
			})
		})
	}
}

// exchange moves one region's worth between two parties, and returns both sessions.
func (g *rig) exchange(s, r *party, read bool) (rs, ss *transfer.Session) {
	g.t.Helper()
	var err, answer error
	if read {
		rs, err = r.Offer(g.t.Context(), transfer.OfferSpec{Region: r.region, To: transfer.ToPeers(s.Name())})
		must(g.t, err)
		ss, answer = (<-s.requests).Fetch(transfer.FetchSpec{Region: s.region})
	} else {
		rs, err = r.Receive(g.t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers(s.Name())})
		must(g.t, err)
		ss, answer = (<-s.requests).Send(transfer.SendSpec{Region: s.region})
	}
	must(g.t, answer)
	return rs, ss
}

// A notification is no result: the stream's RESULT makes the answer, whichever comes
// first, and one that is not ours, or a forged CONFIRMED, changes nothing.
func TestNotificationIsNoResult(t *testing.T) {
	within(t, 2*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		s, r := g.party("prefill-1", notify), g.party("decode-1", notify)
		attach(t, s, r)
		release, err := g.fabric.Hold("prefill-1", loop.CallPoll) // the sender learns of nothing
		must(t, err)
		rs, ss := g.exchange(s, r, false)
		time.Sleep(time.Second)
		synctest.Wait()
		wantAnswer(t, rs, "ACTIVE")
		if n := g.fabric.Stats().Bytes; n != size {
			t.Fatalf("%d bytes moved, want all of them", n)
		}
		release()
		must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		if n := r.Counters(); n.ForeignNotifications != 0 || n.Conflicts != 0 || n.Duplicates != 0 {
			t.Errorf("foreign %d, conflicts %d, duplicates %d", n.ForeignNotifications, n.Conflicts, n.Duplicates)
		}
	})
}

// Notifications of others, and CONFIRMED for memory of others, are counted and dropped.
func TestForeignNotificationsAndConfirmations(t *testing.T) {
	atOnce(t, loop.Config{BytesPerTick: size / 4}, func(t *testing.T, g *rig) {
		s, r := g.party("prefill-1", notify), g.party("decode-1", notify)
		attach(t, s, r)
		stranger := rawPeer(t, s, "stranger", 9)
		rs, ss := g.exchange(s, r, false)
		synctest.Wait()
		state, _ := rs.State()
		name := state.Pieces[0].Claims[0].Name
		claim := wire.ClaimName{
			Owner: wire.Incarnation(name.Owner), Piece: name.Piece.Piece, Accessor: string(name.Accessor), Incarnation: wire.Incarnation(name.Incarnation),
			Session: wire.SessionName{Request: wire.RequestID(name.Piece.Session.Request), Attempt: 1}, Sequence: name.Sequence,
		}
		stranger.send(wire.Confirmed{Seq: 1, Claim: claim})
		synctest.Wait()
		if n := s.Counters().ForeignMessages; n != 1 {
			t.Errorf("%d foreign messages, want the stranger's word about another's memory", n)
		}
		wantPhysical(t, ss, ownership.PhysicalDraining)
		go stranger.readAll()
		g.fabric.Advance(4)
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		stranger.send(wire.Goodbye{})
	})
}
