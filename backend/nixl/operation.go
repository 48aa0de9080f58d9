// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/nixl"
)

// operation is one retained handle.
type operation struct {
	owner    *Backend
	request  *nixl.Request
	posted   atomic.Bool
	released atomic.Bool
	refused  atomic.Pointer[backend.Observation] // the NotSubmitted that Post answered
}

var (
	errPosted    = fmt.Errorf("%w: posted before", backend.ErrInvalid)
	errNotPosted = fmt.Errorf("%w: not posted", backend.ErrInvalid)
	errReleased  = fmt.Errorf("%w: operation was released", backend.ErrClosed)
	errForeign   = fmt.Errorf("%w: not an operation of this backend", backend.ErrInvalid)
)

var ops = map[backend.Direction]nixl.Op{backend.Write: nixl.Write, backend.Read: nixl.Read}

// Prepare builds an operation; see [backend.Backend].
func (b *Backend) Prepare(r backend.Request) (backend.Operation, error) {
	cfg := nixl.RequestConfig{
		Op: ops[r.Direction], Peer: r.Peer, Backend: b.plugin, Extra: nixl.Extra{Notify: r.Notify},
		Local: segments(r.Local), Remote: segments(r.Remote),
	}
	if err := b.place(&cfg, r.LocalSpace, r.RemoteSpace); err != nil {
		return nil, err
	}
	if b.plugin.Plugin() != nixl.PluginUCX {
		if b.isStore(cfg.Peer) {
			cfg.Peer = b.agent.Name()
		}
		if err := b.files.resolve(&cfg); err != nil {
			return nil, err
		}
	}
	request, err := b.agent.NewRequest(cfg)
	if e := (*nixl.Error)(nil); errors.As(err, &e) {
		// NIXL checks the far side here, and gives one code for all that is wrong.
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	if err != nil {
		return nil, translate(err)
	}
	return &operation{owner: b, request: request}, nil
}

func segments(in []backend.Segment) []nixl.Segment {
	out := make([]nixl.Segment, len(in))
	for i, s := range in {
		out[i] = nixl.Segment{Addr: s.Addr, Len: s.Len}
	}
	return out
}

// Post submits the operation; see [backend.Operation].
func (o *operation) Post() backend.Observation {
	if o.owner.agent.Closed() {
		return backend.Observation{Status: backend.Error, Err: o.owner.errClosed()}
	}
	if o.released.Load() {
		return backend.Observation{Status: backend.Error, Err: errReleased}
	}
	if o.posted.Swap(true) {
		return backend.Observation{Status: backend.Error, Err: errPosted}
	}
	status, err := o.request.Post()
	seen := observe(postStatus, status, err)
	if seen.Status == backend.NotSubmitted {
		o.refused.Store(&seen)
	}
	return seen
}

// Release frees the handle; see [backend.Operation].
func (o *operation) Release() error {
	if o.owner.agent.Closed() {
		return o.owner.errClosed()
	}
	if o.released.Load() {
		return errReleased
	}
	if err := o.request.Release(); err != nil {
		return translate(err)
	}
	if o.released.Swap(true) {
		return errReleased
	}
	return nil
}
