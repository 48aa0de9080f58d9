// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"bytes"
	"errors"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
)

var metadataClauses = []clause{
	{"cut short at any length is ErrMetadata and changes nothing", func(h *harness) {
		whole := h.metadata(&h.B)
		for n := range len(whole) {
			h.refusesMetadata(whole[:n], "the first %d of %d bytes", n, len(whole))
		}
		h.moves(h.write(0, 0, 4096))
	}},
	{"changed in any byte is ErrMetadata and changes nothing", func(h *harness) {
		whole := h.metadata(&h.B)
		for i := range whole {
			changed := slices.Clone(whole)
			changed[i] ^= 1 << (i % 8)
			h.refusesMetadata(changed, "byte %d of %d changed", i, len(whole))
		}
		h.moves(h.write(0, 0, 4096))
	}},
	{"what is not metadata is ErrMetadata", func(h *harness) {
		whole := h.metadata(&h.B)
		h.refusesMetadata(nil, "nothing")
		h.refusesMetadata([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "another protocol")
		h.refusesMetadata(bytes.Repeat([]byte{0xff}, 4096), "4096 bytes of 0xff")
		h.refusesMetadata(append(slices.Clone(whole), 0), "one byte too many")
		h.refusesMetadata(append(slices.Clone(whole), whole...), "twice in a row")
		h.moves(h.write(0, 0, 4096))
	}},
	{"a peer refused once is unknown until it is accepted", func(h *harness) {
		whole := h.metadata(&h.B)
		if err := h.A.Backend.Disconnect(h.B.Name); err != nil {
			h.Fatalf("Disconnect with nothing in flight: %v", err)
		}
		h.refusesMetadata(whole[:len(whole)/2], "half of it")
		if _, err := h.A.Backend.Prepare(h.write(0, 0, 64)); !errors.Is(err, backend.ErrInvalid) {
			h.Errorf("Prepare towards a forgotten peer: got %v, want ErrInvalid", err)
		}
		h.connect(&h.A, &h.B)
		h.moves(h.write(0, 0, 4096))
	}},
	{"newer metadata of a known peer refreshes it", func(h *harness) {
		r := h.write(0, half, 4096)
		if _, err := h.A.Backend.Prepare(r); !errors.Is(err, backend.ErrInvalid) {
			h.Errorf("Prepare towards memory not yet registered: got %v, want ErrInvalid", err)
		}
		h.register(&h.B, half, half)
		h.connect(&h.A, &h.B)
		h.moves(r)
		h.moves(h.write(0, 0, 4096))
	}},
	{"Disconnect of an unknown peer is ErrInvalid", func(h *harness) {
		if err := h.A.Backend.Disconnect("nobody of this name"); !errors.Is(err, backend.ErrInvalid) {
			h.Errorf("got %v, want ErrInvalid", err)
		}
	}},
}

func (h *harness) refusesMetadata(m []byte, format string, args ...any) {
	h.Helper()
	if err := h.A.Backend.Connect(h.B.Name, m); !errors.Is(err, backend.ErrMetadata) {
		h.Errorf("Connect with "+format+": got %v, want ErrMetadata", append(args, err)...)
	}
}
