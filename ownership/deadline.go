// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"container/heap"
	"time"
)

// deadline is a session's place among the deadlines.
type deadline struct {
	at time.Duration
	// place is the index in the heap plus one; 0 while the session has none.
	place int
}

// deadlines orders the sessions that have a running clock by when it ends; a
// session's order of admission breaks ties, so that a replay is exact.
type deadlines []*session

func (d *deadlines) next() (time.Duration, bool) {
	if len(*d) == 0 {
		return 0, false
	}
	return (*d)[0].deadline.at, true
}

// set gives a session a deadline or moves it.
func (d *deadlines) set(s *session, at time.Duration) {
	switch {
	case s.deadline.place == 0:
		s.deadline.at = at
		heap.Push(d, s)
	case s.deadline.at != at:
		s.deadline.at = at
		heap.Fix(d, s.deadline.place-1)
	}
}

func (d *deadlines) clear(s *session) {
	if s.deadline.place > 0 {
		heap.Remove(d, s.deadline.place-1)
	}
}

// Len, Less, Swap, Push and Pop are container/heap's.
func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool {
	if d[i].deadline.at != d[j].deadline.at {
		return d[i].deadline.at < d[j].deadline.at
	}
	return d[i].order < d[j].order
}

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].deadline.place, d[j].deadline.place = i+1, j+1
}

func (d *deadlines) Push(x any) {
	s := x.(*session)
	*d = append(*d, s)
	s.deadline.place = len(*d)
}

func (d *deadlines) Pop() any {
	last := len(*d) - 1
	s := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	s.deadline.place = 0
	return s
}
