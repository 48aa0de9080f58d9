// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Defaults of a zero field in [Config].
const (
	DefaultOperationWait    = 30 * time.Second
	DefaultHandshakeTimeout = 10 * time.Second
	DefaultPeers            = 1 << 14
)

// Config is what an endpoint needs to know. Zero fields take the defaults.
type Config struct {
	// Name is how peers know this endpoint: 1 to 128 letters, digits and
	// ". _ - :". Required.
	Name string
	// Backend moves the bytes. The endpoint closes it when Stop succeeds.
	// Required.
	Backend backend.Backend
	// Agent is the name inside of the backend's metadata, where that is not Name:
	// the one that the backend's agent was created with. Give each life of an
	// endpoint a fresh one, such as the name and a random suffix: NIXL refuses
	// (NOT_ALLOWED) a restarted agent's metadata under a name that is loaded
	// already, and a peer cannot let go of those while an operation towards the
	// old life is not proven to have ended. It could not attach the new life then.
	Agent string
	// Contain is called once when a grace deadline passed without proof: memory
	// exists that nobody can say is free. Usually it ends or isolates the
	// process. It is called outside of all locks. Required: there is no silent
	// default (contract section 6).
	Contain func(ownership.Containment) error
	// RequestTimeout, T, and Grace, G, are those of the retirement clock; the
	// defaults are ownership's.
	RequestTimeout, Grace time.Duration
	// OperationWait is how long an own operation may run, after the backend's
	// Post has returned, before it is doubted. It stays retained and watched;
	// proof that comes later settles it. A Post that does not return is bounded
	// by RequestTimeout and Grace alone.
	OperationWait time.Duration
	// HandshakeTimeout bounds the exchange of Hellos in Attach.
	HandshakeTimeout time.Duration
	// OnRequest is called on a goroutine of its own for each REQUEST_DATA; see
	// Endpoint.OnRequest. It may be nil and set later.
	OnRequest func(*Request)
	// Observe is called with each event in order, from one goroutine. It may be
	// slow: then events are lost and counted (Counters.LostEvents), and nothing else. It must not call
	// Stop or Halt.
	Observe func(Event)
	// Log gets one line for each transition, with the transition's own time, and
	// for what an operator may need to know. Doubts and quarantine are warnings,
	// conflicts and FATAL errors, ends and releases are informative, the rest is
	// for debugging. A slow handler delays neither a transfer nor Observe; lines that
	// it has no time for are counted, and said where they are missing. nil: none.
	Log *slog.Logger
	// Trace is called with every call of the ownership rules, in the order in which
	// they were served; see ownership.Config. It must return at once: a trace.Writer
	// does, and makes a file of it that kvxfer check-trace judges. nil: no trace.
	Trace func(ownership.Step)
	// Notify makes every operation carry a notification, which the backend gives to
	// the target when it has ended, and looks for those of the peers. It is a second
	// proof, of the target's own: where an operation is in doubt because its handle
	// lost it, both sides are free by it. It costs a message an operation, calls of
	// Backend.Progress while peers may reach our memory, and on some transports an
	// operation does not end without its notification (see docs/nixl.md). Set it on
	// both sides.
	Notify bool
	// FenceGone looks, whenever the stream to a peer on this host has ended, whether
	// its process has, and then calls Endpoint.FenceGone for it. It looks on until the
	// peer is back, or nothing waits for proof about that life any more.
	FenceGone bool
	// Retired says when the other ranks on which a request lives have let go of it
	// (contract section 9): it returns the channel of cluster.Request.Retired, or nil for
	// a request that lives here alone. It is called once for each session, before anything
	// of it is published, and must return at once. Until the channel is closed neither
	// Close nor Drain nor Stop gives the session's memory back, however it ended here:
	// a sibling that has not drained may still have to be asked for the same bytes. nil:
	// no request lives on several ranks.
	Retired func(ownership.SessionName) <-chan struct{}
	// Quarantine is how far a doubt closes admission.
	Quarantine ownership.Quarantine
	// Incarnation is this life of the endpoint; zero takes a random one.
	Incarnation ownership.Incarnation
	// FirstRequest is the number of the first request that this endpoint
	// creates by itself. The default comes from the wall clock, so that a
	// restart does not use a number again.
	FirstRequest uint64
	// Owners, Sessions, Tombstones, Requests and Outbox bound the registry's
	// tables; the defaults are ownership's.
	Owners, Sessions, Tombstones, Requests, Outbox int
	// Peers bounds the names of other endpoints that are remembered. A new one takes
	// the place of one of which nothing is left; where there is none, it is turned away
	// with ownership.ErrCapacity.
	Peers int
	// PeerTombstones bounds the cancels of one peer that came before their request,
	// over all of its lives; a quarter of Tombstones by default. The next one is
	// neither taken in nor answered until there is room, and takes no room of others.
	PeerTombstones int
	// PeerRequests bounds the requests of one peer that wait for an answer, so that
	// none takes the room of the others; a quarter of Requests by default. One
	// beyond it is dropped and counted in RequestsTurnedAway, as where the whole
	// table is full, and the peer's session is cancelled: it may ask again in another
	// attempt.
	PeerRequests int
	// PeerOutbox bounds the reports that wait for one peer, over all of its lives; a
	// quarter of Outbox by default. While as many wait, what would have to be answered
	// is not taken in from it, as with PeerTombstones, and Receive, Offer and Send
	// towards it are refused with ownership.ErrCapacity. Others go on: a peer that
	// reads nothing takes no room of theirs.
	PeerOutbox int

	_ struct{}
}

