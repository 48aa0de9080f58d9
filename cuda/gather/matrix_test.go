// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/cuda/gather"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
)

// slotRegion is a bounce slot as the registry knows it.
type slotRegion struct {
	registry *ownership.Registry
	id       string
}

func (r slotRegion) Reuse() error {
	_, err := r.registry.Reuse(0, r.id)
	return err
}

// world is one piece whose region is a bounce slot, with a copy between the
// slot and blocks of the device, and one peer.
type world struct {
	t      *testing.T
	rig    *rig
	reg    *ownership.Registry
	side   ownership.Side
	piece  ownership.PieceName
	peer   ownership.ClaimName
	local  ownership.ClaimName
	blocks *cuda.Memory
	lease  *gather.Lease
	copy   backend.Local
}

func newWorld(t *testing.T, side ownership.Side, method gather.Method) *world {
	t.Helper()
	w := &world{t: t, rig: newRig(t, gather.Config{Method: method}), side: side}
	w.rig.SetMode(cudatest.BySteps)
	w.reg = got(ownership.New(ownership.Config{
		Name: "self", Incarnation: ownership.Incarnation{1}, Quarantine: ownership.QuarantineOff,
		Contain: func(ownership.Containment) error { t.Error("FATAL"); return nil },
	}))(t)
	slots := w.rig.host(t, 4096)
	bounce := got(gather.NewBounce(slots, 4096, func(i int, e gather.Extent) (gather.Region, error) {
		spec := ownership.RegionSpec{ID: "slot", Addr: uint64(e.Memory.Addr()) + uint64(e.Offset), Len: uint64(e.Len)}
		return slotRegion{w.reg, "slot"}, w.reg.AddRegion(spec)
	}))(t)
	w.lease = got(bounce.Lease())(t)
	w.blocks = w.rig.device(t, 8192)
	blocks, total := every(w.blocks, 512)
	spec := gather.Spec{Buffer: got(w.lease.Buffer(total))(t), Blocks: blocks}
	build, access := w.rig.engine.Gather, ownership.Writes
	if side == ownership.Receive {
		build = w.rig.engine.Scatter
	}
	w.copy = got(build(spec))(t)
	session := ownership.SessionName{Request: ownership.RequestID{Endpoint: "self", Number: 1}, Attempt: 1}
	w.does(w.reg.Admit(0, ownership.SessionSpec{Name: session, Side: side}))
	w.piece = ownership.PieceName{Session: session, Piece: "kv"}
	member := ownership.Member{Accessor: "peer", Incarnation: ownership.Incarnation{2}}
	if side == ownership.Send {
		member.Sequence = 7
	}
	claims, effects, err := w.reg.AddPiece(0, ownership.PieceSpec{
		Name: w.piece, Region: "slot", Cohort: []ownership.Member{member}, Local: true, Access: access,
	})
	w.does(effects, err)
	w.peer, w.local = claims[0], claims[1]
	return w
}

func (w *world) does(_ ownership.Effects, err error) {
	w.t.Helper()
	ok(w.t, err)
}

// offer gives the registry what the copy says of itself, as transfer does.
func (w *world) offer(o backend.Observation) {
	w.t.Helper()
	switch o.Status {
	case backend.Done:
		w.does(w.reg.Local(0, w.local, ownership.LocalDone))
	case backend.Error:
		w.does(w.reg.Local(0, w.local, ownership.LocalDoubt))
	}
}

func (w *world) operation(list ...operation.Status) {
	w.t.Helper()
	for _, s := range list {
		w.does(w.reg.Operation(0, ownership.OperationReport{Claim: w.peer, Status: s}))
	}
}

// step does one thing of the tables below.
func (w *world) step(verb string) {
	w.t.Helper()
	report := func(e ownership.Evidence) {
		w.does(w.reg.Report(0, ownership.PeerReport{Claim: w.peer, From: "peer", Evidence: e}))
	}
	switch verb {
	case "start":
		w.does(w.reg.Local(0, w.local, ownership.LocalStart))
		w.offer(w.copy.Start())
	case "device works":
		w.rig.Step(100)
	case "poll":
		w.offer(w.copy.Poll())
	case "device faults":
		w.rig.Stick(0, int(cuda.ErrorIllegalAddress))
	case "device answers again":
		w.rig.Stick(0, 0)
		w.rig.Step(100)
	case "seal":
		w.does(w.reg.Seal(0, w.piece))
		if w.side == ownership.Send {
			w.operation(operation.StatusSubmitting, operation.StatusSubmitted)
		}
		w.does(w.reg.Finish(0, w.piece))
	case "peer done":
		if w.side == ownership.Send {
			w.operation(operation.StatusDone)
		} else {
			report(ownership.OK)
		}
	case "peer in doubt":
		if w.side == ownership.Send {
			w.operation(operation.StatusError)
		} else {
			report(ownership.InDoubt)
		}
	case "peer proves":
		if w.side == ownership.Send {
			w.operation(operation.StatusDone)
		} else {
			report(ownership.FailedQuiesced)
		}
	case "cancel":
		_, effects, err := w.reg.Cancel(0, ownership.CancelSpec{Session: w.piece.Session, Origin: ownership.FromLocal})
		w.does(effects, err)
	case "complete":
		w.does(w.reg.Complete(0, w.piece.Session))
	case "close":
		w.does(w.reg.Close(0, w.piece.Session))
	case "close is refused":
		if _, err := w.reg.Close(0, w.piece.Session); !errors.Is(err, ownership.ErrRefused) {
			w.t.Fatalf("close: %v", err)
		}
	case "fence local":
		w.does(w.reg.Fence(0, ownership.FenceSpec{Accessor: ownership.Local, Scope: ownership.Own}))
	default:
		w.t.Fatalf("unknown step %q", verb)
	}
}

