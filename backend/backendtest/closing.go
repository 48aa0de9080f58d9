// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"errors"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
)

var closeClauses = []clause{
	{"closing twice is fine, with operations that were never posted", func(h *harness) {
		h.prepare(h.write(0, 0, 64))
		for range 2 {
			if err := h.A.Backend.Close(); err != nil {
				h.Errorf("Close: %v", err)
			}
		}
	}},
	{"a closed agent answers ErrClosed and moves nothing", func(h *harness) {
		op := h.prepare(h.write(0, 0, half))
		metadata := h.metadata(&h.B)
		if err := h.A.Backend.Close(); err != nil {
			h.Fatal(err)
		}
		h.answersClosed(op, metadata)
		h.settle()
		h.unchanged()
	}},
}

var fenceClauses = []clause{
	{"Fence proves that our memory is left alone: WRITE", func(h *harness) {
		h.fenceOwn(h.write(0, 0, half))
	}},
	{"Fence proves that our memory is left alone: READ", func(h *harness) {
		if h.NoBrokenRead != "" {
			h.Skip(h.NoBrokenRead)
		}
		h.fenceOwn(h.read(0, 0, half))
	}},
	{"closing the passive side proves that peers leave its memory alone", func(h *harness) {
		if !h.limits.PassiveFence {
			h.Skip("not promised: Limits.PassiveFence is not set")
		}
		op := h.inFlight(h.write(0, 0, half))
		if err := h.B.Backend.Close(); err != nil {
			h.Fatalf("Close of a side that posted nothing: %v", err)
		}
		want := slices.Clone(h.B.Memory)
		h.resume()
		for range 3 {
			h.settle()
			h.poll(op)
		}
		h.equal("memory of the closed side", h.B.Memory, want)
	}},
}

var uncheckedClauses = []clause{
	{"Go-heap memory is never touched asynchronously", func(h *harness) {
		h.Skip("no test from outside can show it; read the code that keeps what a call was given")
	}},
	{"an operation can be cancelled with proof", func(h *harness) {
		if !h.limits.Cancel {
			h.Skip("not promised: Limits.Cancel is not set")
		}
		h.Skip("package backend has no call that cancels; Limits.Cancel only informs")
	}},
	{"an operation ends in bounded time whatever the peer does", func(h *harness) {
		if !h.limits.BoundedProgress {
			h.Skip("not promised: Limits.BoundedProgress is not set")
		}
		h.stall()
		op := h.prepare(h.write(0, 0, half))
		if h.post(op) != backend.Done {
			h.until("an end", func() bool { return h.poll(op).Status != backend.InProgress })
		}
	}},
}

// answersClosed requires ErrClosed of every call on A.
func (h *harness) answersClosed(op backend.Operation, metadata []byte) {
	h.Helper()
	a := h.A.Backend
	_, registerErr := a.Register(memoryAt(&h.A, half, 4096))
	_, metadataErr := a.Metadata()
	_, prepareErr := a.Prepare(h.write(0, 0, 64))
	_, progressErr := a.Progress()
	for what, err := range map[string]error{
		"Register": registerErr, "Metadata": metadataErr, "Prepare": prepareErr, "Progress": progressErr,
		"Connect": a.Connect(h.B.Name, metadata), "Disconnect": a.Disconnect(h.B.Name),
		"Deregister": a.Deregister(h.regA), "Release": op.Release(),
	} {
		if !errors.Is(err, backend.ErrClosed) {
			h.Errorf("%s: got %v, want ErrClosed", what, err)
		}
	}
	if o := h.poll(op); o.Status != backend.Lost || !errors.Is(o.Err, backend.ErrClosed) {
		h.Errorf("Poll: %v: %v, want lost and ErrClosed", o.Status, o.Err)
	}
	o := op.Post()
	h.checkObservation(o)
	if o.Status != backend.NotSubmitted && o.Status != backend.Error || !errors.Is(o.Err, backend.ErrClosed) {
		h.Errorf("Post: %v: %v", o.Status, o.Err)
	}
}

// fenceOwn fences A under an operation, writes over A's memory and requires
// that the operation neither reads nor writes any of it afterwards.
func (h *harness) fenceOwn(r backend.Request) {
	h.Helper()
	fencer, ok := h.A.Backend.(backend.Fencer)
	if !h.limits.OwnFence || !ok {
		h.Skip("not promised: Limits.OwnFence is not set")
	}
	op := h.inFlight(r)
	metadata := h.metadata(&h.B)
	for range 2 {
		if err := fencer.Fence(); err != nil {
			h.Fatalf("Fence: %v", err)
		}
	}
	original := slices.Clone(h.A.Memory[:half])
	other := make([]byte, half)
	fill(other, 3)
	copy(h.A.Memory, other)
	before := slices.Clone(h.B.Memory[:half])
	h.resume()
	h.settle()
	h.equal("our memory after the fence", h.A.Memory[:half], other)
	for i, got := range h.B.Memory[:half] {
		// Old bytes may still arrive from a socket's buffer; new ones never.
		if r.Direction == backend.Write && got != before[i] && got != original[i] {
			h.Fatalf("byte %d written after the fence reached the peer", i)
		}
	}
	h.answersClosed(op, metadata)
}
