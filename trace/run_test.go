// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/trace"
	"github.com/kvxfer/kvxfer/transfer"
)

// end is an endpoint with a trace, and a pool of its own.
type end struct {
	*transfer.Endpoint
	out    bytes.Buffer
	w      *trace.Writer
	arena  *memory.Arena
	region *transfer.Region
}

func newEnd(t *rapid.T, fabric *loop.Fabric, name string) *end {
	e := &end{}
	life := ownership.NewIncarnation()
	var err error
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	e.w, err = trace.NewWriter(&e.out, name, life, time.Now())
	must(err)
	agent, err := fabric.Agent(name)
	must(err)
	e.Endpoint, err = transfer.New(transfer.Config{
		Name: name, Incarnation: life, Backend: agent, Trace: e.w.Step, Quarantine: ownership.QuarantineOff,
		OperationWait: 20 * time.Millisecond, Contain: func(ownership.Containment) error { return nil },
	})
	must(err)
	e.arena, err = memory.New(memory.Spec{Len: 1 << 14})
	must(err)
	e.region, err = e.Register("pool", e.arena)
	must(err)
	return e
}

// TestRandomRunsPass moves data between two endpoints, and cancels, stalls and fails
// at random: the traces of both sides always pass, alone and together.
func TestRandomRunsPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fabric := loop.New(loop.Config{Auto: true, BytesPerTick: rapid.SampledFrom([]int64{1 << 8, 1 << 12, 1 << 16}).Draw(t, "speed")})
		prefill, decode := newEnd(t, fabric, "prefill"), newEnd(t, fabric, "decode")
		attach(t, prefill, decode)
		prefill.OnRequest(func(r *transfer.Request) { _, _ = r.Send(transfer.SendSpec{Region: prefill.region}) }) // one that is cancelled first cannot
		steps := rapid.IntRange(1, 4).Draw(t, "transfers")
		for range steps {
			oneTransfer(t, fabric, decode)
		}
		joint := trace.NewJoint()
		for _, e := range []*end{decode, prefill} {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			err := e.Stop(ctx)
			cancel()
			totals := e.Snapshot().Counters
			if err != nil {
				t.Errorf("%s: %v", e.Name(), err)
				e.Halt()
			}
			if err := e.w.Close(totals); err != nil {
				t.Fatal(err)
			}
			r, err := trace.Check(e.Name(), joint.Add(e.Name(), trace.NewReader(&e.out)))
			if err != nil {
				t.Fatal(err)
			}
			if r.Found() > 0 || !r.Ended {
				t.Fatalf("%s: %+v", e.Name(), r.Findings)
			}
		}
		if r := joint.Judge(); r.Found() > 0 || r.Unknown > 0 || len(r.NotJudged) > 0 || r.Messages == 0 {
			t.Fatalf("together: %+v", r)
		}
	})
}

func attach(t *rapid.T, a, b *end) {
	one, other := transfer.Pipe()
	attached := make(chan error)
	go func() { _, err := a.Attach(context.Background(), one); attached <- err }()
	_, err := b.Attach(context.Background(), other)
	if err := errors.Join(err, <-attached); err != nil {
		t.Fatal(err)
	}
}

// oneTransfer asks for data, does something to it, and drains.
func oneTransfer(t *rapid.T, fabric *loop.Fabric, decode *end) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := decode.Receive(ctx, transfer.ReceiveSpec{Region: decode.region, From: transfer.FromPeers("prefill")})
	if err != nil {
		t.Fatal(err)
	}
	switch rapid.SampledFrom([]string{"nothing", "cancel", "stall", "fail"}).Draw(t, "what") {
	case "cancel":
		s.Cancel()
	case "stall":
		if err := fabric.Stall("decode"); err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "until it is over") { // by a doubt, where it was in flight
			_ = s.Wait(ctx)
		}
		if err := fabric.Continue("decode"); err != nil {
			t.Fatal(err)
		}
	case "fail":
		_ = s.Fail("the caller says so")
	}
	_ = s.Wait(ctx) // its outcome is its own matter
	if err := s.Drain(ctx); err != nil {
		t.Fatal(err)
	}
}
