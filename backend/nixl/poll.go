// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/nixl"
)

// What the binding's statuses are called in package backend. A status that is
// not listed is an error: nothing is taken for an end by default.
var (
	postStatus = map[nixl.Status]backend.Status{
		nixl.StatusInProgress:   backend.Submitted,
		nixl.StatusDone:         backend.Done,
		nixl.StatusNotSubmitted: backend.NotSubmitted,
		nixl.StatusFailed:       backend.Error,
	}
	pollStatus = map[nixl.Status]backend.Status{
		nixl.StatusInProgress: backend.InProgress,
		nixl.StatusDone:       backend.Done,
		nixl.StatusFailed:     backend.Error,
	}
)

// observe translates an answer of the binding.
func observe(table map[nixl.Status]backend.Status, status nixl.Status, err error) backend.Observation {
	s, ok := table[status]
	if !ok {
		return backend.Observation{Status: backend.Error, Err: translate(err)}
	}
	return backend.Observation{Status: s, Err: translate(err)}
}

// batch is the arrays of one Poll; pooled, so that polling does not allocate.
type batch struct {
	requests []*nixl.Request
	index    []int
	out      []nixl.Observation
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// Poll asks about many operations in one crossing into C; see [backend.Backend].
func (b *Backend) Poll(ops []backend.Operation, out []backend.Observation) {
	p := batches.Get().(*batch)
	defer p.put()
	closed := b.agent.Closed()
	for i, op := range ops {
		o, ok := op.(*operation)
		switch {
		case !ok || o == nil || o.owner != b:
			out[i] = backend.Observation{Status: backend.NotFound, Err: errForeign}
		case closed:
			out[i] = backend.Observation{Status: backend.Lost, Err: b.errClosed()}
		case o.released.Load():
			out[i] = backend.Observation{Status: backend.NotFound, Err: errReleased}
		case o.refused.Load() != nil:
			out[i] = *o.refused.Load()
		case !o.posted.Load():
			out[i] = backend.Observation{Status: backend.NotFound, Err: errNotPosted}
		default:
			p.requests = append(p.requests, o.request)
			p.index = append(p.index, i)
		}
	}
	if len(p.requests) != 0 {
		p.ask(b, out)
	}
}

func (b *Backend) errClosed() error {
	return fmt.Errorf("%w: agent %q", backend.ErrClosed, b.agent.Name())
}

// ask polls what was gathered and puts the answers where they belong.
func (p *batch) ask(b *Backend, out []backend.Observation) {
	p.out = slices.Grow(p.out[:0], len(p.requests))[:len(p.requests)]
	err := b.agent.Poll(p.requests, p.out)
	for k, i := range p.index {
		o := &p.out[k]
		switch {
		case err != nil: // the agent is gone, and with it every handle
			out[i] = backend.Observation{Status: backend.Lost, Err: translate(err)}
		case o.Status == nixl.StatusInProgress: // observe would say the same, dearer
			out[i] = backend.Observation{Status: backend.InProgress}
		case errors.Is(o.Err, nixl.ErrNotPosted):
			// Post is on its way into NIXL in another goroutine.
			out[i] = backend.Observation{Status: backend.InProgress}
		default:
			out[i] = observe(pollStatus, o.Status, o.Err)
		}
	}
}

func (p *batch) put() {
	clear(p.requests) // hold no request back from the collector
	clear(p.out)
	p.requests, p.index, p.out = p.requests[:0], p.index[:0], p.out[:0]
	batches.Put(p)
}
