// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Times between attempts of [Config.Keep]: the first, and the longest. Each is
// drawn between half of it and the whole, so that peers that lost one listener
// do not come back as one.
const (
	firstRedial   = 20 * time.Millisecond
	longestRedial = 5 * time.Second
)

// Keep keeps an endpoint attached to the listener at addr: it dials, attaches,
// and when the stream is lost dials again, at growing intervals while nobody
// answers. A lost stream is doubt about nothing: reports and requests go on
// where they stopped. Each attempt that failed and each link that was made is
// told to tell, one at a time; nil is fine. The last error is only returned.
//
// It returns when ctx ends, with its cause, or with the error that no further
// attempt would change: an address that cannot be read, a peer of another
// version of the protocol or name, this life being over for the peer
// (transfer.ErrGone), or this endpoint being halted.
func (c Config) Keep(ctx context.Context, ep *transfer.Endpoint, addr string, tell func(*transfer.Link, error)) error {
	pause := firstRedial
	for {
		link, err := c.attach(ctx, ep, addr)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if tell != nil && !lasting(err) {
			tell(link, err)
		}
		if err == nil {
			pause = firstRedial
			select {
			case <-link.Done():
				err = link.Err()
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if lasting(err) {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause = min(2*pause, longestRedial)
	}
}

func (c Config) attach(ctx context.Context, ep *transfer.Endpoint, addr string) (*transfer.Link, error) {
	stream, err := c.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return ep.Attach(ctx, stream)
}

// lasting reports whether another attempt would end in the same way. What is
// wrong with a certificate may be put right meanwhile; a name is not.
func lasting(err error) bool {
	for _, kind := range []error{
		ErrInvalidAddress, ErrNotLocal, ErrForeignUser, ErrName, wire.ErrVersion,
		transfer.ErrGone, transfer.ErrHalted, transfer.ErrReplaced,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
