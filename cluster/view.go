// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/ranks"
	"github.com/kvxfer/kvxfer/ownership"
)

// view is what one process knows of its group: the changes of the store,
// applied in order. It has no lock, no clock and does no I/O; what it wants done
// it leaves in out.
type view struct {
	ranks     int
	keys      keys
	ownNames  map[ownership.Incarnation]bool
	lives     map[ownership.Incarnation]*life
	byRank    [][]*life // in the order of registration
	cohorts   map[Revision]*cohort
	requests  map[ownership.SessionName]*Request
	past      map[ownership.SessionName]struct{} // over here, and never open again
	below     map[string]uint64                  // watermark of each creating endpoint
	applied   Revision
	unacked   int           // segments of others applied since this rank last told how far it has read
	undrained map[*life]int // requests open under a life of this process that have not said that they are drained
	pending   []*Request    // have something to say
	out       []output
	effects   []ranks.Effect // reused
	counters  Counters
}

// output is one thing that a change asks for, in order.
type output struct {
	decision Decision
	request  *Request // of the decision
	fence    *Fence
}

// Counters are totals since Join.
type Counters struct {
	// Writes of statements, of deletions, and of nothing but how far this rank
	// has read.
	StateWrites, Deletions, AckWrites uint64
	// Statements written and applied; Stale ones came from an incarnation that is
	// gone or not in the cohort, or about a request that is over here.
	Written, Applied, Stale uint64
	// Reloads are how often the watch broke and all keys were read anew.
	Reloads uint64
	// Malformed records were left out.
	Malformed uint64
	// Open requests, names that are over and kept until the watermark, and
	// segments of this rank that are still in the store: now, not totals.
	Open, Past, Segments int
}

func newView(n int, k keys) *view {
	return &view{
		ranks: n, keys: k, ownNames: map[ownership.Incarnation]bool{}, lives: map[ownership.Incarnation]*life{},
		byRank: make([][]*life, n), cohorts: map[Revision]*cohort{}, requests: map[ownership.SessionName]*Request{},
		past: map[ownership.SessionName]struct{}{}, below: map[string]uint64{}, undrained: map[*life]int{},
	}
}

// apply takes in one change. Changes come in order; those applied before are
// left out by the caller.
func (v *view) apply(e Event) error {
	v.applied = max(v.applied, e.Revision)
	n, err := v.keys.parse(e.Key)
	if err != nil {
		return err
	}
	if n.rank < 0 || n.rank >= v.ranks {
		return fmt.Errorf("cluster: key %q: rank %d of %d: %w", e.Key, n.rank, v.ranks, ErrRecord)
	}
	switch n.kind {
	case 'm':
		if !e.Deleted {
			v.appear(n.rank, n.life, e.Revision)
		}
	case 'a':
		err = v.aliveChanged(n.rank, e)
	case 'f':
		err = v.fenceWritten(e)
	case 'p':
		err = v.progressed(e)
	case 's':
		if !e.Deleted {
			err = v.segment(n, e)
		}
	}
	return err
}

func (v *view) aliveChanged(rank int, e Event) error {
	if !e.Deleted {
		name, err := ownership.ParseIncarnation(string(e.Value))
		if err != nil {
			return err
		}
		v.appear(rank, name, e.Revision)
		return nil
	}
	if l := v.current(rank); l != nil {
		v.lose(l, e.Revision)
	}
	return nil
}

func (v *view) fenceWritten(e Event) error {
	if e.Deleted {
		return nil
	}
	f, err := parseFence(e.Value)
	if err != nil {
		return err
	}
	l := v.lives[f.Incarnation]
	if l == nil || l.fenced {
		return nil
	}
	v.lose(l, e.Revision)
	l.fenced = true
	v.each(l, e.Revision, (*ranks.System).Fence)
	v.out = append(v.out, output{fence: &f})
	return nil
}

// lose puts an incarnation in doubt, for all requests that it is a member of.
func (v *view) lose(l *life, at Revision) {
	if l.gone {
		return
	}
	l.gone = true
	v.each(l, at, (*ranks.System).Lose)
}

