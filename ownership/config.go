// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "time"

// Defaults of a zero field in [Config].
const (
	DefaultRequestTimeout = 60 * time.Second
	DefaultGrace          = 30 * time.Second
	DefaultOwners         = 1 << 20
	DefaultSessions       = 1 << 20
	DefaultTombstones     = 1 << 16
	DefaultRequests       = 1 << 16
	DefaultOutbox         = 1 << 20
)

// MaxAccessors is how many accessors, candidates included, a piece may have.
const MaxAccessors = 64

// Config is what a registry needs to know. Zero fields take the defaults.
type Config struct {
	// Name is this endpoint's name as its peers know it. Required.
	Name Accessor
	// Incarnation is this life of the endpoint. Required; see NewIncarnation.
	Incarnation Incarnation
	// RequestTimeout, T, runs from a session's first publication to its outcome.
	RequestTimeout time.Duration
	// Grace, G, runs from a session's drain start until everything is proven.
	Grace time.Duration
	// Contain is called once in the life of a registry, when a grace deadline
	// has passed without proof (FATAL). Required: there is no silent default.
	// The registry calls it outside of all locks, on the goroutine of the call
	// that noticed the deadline and before that call returns; every other call
	// goes on meanwhile. Its error is recorded in Counters and Snapshot.
	Contain func(Containment) error
	// Quarantine is how far a doubt closes admission.
	Quarantine Quarantine
	// Owners, Sessions, Tombstones, Requests and Outbox bound the unreleased
	// pieces, the sessions from admission to close, the cancelled attempts that
	// were not admitted yet, the kept requests for data, and the waiting messages.
	// A full table refuses what is new and drops nothing that is owned.
	Owners, Sessions, Tombstones, Requests, Outbox int
	// PeerTombstones, PeerRequests and PeerOutbox bound what one accessor, over all of its
	// lives, may have in the tables of tombstones, of kept requests and of waiting
	// messages, so that none takes the room of the others; a quarter of the table by
	// default. What goes beyond the share is refused as by a full table: while as much
	// waits for an accessor as may, pieces that name it are not admitted, and its requests
	// and cancels that would have to be answered at once are not taken in. What is owed
	// for pieces that were admitted before waits all the same, and is counted in no other's
	// room. Cancels of this endpoint's own have no share of the tombstones.
	PeerTombstones, PeerRequests, PeerOutbox int
	// Trace is called with every call in the order in which they were served, and with
	// what came of it, also where that is nothing. It is called under the registry's
	// lock: it must return at once and must not call the registry. nil: no trace,
	// and no cost.
	Trace func(Step)

	_ struct{}
}

// Containment says what passed its grace deadline.
type Containment struct {
	// Session is the first session that was not settled at its deadline.
	Session SessionName
	// Deadline is when it had to be settled; Noticed is the time of the call that judged.
	Deadline, Noticed time.Duration
	// Retained lists what it holds without proof.
	Retained []Retained
}

func (c *Config) validate() *Error {
	bad := func(why string) *Error { return fail(KindInvalid, "config", why) }
	switch {
	case c.Name == "" || c.Name == Local:
		return bad("Name is empty or \"local\"")
	case c.Incarnation.IsZero():
		return bad("Incarnation is zero; use NewIncarnation")
	case c.Contain == nil:
		return bad("Contain is nil: say what contains memory that nobody can prove free")
	case c.RequestTimeout < 0 || c.Grace < 0:
		return bad("RequestTimeout or Grace is negative")
	case c.Quarantine > QuarantineOff:
		return bad(c.Quarantine.String())
	}
	defaultTo(&c.RequestTimeout, DefaultRequestTimeout)
	defaultTo(&c.Grace, DefaultGrace)
	for _, b := range []struct {
		field *int
		def   int
		name  string
	}{
		{&c.Owners, DefaultOwners, "Owners"}, {&c.Sessions, DefaultSessions, "Sessions"},
		{&c.Tombstones, DefaultTombstones, "Tombstones"}, {&c.Requests, DefaultRequests, "Requests"},
		{&c.Outbox, DefaultOutbox, "Outbox"},
		{&c.PeerTombstones, share(c.Tombstones, DefaultTombstones), "PeerTombstones"},
		{&c.PeerRequests, share(c.Requests, DefaultRequests), "PeerRequests"},
		{&c.PeerOutbox, share(c.Outbox, DefaultOutbox), "PeerOutbox"},
	} {
		if *b.field < 0 {
			return bad(b.name + " is negative")
		}
		if *b.field > maxTable {
			return bad(b.name + " is more than 16777215")
		}
		defaultTo(b.field, b.def)
	}
	return nil
}

// share is the part of a table that one peer may fill.
func share(table, def int) int {
	defaultTo(&table, def)
	return max(1, table/4)
}

func defaultTo[T time.Duration | int](field *T, def T) {
	if *field == 0 {
		*field = def
	}
}
