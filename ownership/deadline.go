// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"container/heap"
	"time"
)

// deadlines orders the sessions that have a running clock by when it ends; a
// session's order of admission breaks ties, so that a replay is exact.
type deadlines []*session

func (d *deadlines) next() (time.Duration, bool) {
	if len(*d) == 0 {
		return 0, false
	}
	return (*d)[0].deadline, true
}

// set gives a session a deadline or moves it.
func (d *deadlines) set(s *session, at time.Duration) {
	switch {
	case s.place == 0:
		s.deadline = at
		heap.Push(d, s)
	case s.deadline != at:
		s.deadline = at
		heap.Fix(d, int(s.place)-1)
	}
}

func (d *deadlines) clear(s *session) {
	if s.place > 0 {
		heap.Remove(d, int(s.place)-1)
	}
}

// Len, Less, Swap, Push and Pop are container/heap's.
func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool {
	if d[i].deadline != d[j].deadline {
		return d[i].deadline < d[j].deadline
	}
	return d[i].order < d[j].order
}

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = int32(i+1), int32(j+1)
}

func (d *deadlines) Push(x any) {
	s := x.(*session)
	*d = append(*d, s)
	s.place = int32(len(*d))
}

func (d *deadlines) Pop() any {
	last := len(*d) - 1
	s := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	s.place = 0
	return s
}