// validate checks what the registry does not, and sets defaults.
func (c *Config) validate() error {
	if err := wire.CheckEndpoint(c.Name); err != nil {
		return invalid("config", "Name: %w", err)
	}
	if c.Agent == "" {
		c.Agent = c.Name
	}
	if err := wire.CheckEndpoint(c.Agent); err != nil {
		return invalid("config", "Agent: %w", err)
	}
	if c.Backend == nil {
		return invalid("config", "Backend is nil")
	}
	if c.OperationWait < 0 || c.HandshakeTimeout < 0 || c.Peers < 0 {
		return invalid("config", "OperationWait, HandshakeTimeout or Peers is negative")
	}
	if c.Peers == 0 {
		c.Peers = DefaultPeers
	}
	if c.OperationWait == 0 {
		c.OperationWait = DefaultOperationWait
	}
	if c.HandshakeTimeout == 0 {
		c.HandshakeTimeout = DefaultHandshakeTimeout
	}
	if c.Requests == 0 {
		c.Requests = ownership.DefaultRequests
	}
	if c.PeerRequests == 0 {
		c.PeerRequests = max(1, c.Requests/4)
	}
	if c.Incarnation.IsZero() {
		c.Incarnation = ownership.NewIncarnation()
	}
	if c.FirstRequest == 0 {
		c.FirstRequest = uint64(max(1, time.Now().UnixMicro()))
	}
	return nil
}

// registry makes the registry; fatal is called once a deadline was missed, before
// Contain is.
func (c *Config) registry(fatal func()) (*ownership.Registry, error) {
	contain := c.Contain
	if contain != nil {
		contain = func(what ownership.Containment) error {
			fatal() // once in a registry's life
			c.Log.Error("grace deadline passed without proof", "endpoint", c.Name, "session", what.Session)
			return c.Contain(what)
		}
	}

	r, err := ownership.New(ownership.Config{
		Name: ownership.Accessor(c.Name), Incarnation: c.Incarnation,
		RequestTimeout: c.RequestTimeout, Grace: c.Grace, Contain: contain, Quarantine: c.Quarantine,
		Owners: c.Owners, Sessions: c.Sessions, Tombstones: c.Tombstones, Requests: c.Requests, Outbox: c.Outbox,
		PeerTombstones: c.PeerTombstones, PeerRequests: c.PeerRequests, PeerOutbox: c.PeerOutbox,
		Trace: c.Trace,
	})
	if err != nil {
		return nil, fmt.Errorf("transfer: endpoint %s: %w", c.Name, err)
	}
	return r, nil
}
