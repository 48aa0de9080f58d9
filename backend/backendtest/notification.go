// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"bytes"

	"github.com/kvxfer/kvxfer/backend"
)

var notifyClauses = []clause{
	{"arrives once, with its peer and message, after the data", func(h *harness) {
		message := []byte("\x00binary \xff message\x00")
		want := bytes.Clone(h.A.Memory[:half])
		r := h.write(0, 0, half)
		r.Notify = message
		op := h.prepare(r)
		done := h.post(op) == backend.Done
		h.until("the notification", func() bool {
			if len(h.fromA) > 0 {
				// Right at its arrival, whatever the operation says.
				h.equal("bytes behind a notification", h.B.Memory[:half], want)
				return true
			}
			if !done {
				done = h.poll(op).Status == backend.Done
			}
			return false
		})
		if !done {
			h.finish(op)
		}
		h.release(op)
		h.settle()
		if len(h.fromA) != 1 || h.fromA[0].Peer != h.A.Name || !bytes.Equal(h.fromA[0].Message, message) {
			h.Errorf("B got %q, want one from %s: %q", h.fromA, h.A.Name, message)
		}
		if len(h.fromB) != 0 {
			h.Errorf("A got %q", h.fromB)
		}
	}},
	{"arrives after a READ too", func(h *harness) {
		r := h.read(0, 0, 4096)
		r.Notify = []byte("read")
		h.run(r)
		h.until("the notification", func() bool { return len(h.fromA) > 0 })
		if string(h.fromA[0].Message) != "read" || h.fromA[0].Peer != h.A.Name {
			h.Errorf("B got %q", h.fromA)
		}
	}},
	{"each operation has its own", func(h *harness) {
		const n = 16
		want := map[string]int{}
		for i := range n {
			r := h.write(i*4096, i*4096, 4096)
			r.Notify = bytes.Repeat([]byte{byte('a' + i)}, 1+i*20)
			want[string(r.Notify)] = 1
			h.run(r)
		}
		h.until("16 notifications", func() bool { return len(h.fromA) >= n })
		h.settle()
		for _, got := range h.fromA {
			want[string(got.Message)]--
		}
		for message, left := range want {
			if left != 0 {
				h.Errorf("%q: %d too few", message, left)
			}
		}
	}},
	{"none without Notify", func(h *harness) {
		h.run(h.write(0, 0, 4096))
		h.run(h.read(0, 0, 4096))
		h.settle()
		if len(h.fromA)+len(h.fromB) != 0 {
			h.Errorf("got %q and %q", h.fromA, h.fromB)
		}
	}},
	{"none before a stalled peer has the data", func(h *harness) {
		r := h.write(0, 0, half)
		r.Notify = []byte("early")
		op := h.inFlight(r)
		want := bytes.Clone(h.A.Memory[:half])
		h.resume()
		h.until("the notification", func() bool {
			h.poll(op)
			return len(h.fromA) > 0
		})
		h.equal("bytes behind a notification", h.B.Memory[:half], want)
		h.finish(op)
		h.release(op)
	}},
}
