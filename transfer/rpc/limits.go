// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// Defaults of a zero field in [Limits].
const (
	DefaultMessagesPerSecond = 500_000
	DefaultBurst             = 10_000
	DefaultStreams           = 4
)

// Limits bound what one peer can cost here. How many requests of a peer may wait
// for an answer is bounded by the endpoint: transfer.Config.
type Limits struct {
	// MessageBytes is the size of the largest message that is read; the stream
	// that brings a larger one ends with ErrLimit. Default: wire.MaxMessage,
	// which the largest valid message fits into; a smaller limit also refuses
	// valid requests with very many segments.
	MessageBytes int
	// MessagesPerSecond, after the first Burst, is how fast messages are read.
	// A peer that is faster waits: nothing of it is lost or refused. With TLS
	// all streams of one name share it.
	MessagesPerSecond float64
	Burst             int
	// Streams is how many streams under one certificate's name may be open at a
	// Listener at once. A peer needs one, and two while it replaces it.
	Streams int
}

// Counters count what was refused, delayed or ended, by all listeners and
// streams that they were given to.
type Counters struct {
	// ForeignUsers are connections to a Unix socket from another user's process.
	ForeignUsers atomic.Uint64
	// Untrusted are connections without a certificate that is to be trusted.
	Untrusted atomic.Uint64
	// Misnamed are Hellos with a name that the peer's certificate does not have.
	Misnamed atomic.Uint64
	// Oversize are messages above Limits.MessageBytes.
	Oversize atomic.Uint64
	// Malformed are messages that failed their validation.
	Malformed atomic.Uint64
	// Delayed are messages that waited because of Limits.MessagesPerSecond.
	Delayed atomic.Uint64
	// TurnedAway are streams beyond Limits.Streams or the listener's backlog.
	TurnedAway atomic.Uint64
}

// LimitError says which limit a peer went beyond.
type LimitError struct {
	Peer  string
	What  string // "message bytes" or "streams"
	Limit int
	Err   error // the carrier's own, may be nil
}

// Error returns "rpc: peer: limit of 4194304 message bytes exceeded".
func (e *LimitError) Error() string {
	return fmt.Sprintf("rpc: %s: limit of %d %s exceeded", e.Peer, e.Limit, e.What)
}

// Unwrap returns ErrLimit and the carrier's error.
func (e *LimitError) Unwrap() []error { return nonNil(ErrLimit, e.Err) }

// meter paces the messages of one peer.
type meter struct {
	limiter *rate.Limiter
	delayed *atomic.Uint64
}

func (c *Config) meter() *meter {
	return &meter{limiter: rate.NewLimiter(rate.Limit(c.Limits.MessagesPerSecond), c.Limits.Burst), delayed: &c.Counters.Delayed}
}

// pass returns when one more message may be read.
func (m *meter) pass(ctx context.Context) error {
	if m.limiter.Allow() {
		return nil
	}
	m.delayed.Add(1)
	return m.limiter.Wait(ctx)
}

// account is what a Listener keeps of one name: there are no more of them than
// names that the authority has signed.
type account struct {
	meter   *meter
	streams int
}

// accounts are a Listener's, by the first name in the peer's certificate.
type accounts struct {
	config *Config
	mu     sync.Mutex
	byName map[string]*account // guarded by mu
}

// open admits one more stream of a name; done gives its place back. Without TLS
// nobody knows who it is, and each stream is on its own.
func (a *accounts) open(names []string) (m *meter, done func(), err error) {
	if len(names) == 0 {
		return a.config.meter(), func() {}, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.byName[names[0]]
	if of == nil {
		of = &account{meter: a.config.meter()}
		a.byName[names[0]] = of
	}
	if of.streams >= a.config.Limits.Streams {
		return nil, nil, &LimitError{Peer: names[0], What: "streams", Limit: a.config.Limits.Streams}
	}
	of.streams++
	return of.meter, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		of.streams--
	}, nil
}
