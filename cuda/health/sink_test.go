// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/cuda/gather"
	"github.com/kvxfer/kvxfer/cuda/health"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
)

func got[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// From an Xid to the registry: the device's running gather is in doubt, though
// its stream says that it has ended, and admission is closed.
func TestXidBecomesDoubtOfLocalClaims(t *testing.T) {
	source := got(filepath.Abs("../gather/copy.cu"))(t)
	fake := cudatest.New(t, fmt.Sprintf("FAKE_KERNEL_FILE=%q", source))
	devices := got(cuda.Open(cuda.Options{Library: fake.Path()}))(t).Devices()
	fake.SetMode(cudatest.BySteps)
	sinks := map[string][]health.Sink{}
	var copies []backend.Local
	arena := got(memory.New(memory.Spec{Len: 128}))(t)
	for _, d := range devices {
		ctx := got(d.Primary())(t)
		engine := got(gather.NewGPU(ctx, gather.Config{Method: gather.Kernel}))(t)
		sinks[d.UUID().String()] = []health.Sink{engine}
		from, to := got(ctx.Alloc(64))(t), got(ctx.Alloc(64))(t)
		copies = append(copies, got(engine.Gather(gather.Spec{
			Buffer: gather.Extent{Memory: to, Len: 64}, Blocks: []gather.Extent{{Memory: from, Len: 64}},
		}))(t))
	}

	reg := got(ownership.New(ownership.Config{
		Name: "self", Incarnation: ownership.Incarnation{1}, Contain: func(ownership.Containment) error { return nil },
	}))(t)
	piece := ownership.PieceName{Session: ownership.SessionName{Request: ownership.RequestID{Endpoint: "self", Number: 1}, Attempt: 1}, Piece: "kv"}
	got(0, reg.AddRegion(ownership.RegionSpec{ID: "slot", Addr: uint64(arena.Addr()), Len: 64}))(t)
	got(reg.Admit(0, ownership.SessionSpec{Name: piece.Session, Side: ownership.Send}))(t)
	claims, _, err := reg.AddPiece(0, ownership.PieceSpec{
		Name: piece, Region: "slot", Local: true, Access: ownership.Writes,
		Cohort: []ownership.Member{{Accessor: "peer", Incarnation: ownership.Incarnation{2}, Sequence: 1}},
	})
	got(0, err)(t)
	got(reg.Local(0, claims[1], ownership.LocalStart))(t)
	for _, c := range copies {
		if o := c.Start(); o.Status != backend.Submitted {
			t.Fatal(o)
		}
	}

	xid := &health.Fact{UUID: devices[0].UUID().String(), Kind: health.Xid, Xid: 79, Verdict: health.Doubt, Text: "GPU has fallen off the bus"}
	health.Feed(xid, sinks)
	fake.Step(100) // the streams go on as if nothing were
	o := copies[0].Poll()
	if o.Status != backend.Error || !errors.Is(o.Err, health.ErrUnhealthy) {
		t.Fatalf("copy of the device: %v", o)
	}
	got(reg.Local(0, claims[1], ownership.LocalDoubt))(t)
	if a := reg.Admission(); a != ownership.AdmissionQuarantined {
		t.Errorf("admission is %v", a)
	}
	if err := copies[0].Release(); !errors.Is(err, backend.ErrInFlight) {
		t.Errorf("release: %v", err)
	}
	if o := copies[1].Poll(); o.Status != backend.Done {
		t.Errorf("copy of another device: %v", o)
	}
}
