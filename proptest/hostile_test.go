// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/transfer"
)

// hostile joins two streams by a network that delays, repeats, holds back and
// loses. What it loses it loses as a network does: from some moment on the stream
// is broken, and what was under way is gone. The endpoints send it again over the
// next stream, so that messages of two streams overtake each other.
type hostile struct {
	near, far transfer.Stream // the endpoints' ends
	inner     [2]transfer.Stream
	ctx       context.Context // done when the stream is broken
	cancel    context.CancelFunc

	mu     sync.Mutex
	rng    *rand.Rand // guarded by mu: two directions draw from it
	faults bool
	healed chan struct{} // closed while messages pass
	broken time.Time     // when it was, if it is
}

// newHostile draws everything from a seed: the network has goroutines of its own.
func newHostile(seed uint64, faults bool) *hostile {
	ctx, cancel := context.WithCancel(context.Background())
	h := &hostile{ctx: ctx, cancel: cancel, rng: rand.New(rand.NewPCG(seed, 7)), faults: faults, healed: make(chan struct{})}
	close(h.healed)
	h.near, h.inner[0] = transfer.Pipe()
	h.inner[1], h.far = transfer.Pipe()
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.broken = time.Now()
	})
	go h.carry(ctx, h.inner[0], h.inner[1])
	go h.carry(ctx, h.inner[1], h.inner[0])
	return h
}

// cut breaks the stream at once: nothing that is under way arrives.
func (h *hostile) cut() {
	h.cancel()
	h.inner[0].Close()
	h.inner[1].Close()
}

// partition holds everything back until heal.
func (h *hostile) partition() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.healed:
		h.healed = make(chan struct{})
	default: // it is one already
	}
}

// down returns for how long the stream has been broken.
func (h *hostile) down() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.broken)
}

func (h *hostile) heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.healed:
	default:
		close(h.healed)
	}
}

// fate is what happens to one message.
type fate struct {
	delay       time.Duration
	again, lost bool
	partitioned chan struct{}
}

func (h *hostile) fate() fate {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := fate{partitioned: h.healed}
	if !h.faults {
		return f
	}
	switch h.rng.IntN(4) {
	case 0:
		f.delay = time.Duration(h.rng.IntN(1000)) * time.Microsecond
	case 1:
		f.delay = time.Duration(h.rng.IntN(1000)) * time.Millisecond
	}
	f.again, f.lost = h.rng.IntN(8) == 0, h.rng.IntN(40) == 0
	return f
}

// carry moves the messages of one direction, in order.
func (h *hostile) carry(ctx context.Context, from, to transfer.Stream) {
	defer h.cut()
	for {
		m, err := from.Recv(ctx)
		if err != nil {
			return
		}
		f := h.fate()
		if f.lost || !pass(ctx, f.delay, f.partitioned) {
			return
		}
		// Only what has a number may come twice: it is known by that.
		_, numbered := m.(interface{ Sequence() uint64 })
		for range 1 + map[bool]int{true: 1}[f.again && numbered] {
			if to.Send(ctx, m) != nil {
				return
			}
		}
	}
}

// pass waits until a message may go on, and reports whether it still can.
func pass(ctx context.Context, delay time.Duration, healed chan struct{}) bool {
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return false
		}
	}
	select {
	case <-healed:
		return true
	case <-ctx.Done():
		return false
	}
}
