// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"errors"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
)

var errorClauses = []clause{
	{"a broken operation answers Error and is retained for ever", func(h *harness) {
		op := h.broken(h.write(0, 0, half))
		for range 3 {
			h.settle()
			h.refusesToLetGo(op)
		}
		switch o := h.poll(op); o.Status {
		case backend.Error:
		case backend.Done:
			h.equal("bytes behind a late Done", h.B.Memory[:half], h.A.Memory[:half])
		default:
			h.Errorf("%v after Error: %v", o.Status, o.Err)
		}
	}},
	{"the same of a READ", func(h *harness) {
		if h.NoBrokenRead != "" {
			h.Skip(h.NoBrokenRead)
		}
		op := h.broken(h.read(0, 0, half))
		h.settle()
		h.refusesToLetGo(op)
	}},
	{"NotSubmitted is said only when nothing moves: forgotten peer", func(h *harness) {
		h.postAfter(func() error { return h.A.Backend.Disconnect(h.B.Name) })
	}},
	{"NotSubmitted is said only when nothing moves: deregistered memory", func(h *harness) {
		h.postAfter(func() error { return h.A.Backend.Deregister(h.regA) })
	}},
}

// broken posts an operation, breaks the connection under it and returns it
// when it has answered Error.
func (h *harness) broken(r backend.Request) backend.Operation {
	h.Helper()
	if h.Break == nil {
		h.Skip("cannot break an operation: the pair has no Break hook")
	}
	op := h.inFlight(r)
	h.Break()
	h.resume()
	var last backend.Observation
	h.until("Error", func() bool {
		last = h.poll(op)
		return last.Status != backend.InProgress && last.Status != backend.Submitted
	})
	if last.Status != backend.Error {
		h.Fatalf("a broken operation: got %v: %v, want Error", last.Status, last.Err)
	}
	return op
}

// postAfter takes something away between Prepare and Post. The backend may
// refuse to take it away, or refuse the Post; what it says must then be true.
func (h *harness) postAfter(takeAway func() error) {
	h.Helper()
	want := slices.Clone(h.A.Memory[:half])
	op := h.prepare(h.write(0, 0, half))
	if err := takeAway(); err != nil && !errors.Is(err, backend.ErrInFlight) {
		h.Fatal(err)
	}
	o := op.Post()
	h.checkObservation(o)
	h.Logf("Post: %v: %v", o.Status, o.Err)
	switch o.Status {
	case backend.NotSubmitted:
		h.settle()
		h.unchanged()
		h.release(op)
	case backend.Error:
		h.settle()
		if err := op.Release(); !errors.Is(err, backend.ErrInFlight) {
			h.Errorf("Release after Error: got %v, want ErrInFlight", err)
		}
	default:
		if o.Status != backend.Done {
			h.finish(op)
		}
		h.equal("written", h.B.Memory[:half], want)
		h.release(op)
	}
}
