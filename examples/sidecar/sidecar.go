// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/admin"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// Sidecar moves data into and out of memory that an engine manages. The engine
// gives the addresses of its slots once, and asks before it uses one again.
type Sidecar struct {
	endpoint *transfer.Endpoint
	slots    []*transfer.Region
	admin    *admin.Server
}

// Config is what a sidecar is told.
type Config struct {
	Name    string
	Backend backend.Backend
	Slots   []backend.Memory // the engine's, mapped in this process, not Go's
	Admin   string           // unix:PATH for kvxfer explain and kvxfer reopen
	Contain func(ownership.Containment) error
	Grace   time.Duration // 0: the default
	Log     *slog.Logger
}

// NewSidecar registers the engine's slots, each as a region of its own: a region
// is what is owned and reused as a whole.
func NewSidecar(c Config) (s *Sidecar, err error) {
	s = new(Sidecar)
	s.endpoint, err = transfer.New(transfer.Config{
		Name: c.Name, Backend: c.Backend, Contain: c.Contain, Grace: c.Grace, Log: c.Log,
	})
	if err != nil {
		return nil, err
	}
	for i, memory := range c.Slots {
		region, err := s.endpoint.RegisterMemory(fmt.Sprint("slot-", i), memory)
		if err != nil {
			return nil, errors.Join(err, s.Close(context.Background()))
		}
		s.slots = append(s.slots, region)
	}
	if s.admin, err = admin.Serve(c.Admin, s.endpoint); err != nil {
		return nil, errors.Join(err, s.Close(context.Background()))
	}
	s.endpoint.OnRequest(s.serve)
	return s, nil
}

// Listen attaches every peer that dials, until ctx ends.
func (s *Sidecar) Listen(ctx context.Context, l *rpc.Listener) {
	for {
		stream, err := l.Accept(ctx)
		if err != nil {
			return
		}
		_, _ = s.endpoint.Attach(ctx, stream) // a peer that fails to attach dials again
	}
}

// Dial keeps a stream to a peer until ctx ends. A lost stream proves nothing
// and loses nothing: reports go on in order over the next one.
func (s *Sidecar) Dial(ctx context.Context, addr string) {
	for ctx.Err() == nil {
		if stream, err := rpc.Dial(ctx, addr); err == nil {
			if link, err := s.endpoint.Attach(ctx, stream); err == nil {
				select {
				case <-link.Done():
				case <-ctx.Done():
				}
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// MayReuse is what the engine asks before it puts anything else into a slot. An
// error says who may still touch it; nothing else is permission, above all not
// that a request is over.
func (s *Sidecar) MayReuse(slot int) error { return s.slots[slot].Reuse() }

// Fetch fills a slot from a peer's copy of key. When it returns, the request is
// over, one way or the other; the slot is free when MayReuse says so.
func (s *Sidecar) Fetch(ctx context.Context, slot int, peer, key string) error {
	session, err := s.receive(ctx, transfer.ReceiveSpec{
		Region: s.slots[slot], From: transfer.FromPeers(peer), Label: key,
	})
	if err != nil {
		return err // nobody has heard of it, and nothing is owned
	}
	err = session.Wait(ctx)
	if ctx.Err() != nil {
		_, _ = session.Cancel() // the engine does not want it any more; the peer may still write
	}
	s.drain(session)
	return err
}

// receive asks for data; in quarantine it waits until an operator, or a fence,
// lets new work in.
func (s *Sidecar) receive(ctx context.Context, spec transfer.ReceiveSpec) (*transfer.Session, error) {
	for {
		session, err := s.endpoint.Receive(ctx, spec)
		if !errors.Is(err, ownership.ErrClosed) {
			return session, err
		}
		if err := s.endpoint.WaitAdmission(ctx); err != nil {
			return nil, err // stopping, FATAL, or ctx
		}
	}
}

// drain closes a session when everything is proven, however long that takes:
// Stop ends the wait, and so does FATAL.
func (s *Sidecar) drain(session *transfer.Session) {
	go func() { _ = session.Drain(context.Background()) }()
}

// serve answers a peer's request from the slot that has its key.
func (s *Sidecar) serve(r *transfer.Request) {
	var slot int
	if _, err := fmt.Sscanf(r.Label(), "slot-%d", &slot); err != nil || slot < 0 || slot >= len(s.slots) {
		_ = r.Refuse("no such key")
		return
	}
	session, err := r.Send(transfer.SendSpec{Region: s.slots[slot]})
	if err != nil {
		_ = r.Refuse(err.Error())
		return
	}
	s.drain(session)
}

// Close stops, fail-closed. nil: everything was proven, and the engine may unmap
// its memory. An error lists what may still be touched; the memory must then
// stay mapped. Close may be called again, with more time.
func (s *Sidecar) Close(ctx context.Context) error {
	if err := s.endpoint.Stop(ctx); err != nil {
		return err
	}
	if s.admin != nil {
		return s.admin.Close()
	}
	return nil
}
