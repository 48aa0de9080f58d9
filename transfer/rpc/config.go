// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"cmp"
	"context"

	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Config says how streams are carried. The zero value is for one machine:
// loopback addresses and Unix sockets, without TLS.
type Config struct {
	// Identity makes every stream mutual TLS 1.3, on loopback and Unix sockets
	// too; both sides need one, signed by the same authority. An address beyond
	// this machine needs it: without, the error is ErrNotLocal.
	Identity *Identity
	// Peer is the only name that Dial accepts for who answers; empty: any, with
	// TLS any that its certificate has.
	Peer string
	// Limits bound what one peer can cost; zero fields take the defaults.
	Limits Limits
	// Counters, where not nil, count what was refused; see its fields.
	Counters *Counters

	_ struct{}
}

// Listen is Config{}.Listen: on this machine, without TLS.
func Listen(addr string) (*Listener, error) { return Config{}.Listen(addr) }

// Dial is Config{}.Dial: on this machine, without TLS.
func Dial(ctx context.Context, addr string) (*Stream, error) { return Config{}.Dial(ctx, addr) }

// filled returns the configuration with its defaults.
func (c Config) filled() Config {
	c.Limits.MessageBytes = cmp.Or(c.Limits.MessageBytes, wire.MaxMessage)
	c.Limits.MessagesPerSecond = cmp.Or(c.Limits.MessagesPerSecond, DefaultMessagesPerSecond)
	c.Limits.Burst = cmp.Or(c.Limits.Burst, DefaultBurst)
	c.Limits.Streams = cmp.Or(c.Limits.Streams, DefaultStreams)
	if c.Counters == nil {
		c.Counters = &Counters{}
	}
	return c
}
