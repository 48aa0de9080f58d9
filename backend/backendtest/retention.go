// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"errors"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
)

var retainClauses = []clause{
	{"nothing in flight can be let go, and the operation survives the attempt", func(h *harness) {
		want := slices.Clone(h.A.Memory[:half])
		op := h.inFlight(h.write(0, 0, half))
		h.refusesToLetGo(op)
		h.resume()
		h.finish(op)
		h.equal("written", h.B.Memory[:half], want)
		h.letsGo(op)
	}},
	{"the same of a READ", func(h *harness) {
		want := slices.Clone(h.B.Memory[:half])
		op := h.inFlight(h.read(0, 0, half))
		h.refusesToLetGo(op)
		h.resume()
		h.finish(op)
		h.equal("read", h.A.Memory[:half], want)
		h.letsGo(op)
	}},
	{"a registration that no operation uses can end", func(h *harness) {
		other := h.register(&h.A, half, half)
		op := h.inFlight(h.write(0, 0, half))
		if err := h.A.Backend.Deregister(other); err != nil {
			h.Errorf("Deregister of unrelated memory: %v", err)
		}
		h.resume()
		h.finish(op)
		h.release(op)
	}},
	{"a stopped peer keeps an operation in progress", func(h *harness) {
		if h.limits.BoundedProgress {
			h.Skip("Limits.BoundedProgress says that it ends whatever the peer does")
		}
		op := h.inFlight(h.write(0, 0, half))
		for range 10 * stalledPolls {
			h.progress()
			if o := h.poll(op); o.Status != backend.InProgress {
				h.Fatalf("%v: %v", o.Status, o.Err)
			}
		}
		h.resume()
		h.finish(op)
		h.release(op)
	}},
	{"Release works once", func(h *harness) {
		for _, post := range []bool{false, true} {
			op := h.prepare(h.write(0, 0, 4096))
			if post && h.post(op) != backend.Done {
				h.finish(op)
			}
			h.release(op)
			if err := op.Release(); !errors.Is(err, backend.ErrClosed) {
				h.Errorf("second Release (posted: %v): got %v, want ErrClosed", post, err)
			}
		}
	}},
	{"a released operation cannot be posted", func(h *harness) {
		op := h.prepare(h.write(0, 0, half))
		h.release(op)
		o := op.Post()
		h.checkObservation(o)
		if o.Status != backend.NotSubmitted && o.Status != backend.Error || !errors.Is(o.Err, backend.ErrClosed) {
			h.Errorf("Post after Release: %v: %v", o.Status, o.Err)
		}
		h.settle()
		h.unchanged()
	}},
}

// refusesToLetGo requires ErrInFlight of every way to give up op.
func (h *harness) refusesToLetGo(op backend.Operation) {
	h.Helper()
	for what, err := range map[string]error{
		"Release":    op.Release(),
		"Deregister": h.A.Backend.Deregister(h.regA),
		"Disconnect": h.A.Backend.Disconnect(h.B.Name),
		"Close":      h.A.Backend.Close(),
	} {
		if !errors.Is(err, backend.ErrInFlight) {
			h.Errorf("%s: got %v, want ErrInFlight", what, err)
		}
	}
}

// letsGo requires that all of it works once op has answered Done.
func (h *harness) letsGo(op backend.Operation) {
	h.Helper()
	h.release(op)
	for _, step := range []struct {
		what string
		err  error
	}{
		{"Deregister", h.A.Backend.Deregister(h.regA)},
		{"Disconnect", h.A.Backend.Disconnect(h.B.Name)},
		{"Close", h.A.Backend.Close()},
	} {
		if step.err != nil {
			h.Errorf("%s: %v", step.what, step.err)
		}
	}
}
