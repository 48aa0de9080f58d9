// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"
	"sync"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// batch is the arrays of one Poll; pooled, so that polling does not allocate.
type batch struct {
	asked   []*Request
	index   []int
	handles []nixlc.Request
	codes   []nixlc.Code
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// Poll asks NIXL about many requests of this agent in one crossing into C and
// writes one observation for each into out, which must be as long as requests.
// It is [Request.Status] for all of them.
func (a *Agent) Poll(requests []*Request, out []Observation) error {
	if len(out) != len(requests) {
		return fmt.Errorf("%w: room for %d observations of %d requests", ErrArgument, len(out), len(requests))
	}
	if err := a.enter(); err != nil {
		return err
	}
	defer a.life.RUnlock()
	b := batches.Get().(*batch)
	defer b.put()
	for i, r := range requests {
		switch {
		case r.agent != a:
			out[i] = Observation{Err: fmt.Errorf("%w: request of agent %q", ErrArgument, r.agent.name)}
		case r.phase.CompareAndSwap(phaseActive, phaseAsking):
			b.asked = append(b.asked, r)
			b.index = append(b.index, i)
			b.handles = append(b.handles, r.handle)
			b.codes = append(b.codes, CodeException)
		default:
			out[i] = r.last()
		}
	}
	a.lib.api.Poll(a.handle, b.handles, b.codes)
	for k, r := range b.asked {
		o := &out[b.index[k]]
		if b.codes[k] == CodeInProgress { // settle would say the same, dearer
			r.phase.Store(phaseActive)
			*o = Observation{Status: StatusInProgress}
			continue
		}
		o.Status, o.Err = r.settle(callStatus, b.codes[k])
	}
	return nil
}

func (b *batch) put() {
	clear(b.asked) // hold no request back from the collector
	b.asked, b.index, b.handles, b.codes = b.asked[:0], b.index[:0], b.handles[:0], b.codes[:0]
	batches.Put(b)
}
