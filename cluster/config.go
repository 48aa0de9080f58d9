// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// MaxRanks is the most ranks that one group may have (spec/ranks.yaml). A
// process that has requests on several sets of ranks joins a group for each.
const MaxRanks = 64

// Defaults of zero fields in Config.
const (
	DefaultTick     = time.Millisecond
	DefaultLease    = 10 * time.Second
	DefaultAckAfter = time.Second
	DefaultSegment  = 512 << 10
)

// Config says which rank of which group a process is. Zero fields take the
// defaults.
type Config struct {
	// Group is the name of the ranks that share requests: 1 to 128 characters
	// without "/". Required.
	Group string
	// Rank counts from 0, Ranks is how many there are, 1 to MaxRanks.
	Rank, Ranks int
	// Store is what the ranks share. Required. The rank does not close it.
	Store Store
	// Prefix is put before all keys in the store; default "/kvxfer/".
	Prefix string
	// Incarnation is this life of the rank; zero takes a random one.
	Incarnation ownership.Incarnation
	// Tick is the time between two writes of statements.
	Tick time.Duration
	// Lease is how long the store counts this rank as alive without hearing of
	// it. A rank that is silent for longer is in doubt for all others.
	Lease time.Duration
	// AckAfter is how long a rank that has nothing to say may wait before it
	// tells how far it has read, so that others can delete what it knows.
	AckAfter time.Duration
	// Segment bounds the bytes of one write of statements.
	Segment int
	// OnDecision is called for each decision about a request that is open here,
	// in the order of revisions. It must return soon: nothing is applied
	// meanwhile. Request.Ended and Request.Retired tell the same.
	OnDecision func(Decision)
	// OnFence is called for each fence in the order of revisions, so that a rank
	// may apply it to what it owns itself (transfer.Endpoint.Fence).
	OnFence func(Fence)
	// OnStatus is called when the rank's standing with the store changes.
	OnStatus func(Status)
	// OnStep is called before and after each step of the protocol, for tests
	// that end a process between any two. nil: none.
	OnStep func(Step)

	_ struct{}
}

// State is what a rank says of its part of a request.
type State struct {
	// Outcome is the logical answer; ACTIVE is not said.
	Outcome outcome.State
	// Drained says that nothing can touch this rank's memory of the request any
	// more. A doubt may take it back.
	Drained bool
}

// Decision is what the ranks' statements mean for a request of this rank.
type Decision struct {
	Session ownership.SessionName
	Verdict Verdict
	At      Revision // the change that decided it
}

// Verdict is one of the decisions about a request. The zero value is none.
type Verdict uint8

// The verdicts. End comes at most once and Retire at most once; a success
// everywhere has no End.
const (
	// End: the request cannot succeed on all ranks: end what is held of it here.
	End Verdict = iota + 1
	// Retire: this rank may give its memory of the request back.
	Retire
)

// String returns "END" or "RETIRE".
func (v Verdict) String() string {
	switch v {
	case End:
		return "END"
	case Retire:
		return "RETIRE"
	}
	return fmt.Sprintf("Verdict(%d)", uint8(v))
}

// Errors that callers match with errors.Is. A refusal by the rules matches a
// kind of package fsm (fsm.Stale, fsm.Closed, fsm.Misuse).
var (
	// ErrConfig: a Config, a State or a Fence is not usable.
	ErrConfig = errors.New("invalid argument")
	// ErrIncomplete: a rank of the group has not joined yet.
	ErrIncomplete = errors.New("ranks are missing")
	// ErrAlive: the store counts the incarnation as alive, so there is no fence of it.
	ErrAlive = errors.New("incarnation is alive")
	// ErrReplaced: another process has taken this rank's place.
	ErrReplaced = errors.New("rank was replaced by another process")
	// ErrClosed: the Rank was closed.
	ErrClosed = errors.New("rank is closed")
	// ErrUnknown: no incarnation or request of that name is known.
	ErrUnknown = errors.New("not known")
	// ErrRecord: the store has something that no rank writes.
	ErrRecord = errors.New("malformed record")
)

func (c Config) validate() (Config, error) {
	bad := func(what string, value any) (Config, error) {
		return Config{}, fmt.Errorf("cluster: config: %s is %v: %w", what, value, ErrConfig)
	}
	switch {
	case c.Store == nil:
		return bad("Store", "nil")
	case c.Group == "" || len(c.Group) > 128 || strings.Contains(c.Group, "/"):
		return bad("Group", fmt.Sprintf("%q", c.Group))
	case c.Ranks < 1 || c.Ranks > MaxRanks:
		return bad("Ranks", c.Ranks)
	case c.Rank < 0 || c.Rank >= c.Ranks:
		return bad("Rank", c.Rank)
	case c.Tick < 0 || c.Lease < 0 || c.AckAfter < 0 || c.Segment < 0:
		return bad("Tick, Lease, AckAfter or Segment", "negative")
	case c.Segment > 0 && c.Segment < minSegment:
		return bad("Segment", c.Segment)
	}
	if c.Prefix == "" {
		c.Prefix = "/kvxfer/"
	}
	if c.Incarnation.IsZero() {
		c.Incarnation = ownership.NewIncarnation()
	}
	setDefault(&c.Tick, DefaultTick)
	setDefault(&c.Lease, DefaultLease)
	setDefault(&c.AckAfter, DefaultAckAfter)
	setDefault(&c.Segment, DefaultSegment)
	return c, nil
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
