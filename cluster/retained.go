// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// refusal is a call that the rules around spec/ranks.yaml refuse.
type refusal struct {
	kind fsm.Kind
	why  string
}

func (e *refusal) Error() string { return e.kind.String() + ": " + e.why }

func (e *refusal) Is(target error) bool { return target == error(e.kind) }

var (
	errOver       = &refusal{fsm.Closed, "the name is over: it was used here, or is below the watermark"}
	errOutsider   = &refusal{fsm.Stale, "this process is not in the request's cohort, or a rank of it had not joined"}
	errHeld       = &refusal{fsm.Refused, "memory of them may still be touched"}
	errNotRetired = &refusal{fsm.Refused, "it is not retired"}
)

// Wait is a rank that a request waits for, and why.
type Wait struct {
	Rank        int
	Incarnation ownership.Incarnation
	Why         string
}

// String is the wait in one line.
func (w Wait) String() string { return fmt.Sprintf("rank %d (%.8v): %s", w.Rank, w.Incarnation, w.Why) }

// Retained is a request that has ended here or elsewhere and may not be given back.
type Retained struct {
	Session ownership.SessionName
	Waits   []Wait
}

// Retained lists the requests that are open here, have ended on some rank, and
// wait for proof, by name.
func (r *Rank) Retained() []Retained {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Retained
	for _, q := range r.view.requests {
		if q.rank == nil || q.system.Retired() || !q.system.Ended() && q.said.Outcome == 0 {
			continue
		}
		list = append(list, Retained{q.session, q.waits()})
	}
	slices.SortFunc(list, func(a, b Retained) int {
		return cmp.Or(cmp.Compare(a.Session.Request.Endpoint, b.Session.Request.Endpoint),
			cmp.Compare(a.Session.Request.Number, b.Session.Request.Number), cmp.Compare(a.Session.Attempt, b.Session.Attempt))
	})
	return list
}

func (q *Request) waits() []Wait {
	var list []Wait
	for i, l := range q.cohort.lives {
		s := &q.system
		w := Wait{Rank: i, Incarnation: l.name}
		switch {
		case s.Safe(i):
			continue
		case s.Gone(i):
			w.Why = "in doubt: its lease ended or it was replaced; only a fence is proof"
		case s.Answers(i) == outcome.Active:
			w.Why = "not heard: a live claim; its own word frees it, or its end and a fence"
		default:
			w.Why = s.Answers(i).String() + " and not drained"
		}
		list = append(list, w)
	}
	return list
}

// Member is one incarnation of a rank.
type Member struct {
	Rank         int
	Incarnation  ownership.Incarnation
	Registered   Revision
	Own          bool // it is, or was, this process
	Gone, Fenced bool
}

// Members lists every incarnation that was ever registered, by revision.
func (r *Rank) Members() []Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Member
	for _, l := range r.view.lives {
		list = append(list, Member{l.rank, l.name, l.registered, l.own, l.gone, l.fenced})
	}
	slices.SortFunc(list, func(a, b Member) int { return cmp.Compare(a.Registered, b.Registered) })
	return list
}
