// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
)

type evidenceKind uint8

const (
	_ evidenceKind = iota
	evidenceOperation
	evidenceReport
	evidenceAck
	evidenceLocal
	evidenceFence
	evidenceGone
)

// evidence is one call that carries proof or doubt, with the time at which it
// arrived. Which fields count depends on kind.
type evidence struct {
	at      time.Duration
	kind    evidenceKind
	claim   ClaimName
	session SessionName
	from    Member
	status  operation.Status
	result  Evidence
	local   LocalEvent
	scope   Scope
}

// arrival is evidence that waits for the registry's lock, and then its answer.
// The answer is guarded by the registry's lock.
type arrival struct {
	evidence
	done    bool
	effects Effects
	err     error
}

// inbox takes evidence in before any lock that a call may hold for long, so
// that whoever judges deadlines has all of it (contract §6).
type inbox struct {
	some    atomic.Bool // waiting is not empty; changed under mu
	mu      sync.Mutex
	waiting []*arrival
}

func (i *inbox) put(a *arrival) {
	i.mu.Lock()
	i.waiting = append(i.waiting, a)
	i.some.Store(true)
	i.mu.Unlock()
}

// take empties the inbox and returns what was in it in the order of arrival
// times; equal times keep the order of the calls.
func (i *inbox) take() []*arrival {
	i.mu.Lock()
	list := i.waiting
	i.waiting = nil
	i.some.Store(false)
	i.mu.Unlock()
	if len(list) > 1 {
		slices.SortStableFunc(list, func(a, b *arrival) int {
			return int(min(1, max(-1, a.at-b.at)))
		})
	}
	return list
}
