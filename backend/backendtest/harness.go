// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/kvxfer/kvxfer/backend"
)

// patience bounds the wait for something that must happen; it is never slept
// through by a backend that works.
var patience = 20 * time.Second

// stalledPolls is how often a stalled operation is asked before the kit
// believes that it stays in flight.
const stalledPolls = 200

// half is what newHarness registers of each side's memory; the rest is there
// for clauses that register more, or need memory that is not registered.
const half = MemoryLen / 2

// harness is one subtest with a connected pair.
type harness struct {
	*testing.T
	*Pair
	regA, regB backend.Registration
	limits     backend.Limits
	stalled    bool
	fromA      []backend.Notification // what B's Progress returned
	fromB      []backend.Notification // what A's Progress returned
}

// newHarness registers the first half of both memories, fills them with two
// patterns, and connects the sides both ways.
func newHarness(t *testing.T, p *Pair) *harness {
	t.Helper()
	h := &harness{T: t, Pair: p, limits: p.A.Backend.Limits()}
	t.Cleanup(h.tearDown)
	if len(p.A.Memory) < MemoryLen || len(p.B.Memory) < MemoryLen {
		t.Fatalf("the factory gave %d and %d bytes of memory, the kit needs %d", len(p.A.Memory), len(p.B.Memory), MemoryLen)
	}
	fill(p.A.Memory, 1)
	fill(p.B.Memory, 2)
	h.regA = h.register(&p.A, 0, half)
	h.regB = h.register(&p.B, 0, half)
	h.connect(&p.A, &p.B)
	h.connect(&p.B, &p.A)
	return h
}

// clean makes a pair as newHarness left it, after a clause that has let go of
// all it made.
func (h *harness) clean() {
	h.Helper()
	for range stalledPolls {
		h.progress() // what was on its way arrives now
	}
	h.fromA, h.fromB = nil, nil
	fill(h.A.Memory, 1)
	fill(h.B.Memory, 2)
}

func (h *harness) register(s *Side, offset, n int) backend.Registration {
	h.Helper()
	r, err := s.Backend.Register(memoryAt(s, offset, n))
	if err != nil {
		h.Fatalf("Register %d bytes of %s: %v", n, s.Name, err)
	}
	return r
}

// connect makes from know to.
func (h *harness) connect(from, to *Side) {
	h.Helper()
	if err := from.Backend.Connect(to.Name, h.metadata(to)); err != nil {
		h.Fatalf("Connect %s to %s: %v", from.Name, to.Name, err)
	}
}

func (h *harness) metadata(s *Side) []byte {
	h.Helper()
	m, err := s.Backend.Metadata()
	if err != nil {
		h.Fatalf("Metadata of %s: %v", s.Name, err)
	}
	return m
}

// prepare builds an operation of A, or ends the test.
func (h *harness) prepare(r backend.Request) backend.Operation {
	h.Helper()
	op, err := h.A.Backend.Prepare(r)
	if err != nil {
		h.Fatalf("Prepare: %v", err)
	}
	return op
}

// post submits op and returns the answer, which must not be a refusal.
func (h *harness) post(op backend.Operation) backend.Status {
	h.Helper()
	o := op.Post()
	if o.Status != backend.Submitted && o.Status != backend.Done {
		h.Fatalf("Post: %v: %v", o.Status, o.Err)
	}
	h.checkObservation(o)
	return o.Status
}

// poll asks A for one operation.
func (h *harness) poll(op backend.Operation) backend.Observation {
	h.Helper()
	out := make([]backend.Observation, 1)
	h.A.Backend.Poll([]backend.Operation{op}, out)
	h.checkObservation(out[0])
	return out[0]
}

// checkObservation requires that an answer is one, and that an unhappy one
// has an explanation.
func (h *harness) checkObservation(o backend.Observation) {
	h.Helper()
	if !o.Status.IsValid() {
		h.Errorf("a backend may not answer %v", o.Status)
	}
	switch o.Status {
	case backend.NotSubmitted, backend.Error, backend.NotFound, backend.Replaced, backend.Lost:
		if o.Err == nil {
			h.Errorf("%v without an explanation", o.Status)
		}
	default:
		if o.Err != nil {
			h.Errorf("%v with the error %v", o.Status, o.Err)
		}
	}
}

// progress lets time pass and both sides work, unless B is stalled.
func (h *harness) progress() {
	h.Helper()
	if h.Step != nil {
		h.Step()
	}
	h.fromB = append(h.fromB, h.progressOf(&h.A)...)
	if !h.stalled {
		h.fromA = append(h.fromA, h.progressOf(&h.B)...)
	}
}

func (h *harness) progressOf(s *Side) []backend.Notification {
	h.Helper()
	got, err := s.Backend.Progress()
	if err != nil && !errors.Is(err, backend.ErrClosed) {
		h.Fatalf("Progress of %s: %v", s.Name, err)
	}
	return got
}

// until repeats progress and cond until cond holds; it fails the test when
// patience ends first.
func (h *harness) until(what string, cond func() bool) {
	h.Helper()
	for end := time.Now().Add(patience); !cond(); h.progress() {
		if time.Now().After(end) {
			h.Fatalf("waited %v for %s", patience, what)
		}
		runtime.Gosched()
	}
}

