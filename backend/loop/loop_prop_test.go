// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/backend"
)

// drawFault draws any fault that Inject accepts.
func drawFault(t *rapid.T) Fault {
	statuses := []backend.Status{0, 0, backend.NotSubmitted, backend.Error, backend.NotFound, backend.Replaced, backend.Lost}
	f := Fault{Status: rapid.SampledFrom(statuses).Draw(t, "status"), DropNotification: rapid.Bool().Draw(t, "drop")}
	if f.Status != 0 && f.Status != backend.NotSubmitted {
		f.After = rapid.Int64Range(0, size+10).Draw(t, "after")
		f.Late = rapid.OneOf(rapid.Int64Range(0, size), rapid.Just(int64(Rest))).Draw(t, "late")
		f.Buffered = rapid.Bool().Draw(t, "buffered")
		f.Delay = rapid.IntRange(0, 3).Draw(t, "delay")
		f.Transient = rapid.Bool().Draw(t, "transient")
	}
	return f
}

// check is a testing.TB whose failures and cleanups belong to one draw of rapid.
type check struct {
	testing.TB
	draw *rapid.T
}

func (c check) Cleanup(f func())            { c.draw.Cleanup(f) }
func (c check) Fatal(args ...any)           { c.draw.Fatal(args...) }
func (c check) Fatalf(f string, arg ...any) { c.draw.Fatalf(f, arg...) }

// checkPromises runs one operation under a random fault and random peer
// trouble, and holds the answers against the bytes: Done only with all of them
// in place and none to come, NotSubmitted only with none ever, a notification
// only behind all of them, Release only on proof.
func checkPromises(t *rapid.T, outer testing.TB) {
	tb := check{outer, t}
	config := Config{BytesPerTick: rapid.Int64Range(0, 5000).Draw(t, "rate"), PassiveProgress: rapid.Bool().Draw(t, "passive")}
	r := newRig(tb, config)
	direction := rapid.SampledFrom([]backend.Direction{backend.Write, backend.Read}).Draw(t, "direction")
	r.must(r.fabric.Inject("a", drawFault(t)))
	to, fresh := r.b, byte('a')
	if direction == backend.Read {
		to, fresh = r.a, 'b'
	}
	op := r.prepare(direction)
	last := op.Post().Status
	landed := func() int { return to.count(fresh) }

	step := func() { r.fabric.Step(); _, _ = r.a.Progress() }
	holds := func() {
		notes, _ := r.b.Progress()
		if n := len(notes); n > 1 || n == 1 && landed() != size {
			t.Fatalf("%d notifications behind %d bytes", n, landed())
		}
		proof := last == backend.Done || last == backend.NotSubmitted
		if last == backend.Done && landed() != size || last == backend.NotSubmitted && landed() != 0 {
			t.Fatalf("%v with %d of %d bytes", last, landed(), size)
		}
		if err := r.a.Close(); (err == nil) != proof {
			t.Fatalf("%v: Close: %v", last, err)
		}
	}
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		if last == backend.Done || last == backend.NotSubmitted {
			break
		}
		trouble := rapid.IntRange(0, 19).Draw(t, "trouble")
		switch inSocket := int64(rapid.IntRange(0, 3000).Draw(t, "socket")); trouble {
		case 0:
			_ = r.fabric.Stall("b")
		case 1, 2, 3:
			_ = r.fabric.Continue("b")
		case 4:
			_ = r.fabric.Kill("b", inSocket)
		case 5:
			_ = r.fabric.Break("a", "b", inSocket)
		default:
			step()
		}
		var out [1]backend.Observation
		r.a.Poll([]backend.Operation{op}, out[:])
		last = out[0].Status
		holds()
	}
	if last == backend.Done || last == backend.NotSubmitted {
		holds() // closes a: it was proof
		to.fill('z')
		for range 50 {
			step()
			_, _ = r.b.Progress()
		}
		if to.count('z') != size {
			t.Fatalf("%d bytes landed after %v", size-to.count('z'), last)
		}
	}
}

func TestPromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { checkPromises(rt, t) })
}

// TestDeterminism runs one eventful script twice and compares every answer.
func TestDeterminism(t *testing.T) {
	script := func() string {
		var log bytes.Buffer
		r := newRig(t, Config{BytesPerTick: 700})
		r.must(r.fabric.Inject("a", Fault{Status: backend.Error, After: 3000, Late: 2000, Delay: 2}))
		r.must(r.fabric.Inject("a", Fault{Status: backend.Lost, After: 100, Late: Rest, DropNotification: true}))
		ops := []backend.Operation{r.prepare(backend.Write), r.prepare(backend.Read), r.prepare(backend.Write)}
		for _, op := range ops {
			fmt.Fprintln(&log, op.Post())
		}
		out := make([]backend.Observation, len(ops))
		for i := range 30 {
			switch i {
			case 5:
				r.must(r.fabric.Stall("b"))
			case 9:
				r.must(r.fabric.Continue("b"))
			case 14:
				r.must(r.fabric.Break("a", "b", 300))
			}
			r.fabric.Step()
			r.a.Poll(ops, out)
			notes, err := r.b.Progress()
			fmt.Fprintln(&log, i, out, notes, err, r.a.count('b'), r.b.count('a'), r.fabric.Stats())
		}
		return log.String()
	}
	first := script()
	if second := script(); first != second {
		t.Errorf("first run:\n%s\nsecond run:\n%s", first, second)
	}
}

func FuzzConnect(f *testing.F) {
	r := newRig(f, Config{})
	whole, err := r.b.Metadata()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, false)
	f.Add(whole[:40], false)
	f.Add([]byte("{\"Name\":\"b\",\"Ranges\":[{\"Addr\":18446744073709551615,\"Len\":9}]}"), true)
	shared := r
	f.Fuzz(func(t *testing.T, in []byte, seal bool) {
		r := &rig{TB: t, fabric: shared.fabric, a: shared.a, b: shared.b}
		if seal { // a right envelope around wrong content
			in = sealBody(in)
		}
		if err := r.a.Connect("b", in); err != nil {
			r.wants(err, backend.ErrMetadata)
		}
		op, err := r.a.Prepare(backend.Request{
			Direction: backend.Write, Peer: "b", Local: r.a.segments(), Remote: r.b.segments(),
		})
		if err != nil { // the metadata told of other memory, or was refused
			r.wants(err, backend.ErrInvalid)
			return
		}
		if op.Post().Status == backend.Submitted {
			r.fabric.Advance(2)
			r.poll(op, backend.Done)
		}
		r.must(op.Release())
	})
}
