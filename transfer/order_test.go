// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
)

// Two goroutines get the effects of two calls and deliver them in the other
// order: the one that ended a session after the one that closed it.
func TestSessionThatIsClosedBeforeItsEndIsTold(t *testing.T) {
	agent, err := loop.New(loop.Config{}).Agent("decode-0")
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Config{Name: "decode-0", Backend: agent, Contain: func(ownership.Containment) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	peer := ownership.Member{Accessor: "prefill-0", Incarnation: ownership.NewIncarnation()}
	piece := ownership.PieceName{Session: e.sessionName(ownership.SessionName{}), Piece: DefaultPiece}
	s, err := e.adopt(piece.Session, ownership.Receive, backend.Write)
	if err != nil {
		t.Fatal(err)
	}
	var late ownership.Effects
	keep := func(effects ownership.Effects, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		late = append(late, effects...)
	}
	r := e.registry
	keep(nil, r.AddRegion(ownership.RegionSpec{ID: "A"}))
	keep(r.Admit(e.now(), ownership.SessionSpec{Name: piece.Session, Side: ownership.Receive}))
	claims, effects, err := r.AddPiece(e.now(), ownership.PieceSpec{Name: piece, Region: "A", Cohort: []ownership.Member{peer}})
	keep(effects, err)
	effects, err = r.Seal(e.now(), piece)
	keep(nil, err)
	e.apply(effects)
	if n := e.poller.passive.Load(); n != 1 {
		t.Fatalf("%d claims are exposed, want 1", n)
	}
	keep(r.Finish(e.now(), piece))
	keep(r.Report(e.now(), ownership.PeerReport{Claim: claims[0], From: peer.Accessor, Evidence: ownership.Failed}))
	if !slices.ContainsFunc(late, func(f ownership.Effect) bool { _, ended := f.(*ownership.SessionEnded); return ended }) {
		t.Fatalf("nothing ended the session: %v", late)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	e.apply(late)
	var failed *OutcomeError
	if err := s.Wait(t.Context()); !errors.As(err, &failed) || failed.Answer.Cause != ownership.CauseFailed {
		t.Errorf("got %v", err)
	}
	if n := e.poller.passive.Load(); n != 0 {
		t.Errorf("%d claims of a closed session are exposed", n)
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