// finish polls the posted operations until each has answered Done.
func (h *harness) finish(ops ...backend.Operation) {
	h.Helper()
	left := ops
	out := make([]backend.Observation, len(ops))
	h.until("Done", func() bool {
		h.A.Backend.Poll(left, out[:len(left)])
		var still []backend.Operation
		for i, o := range out[:len(left)] {
			h.checkObservation(o)
			switch o.Status {
			case backend.Done:
				continue
			case backend.InProgress, backend.Submitted:
			default:
				h.Fatalf("Poll: %v: %v", o.Status, o.Err)
			}
			still = append(still, left[i])
		}
		left = still
		return len(left) == 0
	})
}

// run prepares, posts and finishes one operation, and releases it.
func (h *harness) run(r backend.Request) {
	h.Helper()
	op := h.prepare(r)
	if h.post(op) != backend.Done {
		h.finish(op)
	}
	h.release(op)
}

func (h *harness) release(op backend.Operation) {
	h.Helper()
	if err := op.Release(); err != nil {
		h.Errorf("Release: %v", err)
	}
}

// stall stops B, or says why it cannot and skips.
func (h *harness) stall() {
	h.Helper()
	switch {
	case h.Stall != nil && h.Resume != nil:
		h.Stall()
	case !h.limits.PassiveProgress:
		h.Skip("cannot hold an operation in flight: the pair has no Stall hook and the backend needs no passive progress")
	}
	h.stalled = true
}

func (h *harness) resume() {
	if h.stalled && h.Resume != nil {
		h.Resume()
	}
	h.stalled = false
}

// inFlight posts an operation towards a stalled B and makes sure that it stays
// in flight. A backend that ends the copy inside Post is skipped.
func (h *harness) inFlight(r backend.Request) backend.Operation {
	h.Helper()
	h.stall()
	op := h.prepare(r)
	if h.post(op) == backend.Done {
		h.resume()
		h.release(op)
		h.Skip("cannot hold an operation in flight: this backend ended it inside Post")
	}
	for range stalledPolls {
		h.progress()
		switch o := h.poll(op); o.Status {
		case backend.InProgress, backend.Submitted:
		case backend.Done:
			h.resume()
			h.release(op)
			h.Skip("cannot hold an operation in flight: it ended although B was stalled")
		default:
			h.Fatalf("Poll of a stalled operation: %v: %v", o.Status, o.Err)
		}
	}
	return op
}

// tearDown closes both agents, A first because its operations hold it. Memory
// is freed only on proof.
func (h *harness) tearDown() {
	h.Helper()
	h.resume()
	free := true
	for _, s := range []*Side{&h.A, &h.B} {
		if err := closeOrFence(s.Backend); err != nil {
			free = false
			h.Logf("%s could not be closed (%v): its memory stays mapped", s.Name, err)
		}
	}
	for _, s := range []*Side{&h.A, &h.B} {
		if s.Free == nil || !free {
			continue
		}
		if err := s.Free(); err != nil {
			h.Errorf("Free of %s: %v", s.Name, err)
		}
	}
}

func closeOrFence(b backend.Backend) error {
	err := b.Close()
	if !errors.Is(err, backend.ErrInFlight) {
		return err
	}
	f, ok := b.(backend.Fencer)
	if !ok {
		return err
	}
	return f.Fence()
}

// addr is the address of one byte of a side's memory.
func addr(s *Side, offset int) uint64 {
	return uint64(uintptr(unsafe.Pointer(&s.Memory[offset])))
}

func memoryAt(s *Side, offset, n int) backend.Memory {
	return backend.Memory{Addr: uintptr(addr(s, offset)), Len: uint64(n)}
}

func segment(s *Side, offset, n int) backend.Segment {
	return backend.Segment{Addr: addr(s, offset), Len: uint64(n)}
}

// write is a request of A: n bytes from one offset of A to one of B.
func (h *harness) write(from, to, n int) backend.Request {
	return backend.Request{
		Direction: backend.Write, Peer: h.B.Name,
		Local:  []backend.Segment{segment(&h.A, from, n)},
		Remote: []backend.Segment{segment(&h.B, to, n)},
	}
}

// read is a request of A: n bytes from one offset of B to one of A.
func (h *harness) read(from, to, n int) backend.Request {
	return backend.Request{
		Direction: backend.Read, Peer: h.B.Name,
		Local:  []backend.Segment{segment(&h.A, to, n)},
		Remote: []backend.Segment{segment(&h.B, from, n)},
	}
}

// noise is bytes without short periods: the steps of a Weyl sequence, mixed as
// splitmix64 does. Made once, since the race detector makes it slow.
var noise = sync.OnceValue(func() []byte {
	var b []byte
	for x := uint64(0); len(b) < MemoryLen; {
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		b = binary.LittleEndian.AppendUint64(b, z^z>>31)
	}
	return b
})

// fill writes noise, from another place for each seed.
func fill(b []byte, seed int) {
	from := seed * 12347 % MemoryLen
	for len(b) > 0 {
		b = b[copy(b, noise()[from:]):]
		from = 0
	}
}
