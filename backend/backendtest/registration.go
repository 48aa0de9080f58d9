// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"errors"
	"math"

	"github.com/kvxfer/kvxfer/backend"
)

var limitsClauses = []clause{
	{"the transport has a name, and limits do not change", func(h *harness) {
		if h.limits.Transport == "" {
			h.Error("Limits.Transport is empty")
		}
		if again := h.A.Backend.Limits(); again != h.limits {
			h.Errorf("Limits changed from %+v to %+v", h.limits, again)
		}
		h.Logf("%+v", h.limits)
	}},
	{"OwnFence is claimed by a Fencer only", func(h *harness) {
		if _, ok := h.A.Backend.(backend.Fencer); h.limits.OwnFence && !ok {
			h.Error("Limits.OwnFence without a Fence method")
		}
	}},
}

var registerClauses = []clause{
	{"a registration names its memory", func(h *harness) {
		if got, want := h.regA.Memory(), memoryAt(&h.A, 0, half); got != want {
			h.Errorf("got %+v, registered %+v", got, want)
		}
	}},
	{"an impossible range is refused", func(h *harness) {
		for _, m := range []backend.Memory{
			{},
			{Addr: memoryAt(&h.A, half, 1).Addr},
			{Len: 4096},
			{Addr: memoryAt(&h.A, half, 1).Addr, Len: math.MaxUint64},
		} {
			if _, err := h.A.Backend.Register(m); !errors.Is(err, backend.ErrInvalid) {
				h.Errorf("Register(%+v): got %v, want ErrInvalid", m, err)
			}
		}
	}},
	{"a kind of memory that it does not serve is refused", func(h *harness) {
		m := memoryAt(&h.A, half, 4096)
		for _, tc := range []struct {
			space backend.Space
			want  error
		}{
			{backend.Space{Kind: backend.VRAM, Device: 1}, backend.ErrMemoryKind},
			{backend.Space{Kind: 99}, backend.ErrInvalid},
			{backend.Space{Kind: backend.DRAM, Device: 1}, backend.ErrInvalid},
		} {
			if h.limits.VRAM && tc.want == backend.ErrMemoryKind {
				continue // this is host memory: what a GPU's is like takes one
			}
			m.Space = tc.space
			if _, err := h.A.Backend.Register(m); !errors.Is(err, tc.want) {
				h.Errorf("Register(%v): got %v, want %v", m.Space, err, tc.want)
			}
			r := h.write(0, 0, 64)
			r.LocalSpace = tc.space
			_, local := h.A.Backend.Prepare(r)
			r.LocalSpace, r.RemoteSpace = backend.Space{}, tc.space
			_, remote := h.A.Backend.Prepare(r)
			for _, err := range []error{local, remote} {
				if !errors.Is(err, backend.ErrInvalid) && !errors.Is(err, backend.ErrMemoryKind) {
					h.Errorf("Prepare with %v: got %v, want ErrInvalid or ErrMemoryKind", tc.space, err)
				}
			}
		}
	}},
	{"Deregister ends it once", func(h *harness) {
		if err := h.A.Backend.Deregister(h.regA); err != nil {
			h.Fatalf("Deregister with nothing in flight: %v", err)
		}
		err := h.A.Backend.Deregister(h.regA)
		if !errors.Is(err, backend.ErrInvalid) && !errors.Is(err, backend.ErrClosed) {
			h.Errorf("again: got %v, want ErrInvalid or ErrClosed", err)
		}
		if _, err := h.A.Backend.Prepare(h.write(0, 0, 64)); !errors.Is(err, backend.ErrInvalid) {
			h.Errorf("Prepare from memory no longer registered: got %v, want ErrInvalid", err)
		}
	}},
	{"memory can be registered anew", func(h *harness) {
		if err := h.A.Backend.Deregister(h.regA); err != nil {
			h.Fatal(err)
		}
		h.register(&h.A, 0, half)
		h.moves(h.write(0, 0, 4096))
	}},
	{"another agent's registration is refused", func(h *harness) {
		if err := h.A.Backend.Deregister(h.regB); !errors.Is(err, backend.ErrInvalid) {
			h.Errorf("Deregister of a foreign registration: got %v, want ErrInvalid", err)
		}
		if err := h.A.Backend.Deregister(nil); !errors.Is(err, backend.ErrInvalid) {
			h.Errorf("Deregister(nil): got %v, want ErrInvalid", err)
		}
		h.moves(h.write(0, 0, 4096))
	}},
}
