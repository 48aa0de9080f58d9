// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"github.com/kvxfer/kvxfer/backend"
)

var pollClauses = []clause{
	{"each answer is about the operation at its place", func(h *harness) {
		held := h.inFlight(h.write(0, 0, half))
		fresh := h.prepare(h.write(0, 0, 64))
		released := h.prepare(h.write(0, 0, 64))
		h.release(released)
		foreign, err := h.B.Backend.Prepare(backend.Request{
			Direction: backend.Write, Peer: h.A.Name,
			Local: []backend.Segment{segment(&h.B, 0, 64)}, Remote: []backend.Segment{segment(&h.A, 0, 64)},
		})
		if err != nil {
			h.Fatal(err)
		}
		ops := []backend.Operation{released, nil, held, foreign, held, held, fresh}
		out := make([]backend.Observation, len(ops))
		h.A.Backend.Poll(ops, out)
		for i, want := range []backend.Status{
			backend.NotFound, backend.NotFound, backend.InProgress, backend.NotFound, backend.InProgress, backend.InProgress,
		} {
			h.checkObservation(out[i])
			if out[i].Status != want {
				h.Errorf("place %d: got %v, want %v", i, out[i].Status, want)
			}
		}
		if s := out[6].Status; s == backend.Done || s == backend.Submitted || s == backend.InProgress {
			h.Errorf("an operation that was never posted: %v", s)
		}
		h.resume()
		h.finish(held)
		h.release(held)
		h.release(fresh)
		h.release(foreign)
	}},
	{"Done stays Done", func(h *harness) {
		op := h.prepare(h.write(0, 0, 4096))
		if h.post(op) != backend.Done {
			h.finish(op)
		}
		for range 100 {
			h.progress()
			if o := h.poll(op); o.Status != backend.Done {
				h.Fatalf("%v after Done: %v", o.Status, o.Err)
			}
		}
		h.release(op)
	}},
	{"Done of one says nothing of another", func(h *harness) {
		first := h.prepare(h.write(0, 0, 4096))
		if h.post(first) != backend.Done {
			h.finish(first)
		}
		second := h.inFlight(h.write(4096, 4096, half-4096))
		if o := h.poll(first); o.Status != backend.Done {
			h.Errorf("the finished one: %v", o.Status)
		}
		if o := h.poll(second); o.Status != backend.InProgress {
			h.Errorf("the one in flight: %v", o.Status)
		}
		h.resume()
		h.finish(second)
		h.release(first)
		h.release(second)
	}},
	{"asking for nothing is fine", func(h *harness) {
		h.A.Backend.Poll(nil, nil)
		h.A.Backend.Poll([]backend.Operation{}, []backend.Observation{})
	}},
	{"a second Post submits nothing and answers Error", func(h *harness) {
		op := h.inFlight(h.write(0, 0, half))
		o := op.Post()
		h.checkObservation(o)
		if o.Status != backend.Error {
			h.Errorf("second Post in flight: %v", o.Status)
		}
		h.resume()
		h.finish(op)
		clear(h.B.Memory[:half])
		o = op.Post()
		h.checkObservation(o)
		if o.Status != backend.Error {
			h.Errorf("second Post after Done: %v", o.Status)
		}
		h.settle()
		h.equal("memory after a second Post", h.B.Memory[:half], make([]byte, half))
	}},
}
