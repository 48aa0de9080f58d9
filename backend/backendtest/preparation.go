// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"errors"
	"math"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
)

var prepareClauses = []clause{
	{"a wrong request is ErrInvalid", func(h *harness) {
		for _, c := range wrongRequests {
			r := h.write(0, 0, 4096)
			c.spoil(h, &r)
			if _, err := h.A.Backend.Prepare(r); !errors.Is(err, backend.ErrInvalid) {
				h.Errorf("%s: got %v, want ErrInvalid", c.name, err)
			}
		}
		h.settle()
		h.unchanged()
	}},
	{"an operation keeps its own copy of the request", func(h *harness) {
		r := h.write(100, 200, 3000)
		r.Notify = []byte("kept")
		op := h.prepare(r)
		want := slices.Clone(h.A.Memory[100:3100])
		r.Local[0], r.Remote[0] = segment(&h.A, 9000, 10), segment(&h.B, 9000, 10)
		copy(r.Notify, "lost")
		if h.post(op) != backend.Done {
			h.finish(op)
		}
		h.equal("written", h.B.Memory[200:3200], want)
		h.until("the notification", func() bool { return len(h.fromA) > 0 })
		if string(h.fromA[0].Message) != "kept" {
			h.Errorf("notification %q", h.fromA[0].Message)
		}
		h.release(op)
	}},
	{"nothing moves before Post, and Release is free", func(h *harness) {
		op := h.prepare(h.write(0, 0, half))
		h.settle()
		h.unchanged()
		h.release(op)
		h.settle()
		h.unchanged()
	}},
}

// wrongRequests spoil a request that is right, one thing at a time.
var wrongRequests = []struct {
	name  string
	spoil func(*harness, *backend.Request)
}{
	{"no direction", func(_ *harness, r *backend.Request) { r.Direction = 0 }},
	{"a direction that does not exist", func(_ *harness, r *backend.Request) { r.Direction = 99 }},
	{"no peer", func(_ *harness, r *backend.Request) { r.Peer = "" }},
	{"an unknown peer", func(_ *harness, r *backend.Request) { r.Peer += "x" }},
	{"no segments", func(_ *harness, r *backend.Request) { r.Local, r.Remote = nil, nil }},
	{"no remote segments", func(_ *harness, r *backend.Request) { r.Remote = nil }},
	{"more local segments than remote", func(_ *harness, r *backend.Request) { r.Local = append(r.Local, r.Local[0]) }},
	{"segments of different length", func(_ *harness, r *backend.Request) { r.Remote[0].Len-- }},
	{"empty segments", func(_ *harness, r *backend.Request) { r.Local[0].Len, r.Remote[0].Len = 0, 0 }},
	{"one empty segment among others", func(h *harness, r *backend.Request) {
		r.Local = append(r.Local, segment(&h.A, 8192, 0))
		r.Remote = append(r.Remote, segment(&h.B, 8192, 0))
	}},
	{"local memory that is not registered", func(h *harness, r *backend.Request) { r.Local[0] = segment(&h.A, half, 4096) }},
	{"local memory that is only half registered", func(h *harness, r *backend.Request) { r.Local[0] = segment(&h.A, half-2048, 4096) }},
	{"a peer's address as local", func(_ *harness, r *backend.Request) { r.Local[0] = r.Remote[0] }},
	{"remote memory that is not registered", func(h *harness, r *backend.Request) { r.Remote[0] = segment(&h.B, half, 4096) }},
	{"remote memory that is only half registered", func(h *harness, r *backend.Request) { r.Remote[0] = segment(&h.B, half-2048, 4096) }},
	{"an own address as remote", func(_ *harness, r *backend.Request) { r.Remote[0] = r.Local[0] }},
	{"address 0", func(_ *harness, r *backend.Request) { r.Remote[0].Addr = 0 }},
	{"a segment that wraps around", func(_ *harness, r *backend.Request) {
		r.Local[0].Len, r.Remote[0].Len = math.MaxUint64-4095, math.MaxUint64-4095
	}},
}
