// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"sync/atomic"

	"github.com/kvxfer/kvxfer/ownership"
)

// Counters are totals since New.
type Counters struct {
	ownership.Counters
	// RepeatedMessages were dropped because their number had come before.
	RepeatedMessages uint64
	// ForeignMessages were dropped because they named a party that the stream
	// does not stand for, or would cancel a session of other peers. Neither is
	// evidence (contract section 8).
	ForeignMessages uint64
	// ProtocolViolations are streams that were ended because the peer sent what
	// no endpoint sends: ErrProtocol.
	ProtocolViolations uint64
	// UndeliverableReports were for a life of a peer that is gone.
	UndeliverableReports uint64
	// RequestsTurnedAway found the table of kept requests full, or their name
	// taken by a session of other peers.
	RequestsTurnedAway uint64
	// ForeignNotifications of the backend were not of this protocol, or not from
	// whom they named.
	ForeignNotifications uint64
	// LostEvents had to be dropped because Observe, or Log, was too slow.
	LostEvents uint64
	// FailedHandshakes are calls of Attach that returned an error.
	FailedHandshakes uint64
	// ProgressErrors are errors of Backend.Progress.
	ProgressErrors uint64
}

type counters struct {
	duplicates, foreign, violations, undeliverable, requestsDropped, handshakes, progressErrors, foreignNotifications atomic.Uint64
}

// Counters returns the totals.
func (e *Endpoint) Counters() Counters {
	return Counters{
		Counters:             e.registry.Counters(),
		RepeatedMessages:     e.counts.duplicates.Load(),
		ForeignMessages:      e.counts.foreign.Load(),
		ProtocolViolations:   e.counts.violations.Load(),
		UndeliverableReports: e.counts.undeliverable.Load(),
		RequestsTurnedAway:   e.counts.requestsDropped.Load(),
		ForeignNotifications: e.counts.foreignNotifications.Load(),
		LostEvents:           e.timeline.lost(),
		FailedHandshakes:     e.counts.handshakes.Load(),
		ProgressErrors:       e.counts.progressErrors.Load(),
	}
}
