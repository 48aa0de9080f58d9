// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/backend"
)

var transferClauses = []clause{
	{"WRITE moves exactly its bytes", func(h *harness) {
		for _, n := range sizes {
			h.moves(h.write(3, 5, n))
		}
		h.moves(h.write(0, 0, half))
	}},
	{"READ moves exactly its bytes", func(h *harness) {
		for _, n := range sizes {
			h.moves(h.read(3, 5, n))
		}
		h.moves(h.read(0, 0, half))
	}},
	{"scattered segments land where they belong", func(h *harness) {
		for _, d := range []backend.Direction{backend.Write, backend.Read} {
			h.moves(h.scattered(d, 64, 1<<14))
			h.moves(h.scattered(d, 200, 77))
		}
	}},
	{"Done means that the bytes are there, every time", func(h *harness) {
		for i := range 200 {
			fill(h.A.Memory[:8192], 100+i)
			h.run(h.write(0, 8192, 8192))
			h.equal("written", h.B.Memory[8192:16384], h.A.Memory[:8192])
		}
	}},
	{"many operations at once", func(h *harness) {
		const n, size = 64, 4096
		ops := make([]backend.Operation, n)
		for i := range ops {
			ops[i] = h.prepare(h.write(i*size, (n-1-i)*size, size))
		}
		for _, op := range ops {
			h.post(op)
		}
		h.finish(ops...)
		for i, op := range ops {
			at := (n - 1 - i) * size
			h.equal("written", h.B.Memory[at:at+size], h.A.Memory[i*size:(i+1)*size])
			h.release(op)
		}
	}},
	{"bytes move without the passive side's help", func(h *harness) {
		if h.limits.PassiveProgress {
			h.Skip("not promised: Limits.PassiveProgress says that the passive side must help")
		}
		op := h.prepare(h.write(0, 0, half))
		if h.post(op) == backend.Done {
			return
		}
		for end := time.Now().Add(patience); h.poll(op).Status != backend.Done; {
			if h.Step != nil {
				h.Step()
			}
			if time.Now().After(end) {
				h.Fatalf("not done in %v although Limits.PassiveProgress is not set", patience)
			}
		}
		h.equal("written", h.B.Memory[:half], h.A.Memory[:half])
	}},
	{"goroutines can share an agent", concurrent},
}

// sizes of single segments, around what pages and cache lines make special.
var sizes = []int{1, 2, 63, 64, 65, 4095, 4096, 4097, 1 << 16, 1<<20 - 1}

// scattered pairs n segments of A in order with segments of B in random order.
func (h *harness) scattered(d backend.Direction, n, size int) backend.Request {
	r := backend.Request{Direction: d, Peer: h.B.Name}
	stride := half / n
	for i, j := range rand.New(rand.NewPCG(7, uint64(n))).Perm(n) {
		r.Local = append(r.Local, segment(&h.A, i*stride, size))
		r.Remote = append(r.Remote, segment(&h.B, j*stride, size))
	}
	return r
}

// moves runs one operation and compares all memory of both sides with what
// must be there after it.
func (h *harness) moves(r backend.Request) {
	h.Helper()
	a, b := slices.Clone(h.A.Memory), slices.Clone(h.B.Memory)
	for i := range r.Local {
		local := a[r.Local[i].Addr-addr(&h.A, 0):][:r.Local[i].Len]
		remote := b[r.Remote[i].Addr-addr(&h.B, 0):][:r.Remote[i].Len]
		if r.Direction == backend.Write {
			copy(remote, local)
		} else {
			copy(local, remote)
		}
	}
	h.run(r)
	h.equal("A's memory", h.A.Memory, a)
	h.equal("B's memory", h.B.Memory, b)
}

// unchanged requires both memories as newHarness filled them.
func (h *harness) unchanged() {
	h.Helper()
	for seed, s := range []*Side{&h.A, &h.B} {
		want := make([]byte, len(s.Memory))
		fill(want, seed+1)
		h.equal(s.Name+"'s memory", s.Memory, want)
	}
}

func (h *harness) equal(what string, got, want []byte) {
	h.Helper()
	if bytes.Equal(got, want) {
		return
	}
	first, n := -1, 0
	for i := range want {
		if got[i] == want[i] {
			continue
		}
		if n++; first < 0 {
			first = i
		}
	}
	h.Errorf("%s: %d of %d bytes are wrong, the first at offset %d", what, n, len(want), first)
}

// settle gives everything that may still move the chance to do so.
func (h *harness) settle() {
	h.Helper()
	end := time.Now()
	if h.Step == nil {
		end = end.Add(50 * time.Millisecond)
	}
	for i := 0; i < stalledPolls || time.Now().Before(end); i++ {
		h.progress()
	}
}

func concurrent(h *harness) {
	const workers, rounds, size = 8, 25, 4096
	done := make(chan struct{})
	var helper, wg sync.WaitGroup
	helper.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			runtime.Gosched()
			if h.Step != nil {
				h.Step()
			}
			for _, b := range []backend.Backend{h.A.Backend, h.B.Backend} {
				if _, err := b.Progress(); err != nil {
					h.Errorf("Progress: %v", err)
					return
				}
			}
		}
	})
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				if !h.worker(w*rounds*size+i*size, size) {
					return
				}
			}
		})
	}
	wg.Wait()
	close(done)
	helper.Wait()
	n := workers * rounds * size
	h.equal("written", h.B.Memory[:n], h.A.Memory[:n])
}

// worker moves one range to the same offset of B and reports whether it could.
func (h *harness) worker(at, n int) bool {
	op, err := h.A.Backend.Prepare(h.write(at, at, n))
	if err != nil {
		h.Errorf("Prepare: %v", err)
		return false
	}
	o := op.Post()
	out := make([]backend.Observation, 1)
	for end := time.Now().Add(patience); o.Status != backend.Done; o = out[0] {
		if o.Status != backend.Submitted && o.Status != backend.InProgress || time.Now().After(end) {
			h.Errorf("at %d: %v: %v", at, o.Status, o.Err)
			return false
		}
		runtime.Gosched()
		h.A.Backend.Poll([]backend.Operation{op}, out)
	}
	if err := op.Release(); err != nil {
		h.Errorf("Release: %v", err)
		return false
	}
	return true
}
