// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/memory"
)

// size of each side's memory in the rig: two segments of 4096.
const size = 8192

// rig is a fabric with two connected agents: a's memory is full of 'a', b's of
// 'b'.
type rig struct {
	testing.TB
	fabric *Fabric
	a, b   *side
}

type side struct {
	*Agent
	arena *memory.Arena
	bytes []byte
	reg   backend.Registration
}

func newRig(t testing.TB, config Config) *rig {
	t.Helper()
	r := &rig{TB: t, fabric: New(config)}
	r.a, r.b = r.side("a"), r.side("b")
	r.connect(r.a, r.b)
	r.connect(r.b, r.a)
	return r
}

func (r *rig) side(name string) *side {
	r.Helper()
	arena, err := memory.New(memory.Spec{Len: size})
	r.must(err)
	r.Cleanup(func() { r.must(arena.Check()); r.must(arena.Close()) })
	s := &side{arena: arena, bytes: arena.Bytes()}
	s.Agent, err = r.fabric.Agent(name)
	r.must(err)
	s.fill(name[0])
	s.reg, err = s.Register(backend.Memory{Addr: arena.Addr(), Len: size})
	r.must(err)
	return s
}

func (s *side) fill(with byte) {
	for i := range s.bytes {
		s.bytes[i] = with
	}
}

// count is how many bytes of the side's memory are c.
func (s *side) count(c byte) int {
	n := 0
	for _, v := range s.bytes {
		if v == c {
			n++
		}
	}
	return n
}

func (s *side) segments() []backend.Segment {
	at := uint64(s.arena.Addr())
	return []backend.Segment{{Addr: at, Len: 4096}, {Addr: at + 4096, Len: 4096}}
}

func (r *rig) connect(from, to *side) {
	r.Helper()
	m, err := to.Metadata()
	r.must(err)
	r.must(from.Connect(to.name, m))
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) wants(err, want error) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Fatalf("got %v, want %v", err, want)
	}
}

// prepare builds an operation of a over all memory, with a notification.
func (r *rig) prepare(d backend.Direction) backend.Operation {
	r.Helper()
	op, err := r.a.Prepare(backend.Request{
		Direction: d, Peer: "b", Local: r.a.segments(), Remote: r.b.segments(), Notify: []byte("done"),
	})
	r.must(err)
	return op
}

// post prepares and posts, and requires the answer.
func (r *rig) post(d backend.Direction, want backend.Status) backend.Operation {
	r.Helper()
	op := r.prepare(d)
	if o := op.Post(); o.Status != want {
		r.Fatalf("Post: %v: %v, want %v", o.Status, o.Err, want)
	}
	return op
}

func (r *rig) poll(op backend.Operation, want backend.Status) {
	r.Helper()
	var out [1]backend.Observation
	r.a.Poll([]backend.Operation{op}, out[:])
	if out[0].Status != want {
		r.Fatalf("Poll: %v: %v, want %v", out[0].Status, out[0].Err, want)
	}
}

// notified requires n waiting notifications at b.
func (r *rig) notified(n int) {
	r.Helper()
	got, err := r.b.Progress()
	r.must(err)
	if len(got) != n {
		r.Fatalf("%d notifications, want %d", len(got), n)
	}
}