// each does something for every request that the incarnation is a member of, in
// the order of names.
func (v *view) each(l *life, at Revision, do func(*ranks.System, int, []ranks.Effect) ([]ranks.Effect, error)) {
	var of []*Request
	for _, r := range v.requests {
		if r.cohort.lives[l.rank] == l {
			of = append(of, r)
		}
	}
	slices.SortFunc(of, func(a, b *Request) int {
		return cmp.Or(cmp.Compare(a.session.Request.Endpoint, b.session.Request.Endpoint),
			cmp.Compare(a.session.Request.Number, b.session.Request.Number), cmp.Compare(a.session.Attempt, b.session.Attempt))
	})
	for _, r := range of {
		v.effects, _ = do(&r.system, l.rank, v.effects[:0]) // neither is ever refused
		v.react(r, at)
	}
}

func (v *view) segment(n name, e Event) error {
	l := v.lives[n.life]
	if l == nil || l.rank != n.rank {
		return ErrRecord
	}
	if n.number <= l.lastSeen {
		return nil
	}
	l.lastSeen = n.number
	if !l.own {
		v.unacked++
	}
	d, err := newDecoder(e.Value)
	if err != nil {
		return err
	}
	for s, ok := d.next(); ok; s, ok = d.next() {
		v.hear(l, s, e.Revision)
	}
	return d.err()
}

func (v *view) hear(l *life, s statement, at Revision) {
	v.counters.Applied++
	r := v.requests[s.session]
	if r == nil {
		if !s.first || v.over(s.session) {
			v.counters.Stale++
			return
		}
		if r = v.begin(s.session, s.epoch); r == nil {
			return // this process is not in the cohort: not its business
		}
	}
	whose := ranks.LifeOther
	if s.epoch == r.cohort.epoch && r.cohort.lives[l.rank] == l {
		whose = ranks.LifeMember
	}
	var err error
	if v.effects, err = r.system.Hear(l.rank, whose, s.state.Outcome, s.state.Drained, v.effects[:0]); err != nil {
		v.counters.Stale++
	}
	v.react(r, at)
}

// over reports whether a name is not to be opened any more.
func (v *view) over(s ownership.SessionName) bool {
	_, past := v.past[s]
	return past || s.Request.Number < v.below[s.Request.Endpoint]
}

// begin makes a request known; nil if this process is not in its cohort.
func (v *view) begin(session ownership.SessionName, epoch Revision) *Request {
	c := v.cohortOf(epoch)
	if c == nil || c.own < 0 {
		return nil
	}
	r := &Request{session: session, cohort: c}
	r.system, _ = ranks.New(v.ranks) // cannot fail: the number is checked
	v.requests[session] = r
	for i, l := range c.lives {
		if l.gone {
			v.effects, _ = r.system.Lose(i, v.effects[:0])
			v.react(r, v.applied)
		}
		if l.fenced {
			v.effects, _ = r.system.Fence(i, v.effects[:0])
			v.react(r, v.applied)
		}
	}
	return r
}

// react does what the rules ask for after a change of a request.
func (v *view) react(r *Request, at Revision) {
	for _, f := range v.effects {
		switch f.Kind {
		case ranks.EndEffect:
			if r.system.Held() {
				v.decide(r, End, at)
			}
		case ranks.AnswerEmptyEffect:
			v.say(r, State{outcome.Cancelled, true})
		case ranks.RetireEffect:
			if r.system.Held() {
				v.decide(r, Retire, at)
			} else {
				v.forget(r)
			}
		}
	}
	v.effects = v.effects[:0]
}

// say queues the newest statement of this rank about a request.
func (v *view) say(r *Request, s State) {
	r.said = s
	if !r.queued {
		r.queued = true
		v.pending = append(v.pending, r)
	}
}

// nameAgain makes the next life tell of what was held under the ones before. As a
// statement of its own it is stale; but a rank that never opened a request learns of
// it by the first statement about it, and where nobody speaks under the life that is in
// the cohort, none would come.
func (v *view) nameAgain() {
	for _, r := range v.requests {
		if r.rank != nil && r.said.Outcome != 0 && !r.system.Retired() {
			r.published = false
			v.say(r, r.said)
		}
	}
}

func (v *view) decide(r *Request, verdict Verdict, at Revision) {
	v.out = append(v.out, output{decision: Decision{r.session, verdict, at}, request: r})
}

func (v *view) forget(r *Request) {
	delete(v.requests, r.session)
	if !v.over(r.session) {
		v.past[r.session] = struct{}{}
	}
}