// back tells what can be given to somebody else now: the blocks, whose copy
// lets go of them, and the slot, whose owner says so.
func (w *world) back() string {
	var list []string
	if w.copy.Release() == nil {
		list = append(list, "blocks")
	}
	if err := w.lease.Return(); err == nil || errors.Is(err, gather.ErrReturned) {
		list = append(list, "slot")
	}
	return strings.Join(list, " ")
}

type row struct{ verb, back string }

// The retirement matrix of contract section 4: the source returns after the
// gather, the bounce slot after the transfer, the destination after the
// scatter; and what a cancel, a doubt and a fence make of it.
var matrix = []struct {
	name string
	side ownership.Side
	rows []row
}{
	{"send, end not seen", ownership.Send, []row{
		{"start", ""}, {"poll", ""}, {"device works", ""}, {"poll", "blocks"},
	}},
	{"send", ownership.Send, []row{
		{"start", ""}, {"device works", "-"}, {"poll", "blocks"}, {"seal", "blocks"}, {"peer done", "blocks"},
		{"complete", "blocks"}, {"close", "blocks slot"},
	}},
	{"send, peer in doubt", ownership.Send, []row{
		{"start", ""}, {"device works", "-"}, {"poll", "blocks"}, {"seal", "blocks"}, {"peer in doubt", "blocks"},
		{"close is refused", "blocks"}, {"peer proves", "blocks"}, {"close", "blocks slot"},
	}},
	{"send, cancelled before the gather", ownership.Send, []row{
		{"cancel", "blocks"}, {"close", "blocks slot"},
	}},
	{"send, cancelled during the gather", ownership.Send, []row{
		{"start", ""}, {"cancel", ""}, {"close is refused", ""}, {"device works", "-"}, {"poll", "blocks"}, {"close", "blocks slot"},
	}},
	{"send, gather in doubt", ownership.Send, []row{
		{"start", ""}, {"device faults", "-"}, {"poll", ""}, {"close is refused", ""}, {"device answers again", ""},
		{"poll", ""}, {"close is refused", ""}, {"fence local", ""}, {"close", "slot"},
	}},
	{"receive", ownership.Receive, []row{
		{"seal", "-"}, {"peer done", "-"}, {"start", ""}, {"poll", ""}, {"device works", "-"}, {"poll", "blocks"},
		{"complete", "blocks"}, {"close", "blocks slot"},
	}},
	{"receive, writer in doubt", ownership.Receive, []row{
		{"seal", "-"}, {"peer in doubt", "blocks"}, {"close is refused", "blocks"}, {"peer proves", "blocks"}, {"close", "blocks slot"},
	}},
	{"receive, cancelled while a peer writes", ownership.Receive, []row{
		{"seal", "-"}, {"cancel", "blocks"}, {"close is refused", "blocks"}, {"peer done", "blocks"}, {"close", "blocks slot"},
	}},
	{"receive, cancelled during the scatter", ownership.Receive, []row{
		{"seal", "-"}, {"peer done", "-"}, {"start", ""}, {"cancel", ""}, {"close is refused", ""}, {"device works", "-"},
		{"poll", "blocks"}, {"close", "blocks slot"},
	}},
	{"receive, scatter in doubt", ownership.Receive, []row{
		{"seal", "-"}, {"peer done", "-"}, {"start", ""}, {"device faults", "-"}, {"poll", ""}, {"close is refused", ""},
		{"device answers again", ""}, {"poll", ""}, {"fence local", ""}, {"close", "slot"},
	}},
}

// TestRetirementMatrix asks after every step what can be given to somebody
// else. "-" is a step after which nobody asks, because to ask may change it.
func TestRetirementMatrix(t *testing.T) {
	for _, m := range matrix {
		for _, method := range []gather.Method{gather.Kernel, gather.CopyEngine} {
			t.Run(m.name+" "+method.String(), func(t *testing.T) {
				w := newWorld(t, m.side, method)
				for i, r := range m.rows {
					w.step(r.verb)
					if r.back == "-" {
						continue
					}
					if got := w.back(); got != r.back {
						t.Fatalf("step %d, %s: %q may go, want %q", i, r.verb, got, r.back)
					}
				}
			})
		}
	}
}

// A scatter starts only when every writer has delivered, a seal only when the
// gather is proven.
func TestLocalClaimIsAGate(t *testing.T) {
	w := newWorld(t, ownership.Receive, gather.Kernel)
	w.step("seal")
	if _, err := w.reg.Local(0, w.local, ownership.LocalStart); !errors.Is(err, ownership.ErrReject) {
		t.Errorf("scatter before the writer is done: %v", err)
	}
	w = newWorld(t, ownership.Send, gather.Kernel)
	w.step("start")
	if _, err := w.reg.Seal(0, w.piece); !errors.Is(err, ownership.ErrReject) {
		t.Errorf("seal before the gather is done: %v", err)
	}
}
