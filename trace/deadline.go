// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"container/heap"
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/gen/trigger"
)

// due is one entry among the deadlines; it is out of date where the session's own
// deadline is another one.
type due struct {
	at      time.Duration
	session *session
}

// deadlines is a heap by time, and then by the order of admission.
type deadlines []due

func (d deadlines) Len() int      { return len(d) }
func (d deadlines) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d deadlines) Less(i, j int) bool {
	if d[i].at != d[j].at {
		return d[i].at < d[j].at
	}
	return d[i].session.order < d[j].session.order
}
func (d *deadlines) Push(x any) { *d = append(*d, x.(due)) }
func (d *deadlines) Pop() any {
	old := *d
	last := old[len(old)-1]
	*d = old[:len(old)-1]
	return last
}

// none is the deadline of a session without a running clock.
const none = time.Duration(-1)

// schedule keeps a session's place among the deadlines after its clock changed.
func (c *checker) schedule(s *session) {
	at := none
	switch {
	case s.clock.Closed():
	case s.clock.Waits():
		at = s.clock.Expires()
	case s.clock.Drains() && !c.fatalRules:
		at = s.clock.GraceEnds()
	}
	if at == s.due {
		return
	}
	s.due = at
	if at == none {
		return
	}
	if len(c.deadlines) > 64+4*len(c.owned) {
		c.compact()
	}
	heap.Push(&c.deadlines, due{at, s})
}

// compact drops what is out of date, so that sessions that are closed are not kept
// until the deadlines that they never met.
func (c *checker) compact() {
	c.deadlines = slices.DeleteFunc(c.deadlines, func(d due) bool { return d.session.due != d.at })
	heap.Init(&c.deadlines)
}

// judge applies every deadline up to at, each at its own time; at itself is too late.
func (d *prediction) judge(at time.Duration) {
	for len(d.deadlines) > 0 && d.deadlines[0].at <= at {
		next := heap.Pop(&d.deadlines).(due)
		s := next.session
		if s.due != next.at || s.broken {
			continue // it was moved or the session is gone
		}
		s.due = none
		d.now = next.at
		if s.clock.Waits() {
			s.expired = true
			d.failSession(s, trigger.CauseTimeout, trigger.OriginTimeout, "", false)
			d.spread(s)
			d.flush()
			continue
		}
		if _, err := s.clock.Exceed(next.at, d.fatalRules, nil); err == nil {
			d.fatalRules = true
			d.want(s, Record{Effect: effectFatal, Deadline: int64(next.at)})
		}
	}
}
