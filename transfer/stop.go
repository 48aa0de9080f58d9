// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/ownership"
)

// Stop shuts the endpoint down, fail-closed: nothing new is admitted, what is
// ACTIVE is cancelled, and Stop waits until everything is proven and every
// report has arrived. Then all memory is released and deregistered, the backend
// closed, and the endpoint halted. Where requests live on several ranks it waits for those
// as well (Config.Retired). It does not wait for the requests that hold
// blocks of a pool: while any block is pinned it is refused.
//
// If ctx ends first, everything that is not proven is kept, the error matches
// ownership.ErrRefused and lists what and why, or ErrUnacknowledged if only
// reports wait; the endpoint goes on, and Stop may be called again. After FATAL
// the error matches ownership.ErrFatal.
func (e *Endpoint) Stop(ctx context.Context) error {
	if err := e.retire(ctx); err != nil {
		return err
	}
	if err := e.closePools(); err != nil {
		return err
	}
	if err := e.flush(ctx); err != nil {
		return err
	}
	if err := e.dismantle(ctx); err != nil {
		return err
	}
	e.Halt()
	e.polling.Wait()
	return nil
}

// retire waits until the registry lets go of everything.
func (e *Endpoint) retire(ctx context.Context) error {
	for {
		moved := e.changed.wait()
		held, err := e.heldBack()
		if err == nil {
			var effects ownership.Effects
			effects, err = e.registry.Stop(e.now())
			e.apply(effects)
		}
		if !errors.Is(err, ownership.ErrRefused) {
			return err
		}
		select {
		case <-moved:
		case <-held:
		case <-ctx.Done():
			return &Error{What: "stop " + e.config.Name, Kind: ctx.Err(), Err: err}
		}
	}
}

// flush waits until every peer has confirmed what was sent to it, and then says
// Goodbye.
func (e *Endpoint) flush(ctx context.Context) error {
	if err := e.confirmed(ctx); err != nil {
		return err
	}
	for _, p := range e.everyPeer() {
		p.leave()
	}
	if err := e.confirmed(ctx); err != nil {
		return err
	}
	e.parted(ctx)
	return nil
}

// partingWait is how long Stop waits for a peer to hang up after Goodbye.
const partingWait = time.Second

// parted waits until the peers have hung up, which they do when they have read
// Goodbye and all that was before it: what was handed to a carrier may still be
// inside of it, and is lost if the carrier is ended. A peer that then waits for
// a receipt would wait for ever. One that does not hang up is not waited for
// long, as it cannot be told from one that is dead.
func (e *Endpoint) parted(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, partingWait)
	defer stop()
	for _, p := range e.everyPeer() {
		p.mu.Lock()
		l := p.link
		p.mu.Unlock()
		if l == nil {
			continue
		}
		select {
		case <-l.ended:
		case <-ctx.Done():
			return
		}
	}
}

func (e *Endpoint) confirmed(ctx context.Context) error {
	for {
		moved := e.changed.wait()
		name, waiting := e.pending()
		if waiting == 0 {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			err := fmt.Errorf("%d to %s: %w", waiting, name, ctx.Err())
			return &Error{What: "stop " + e.config.Name, Kind: ErrUnacknowledged, Err: err}
		}
	}
}

func (e *Endpoint) everyPeer() []*peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.peers))
}

func (e *Endpoint) pending() (ownership.Accessor, int) {
	for _, p := range e.everyPeer() {
		if n := p.pending(); n > 0 {
			return p.name, n
		}
	}
	return "", 0
}

// dismantle takes the backend apart, in which everything is proven to have ended.
// It may not know that of an operation whose handle is lost, and refuses then: its
// agent is destroyed, as in Reincarnate, with nobody in it.
func (e *Endpoint) dismantle(ctx context.Context) error {
	stopping := func(err error) error { return &Error{What: "stop " + e.config.Name, Kind: err} }
	select {
	case e.living <- struct{}{}:
		defer func() { <-e.living }()
	case <-ctx.Done():
		return stopping(ctx.Err())
	}
	e.calls.stop()
	if !e.life.Load().dead {
		if err := e.calls.close(ctx); err != nil {
			e.calls.open()
			return stopping(err)
		}
		release, err := e.poller.hold(ctx)
		if err != nil {
			e.calls.open()
			return stopping(err)
		}
		defer release()
		if err := e.endBackend(); err != nil {
			e.calls.open()
			return err
		}
	}
	for _, r := range e.everyRegion() { // those that ended with the agent
		e.freeRegion(r)
	}
	e.halt() // while nobody else may begin another life
	return nil
}

func (e *Endpoint) endBackend() error {
	was := e.life.Load()
	switch err := e.closeBackend(was.backend); {
	case errors.Is(err, backend.ErrInFlight):
		if _, destroy := fence.Destroy(was.backend); destroy != nil {
			return errors.Join(err, destroy)
		}
		e.poller.drop()
	case err != nil:
		return err
	}
	e.life.Store(&life{incarnation: was.incarnation, agent: was.agent, backend: was.backend, dead: true})
	return nil
}

// closeBackend deregisters all memory and closes the backend; again goes on where it
// was refused. What ended with an agent that was destroyed before is over.
func (e *Endpoint) closeBackend(b backend.Backend) error {
	for _, r := range e.everyRegion() {
		if r.pinned != nil { // its pool's region has the registration
			continue
		}
		if err := b.Deregister(r.registration); err != nil && !errors.Is(err, backend.ErrClosed) {
			return &Error{What: "region " + r.id, Kind: ErrConfig, Err: err}
		}
		e.freeRegion(r)
	}
	if err := b.Close(); err != nil {
		return &Error{What: "backend of " + e.config.Name, Kind: ErrConfig, Err: err}
	}
	return nil
}

func (e *Endpoint) everyRegion() []*Region {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.regions))
}

// freeRegion forgets a region whose memory is not registered any more.
func (e *Endpoint) freeRegion(r *Region) {
	e.mu.Lock()
	delete(e.regions, r.id)
	e.mu.Unlock()
	if r.pinned == nil {
		r.release()
	}
}

// Halt ends the endpoint's goroutines and streams and gives nothing back: what
// is owned stays owned and registered, the backend stays open, and nobody
// watches any more. It is for a process that is about to end, above all after
// FATAL. A goroutine that is inside of a backend call ends when that returns.
func (e *Endpoint) Halt() {
	e.mu.Lock()
	e.halted = true
	e.mu.Unlock()
	e.halt()
	e.running.Wait()
}
