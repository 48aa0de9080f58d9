// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
)

// traced is a registry that keeps its steps.
type traced struct {
	*ownership.Registry
	t     *testing.T
	steps []ownership.Step
	seen  int
}

func newTraced(t *testing.T) *traced {
	x := &traced{t: t}
	r, err := ownership.New(ownership.Config{
		Name: "self", Incarnation: ownership.Incarnation{1}, RequestTimeout: 5 * time.Second, Grace: 3 * time.Second,
		Contain: func(ownership.Containment) error { return nil },
		Trace:   func(s ownership.Step) { x.steps = append(x.steps, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	x.Registry = r
	return x
}

// step compares the one step of a call, answer and effects included, with what is wanted.
func (x *traced) step(want ownership.Step, effects ownership.Effects, err error) {
	x.t.Helper()
	want.Err, want.Effects = err, effects
	if n := len(x.steps) - x.seen; n != 1 {
		x.t.Fatalf("%v: %d steps", want.Call, n)
	}
	got := x.steps[x.seen]
	x.seen++
	if len(got.Effects) == 0 && len(want.Effects) == 0 {
		got.Effects, want.Effects = nil, nil
	}
	if !reflect.DeepEqual(got, want) {
		x.t.Errorf("%v:\n%+v\nwant\n%+v", want.Call, got, want)
	}
}

// TestTrace makes each call once, and finds it with its inputs, its answer and its effects.
func TestTrace(t *testing.T) {
	x := newTraced(t)
	peer := ownership.Member{Accessor: "peer", Incarnation: ownership.Incarnation{2}}
	name := ownership.SessionName{Request: ownership.RequestID{Endpoint: "self", Number: 7}, Attempt: 1}
	piece := ownership.PieceName{Session: name, Piece: "kv"}
	type S = ownership.Step
	const at = time.Second
	for _, id := range []string{"A", "B"} {
		x.step(S{Call: ownership.CallAddRegion, Region: id}, nil, x.AddRegion(ownership.RegionSpec{ID: id, Addr: uint64(id[0]) << 12, Len: 8}))
	}

	e, err := x.Admit(at, ownership.SessionSpec{Name: name, Side: ownership.Send, Grace: 2 * time.Second})
	x.step(S{At: at, Call: ownership.CallAdmit, Session: name, Side: ownership.Send, Timeout: 5 * time.Second, Grace: 2 * time.Second}, e, err)
	spec := ownership.PieceSpec{Name: piece, Region: "A", Cohort: []ownership.Member{peer}, Local: true}
	claims, e, err := x.AddPiece(at, spec)
	x.step(S{At: at, Call: ownership.CallAddPieces, Added: []ownership.PieceSpec{spec}, First: 1, Life: ownership.Incarnation{1}}, e, err)
	other := ownership.PieceSpec{Name: ownership.PieceName{Session: name, Piece: "aux"}, Region: "A", Cohort: []ownership.Member{peer}}
	_, e, err = x.AddPieces(at, other)
	x.step(S{At: at, Call: ownership.CallAddPieces, Added: []ownership.PieceSpec{other}, First: 3, Life: ownership.Incarnation{1}}, e, err)
	e, err = x.Requested(at, name, peer)
	x.step(S{At: at, Call: ownership.CallRequested, Session: name, From: peer}, e, err)
	for _, event := range []ownership.LocalEvent{ownership.LocalStart, ownership.LocalDone} {
		e, err = x.Local(at, claims[1], event)
		x.step(S{At: at, Call: ownership.CallLocal, Claim: claims[1], Local: event}, e, err)
	}
	pieces := []ownership.PieceName{piece, other.Name}
	e, err = x.Seal(at, pieces...)
	x.step(S{At: at, Call: ownership.CallSeal, Pieces: pieces}, e, err)
	e, err = x.Finish(at, piece)
	x.step(S{At: at, Call: ownership.CallFinish, Pieces: []ownership.PieceName{piece}}, e, err)
	e, err = x.Complete(at, name)
	x.step(S{At: at, Call: ownership.CallComplete, Session: name}, e, err)
	e, err = x.FailSend(at, other.Name, []ownership.Accessor{"peer"})
	x.step(S{At: at, Call: ownership.CallFailSend, Pieces: []ownership.PieceName{other.Name}, Published: []ownership.Accessor{"peer"}}, e, err)
	e, err = x.Operation(at, ownership.OperationReport{Claim: claims[0], Status: operation.StatusError})
	x.step(S{At: at, Call: ownership.CallOperation, Claim: claims[0], Status: operation.StatusError}, e, err)
	e, err = x.Report(at, ownership.PeerReport{Claim: claims[0], From: "peer", Evidence: ownership.OK})
	x.step(S{At: at, Call: ownership.CallReport, Claim: claims[0], From: ownership.Member{Accessor: "peer"}, Evidence: ownership.OK}, e, err)
	e, err = x.Ack(at, name, peer)
	x.step(S{At: at, Call: ownership.CallAck, Session: name, From: peer}, e, err)
	e, err = x.Gone(at, "peer", peer.Incarnation)
	x.step(S{At: at, Call: ownership.CallGone, From: peer}, e, err)
	e, err = x.Fail(at, name, "why")
	x.step(S{At: at, Call: ownership.CallFail, Session: name, Reason: "why"}, e, err)
	e, err = x.FailPiece(at, piece, "how")
	x.step(S{At: at, Call: ownership.CallFailPiece, Pieces: []ownership.PieceName{piece}, Reason: "how"}, e, err)
	cancel := ownership.CancelSpec{Session: name, Origin: ownership.FromPeer, From: peer, FromSide: ownership.Receive}
	_, e, err = x.Cancel(at, cancel)
	x.step(S{At: at, Call: ownership.CallCancel, Session: name, Origin: ownership.FromPeer, From: peer, Side: ownership.Receive}, e, err)
	out, _ := x.Peek("peer")
	if !x.Delivered("peer", out.Number) {
		t.Fatal("not delivered")
	}
	x.step(S{At: at, Call: ownership.CallDelivered, From: out.To, Number: out.Number}, nil, nil)
	if x.Delivered("peer", out.Number); len(x.steps) != x.seen {
		t.Error("what is not delivered is a step")
	}
	e, err = x.Fence(at, ownership.FenceSpec{Accessor: "peer", Incarnation: peer.Incarnation, Scope: ownership.All})
	x.step(S{At: at, Call: ownership.CallFence, From: peer, Scope: ownership.All}, e, err)
	e, err = x.Reopen(at)
	x.step(S{At: at, Call: ownership.CallReopen}, e, err)
	e, err = x.Watermark(at, "other", 3)
	x.step(S{At: at, Call: ownership.CallWatermark, Endpoint: "other", Number: 3}, e, err)
	e, err = x.Close(at, name)
	x.step(S{At: at, Call: ownership.CallClose, Session: name}, e, err)
	e, err = x.Reuse(at, "A")
	x.step(S{At: at, Call: ownership.CallReuse, Region: "A"}, e, err)
	e, err = x.Deregister(at, "A")
	x.step(S{At: at, Call: ownership.CallDeregister, Region: "A"}, e, err)
	e, err = x.RemoveRegion(at, "A")
	x.step(S{At: at, Call: ownership.CallRemoveRegion, Region: "A"}, e, err)
	e, err = x.Reincarnate(at, ownership.Incarnation{9})
	x.step(S{At: at, Call: ownership.CallReincarnate, Life: ownership.Incarnation{9}}, e, err)
	e, err = x.Tick(at)
	x.step(S{At: at, Call: ownership.CallTick}, e, err)
	e, err = x.Stop(at)
	x.step(S{At: at, Call: ownership.CallStop}, e, err)
	for c := ownership.CallAdmit; c < ownership.CallDeadline; c++ {
		if !slices.ContainsFunc(x.steps, func(s ownership.Step) bool { return s.Call == c }) {
			t.Errorf("no step of %v", c)
		}
	}
}

// TestTraceDeadlines finds what a call noticed in a step of its own, before the call's.
func TestTraceDeadlines(t *testing.T) {
	x := newTraced(t)
	name := ownership.SessionName{Request: ownership.RequestID{Endpoint: "self", Number: 7}, Attempt: 1}
	piece := ownership.PieceName{Session: name, Piece: "kv"}
	if err := x.AddRegion(ownership.RegionSpec{ID: "A", Len: 8}); err != nil {
		t.Fatal(err)
	}
	_, err := x.Admit(0, ownership.SessionSpec{Name: name, Side: ownership.Receive})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = x.AddPiece(0, ownership.PieceSpec{Name: piece, Region: "A", Cohort: []ownership.Member{{Accessor: "peer", Incarnation: ownership.Incarnation{2}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err = x.Seal(0, piece); err != nil {
		t.Fatal(err)
	}
	before := len(x.steps)
	effects, err := x.Finish(6*time.Second, piece) // the request has expired at 5 s
	if err != nil {
		t.Fatal(err)
	}
	steps := x.steps[before:]
	if len(steps) != 2 || steps[0].Call != ownership.CallDeadline || steps[0].At != 6*time.Second || steps[1].Call != ownership.CallFinish {
		t.Fatalf("%+v", steps)
	}
	if got := append(slices.Clone(steps[0].Effects), steps[1].Effects...); !slices.Equal(got, effects) {
		t.Errorf("%v, want %v", got, effects)
	}
	if len(steps[0].Effects) == 0 || len(steps[1].Effects) == 0 {
		t.Errorf("%d effects of the deadline, %d of the call", len(steps[0].Effects), len(steps[1].Effects))
	}
	for _, e := range steps[0].Effects {
		if e.Stamped().At != 5*time.Second {
			t.Errorf("%v at %v", e, e.Stamped().At)
		}
	}
}

// TestTraceFatal: that a grace is over is noticed by the call after it, in a step of its own.
func TestTraceFatal(t *testing.T) {
	x := newTraced(t)
	name := ownership.SessionName{Request: ownership.RequestID{Endpoint: "self", Number: 7}, Attempt: 1}
	piece := ownership.PieceName{Session: name, Piece: "kv"}
	must := func(_ ownership.Effects, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(nil, x.AddRegion(ownership.RegionSpec{ID: "A", Len: 8}))
	must(x.Admit(0, ownership.SessionSpec{Name: name, Side: ownership.Receive}))
	_, e, err := x.AddPiece(0, ownership.PieceSpec{Name: piece, Region: "A", Cohort: []ownership.Member{{Accessor: "peer", Incarnation: ownership.Incarnation{2}}}})
	must(e, err)
	must(x.Seal(0, piece))
	must(x.Fail(0, name, "test"))
	before := len(x.steps)
	must(x.Tick(4 * time.Second))
	steps := x.steps[before:]
	if len(steps) != 2 || steps[0].Call != ownership.CallDeadline || len(steps[0].Effects) != 1 || steps[1].Call != ownership.CallTick {
		t.Fatalf("%+v", steps)
	}
	if f, ok := steps[0].Effects[0].(*ownership.FatalLatched); !ok || f.At != 3*time.Second || f.Containment.Session != name {
		t.Errorf("%v", steps[0].Effects[0])
	}
	before = len(x.steps)
	must(x.Tick(5 * time.Second))
	if steps = x.steps[before:]; len(steps) != 1 || len(steps[0].Effects) != 0 {
		t.Errorf("a second call notices it again: %+v", steps)
	}
}
