// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/meter"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// stopTime bounds an orderly end; what is not proven by then stays owned.
const stopTime = 10 * time.Second

// side is one endpoint with its pool of blocks.
type side struct {
	pool  *memory.Arena
	meter *meter.Backend
	ep    *transfer.Endpoint
	cache *cache
	order []blocks.Block
	seen  *closings
	trace *tracer
}

// sideConfig is what the two sides differ in.
type sideConfig struct {
	name    string // of the endpoint
	which   string // SideSender or SideReceiver
	order   []blocks.Block
	open    Opener
	observe func(Event)
	contain func(ownership.Containment) error
}

// newSide maps the pool, opens the backend and makes the endpoint, in the order
// in which they depend on each other.
func newSide(plan *Plan, c sideConfig) (*side, error) {
	pool, err := memory.New(memory.Spec{Len: int(plan.Shape.PoolBytes()), HugePages: true, Prefault: true})
	if err != nil {
		return nil, err
	}
	b, err := c.open(c.name)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	life := ownership.NewIncarnation()
	tracer, err := newTracer(plan, c.name, life)
	if err != nil {
		return nil, errors.Join(err, b.Close(), pool.Close())
	}
	s := &side{pool: pool, meter: meter.New(b), order: c.order, seen: newClosings(), trace: tracer}
	s.ep, err = transfer.New(transfer.Config{
		Name: c.name, Incarnation: life, Backend: s.meter, Contain: c.contain, Trace: tracer.step(),
		RequestTimeout: plan.RequestTimeout, Grace: plan.Grace, OperationWait: plan.Wait,
		// A doubt closes admission; a run whose doubts are made on purpose goes on.
		Quarantine: ownership.QuarantineOff,
		Observe: func(ev transfer.Event) {
			c.observe(observed(c.which, ev))
			s.seen.observe(ev)
		},
	})
	if err != nil {
		return nil, errors.Join(err, b.Close(), pool.Close())
	}
	region, err := s.ep.Register("pool", pool)
	if err == nil {
		s.cache, err = newCache(region, plan.Shape, s.order)
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// stop ends the endpoint and unmaps the pool only when that succeeded: a
// refused stop means that somebody may still touch it.
func (s *side) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if err := s.cache.end(); err != nil {
		return err
	}
	if err := s.ep.Stop(ctx); err != nil {
		return err
	}
	if err := s.endTrace(); err != nil {
		return err
	}
	if err := s.pool.Check(); err != nil {
		return fmt.Errorf("move: a copy left its place: %w", err)
	}
	return s.pool.Close()
}

// endTrace ends the trace of an endpoint that was stopped, or is to be halted.
func (s *side) endTrace() error { return s.trace.close(s.ep.Snapshot().Counters) }

func (s *side) finished(err error) Finished {
	c := s.ep.Snapshot().Counters
	f := Finished{Admitted: c.Admitted, Released: c.Released}
	if err != nil {
		failed := failureOf(err)
		f.Error, f.Kind = failed.Text, failed.Kind
	}
	return f
}

// closings remembers which sessions' last event was observed, so that a report
// of a transfer comes after all of its events.
type closings struct {
	mu   sync.Mutex
	seen map[ownership.SessionName]chan struct{} // guarded by mu
}

func newClosings() *closings { return &closings{seen: map[ownership.SessionName]chan struct{}{}} }

func (c *closings) of(name ownership.SessionName) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[name] == nil {
		c.seen[name] = make(chan struct{})
	}
	return c.seen[name]
}

func (c *closings) observe(ev transfer.Event) {
	if f, ok := ev.Effect.(*ownership.SessionClosed); ok {
		close(c.of(f.Session))
	}
}

// wait returns after the session's last event was observed, and forgets it.
func (c *closings) wait(ctx context.Context, name ownership.SessionName) {
	select {
	case <-c.of(name):
	case <-ctx.Done():
	case <-time.After(time.Second): // an event may have been lost to a slow reader
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, name)
}
