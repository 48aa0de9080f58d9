// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "time"

// deadlines is a heap of the sessions that have a running clock, by when it ends; a
// session's order of admission breaks ties, so that a replay is exact. Whoever
// changes a clock says so with fix before he changes another.
type deadlines []*session

// due returns when the session's running clock ends.
func (s *session) due() time.Duration {
	if s.clock.Waits() {
		return s.clock.Expires()
	}
	return s.clock.GraceEnds()
}

func (d deadlines) next() (time.Duration, bool) {
	if len(d) == 0 {
		return 0, false
	}
	return d[0].due(), true
}

// fix takes in a session whose clock runs, or finds the place of one that was changed.
func (d *deadlines) fix(s *session) {
	if s.place == 0 {
		*d = append(*d, s)
		s.place = int32(len(*d))
	}
	if i := int(s.place) - 1; !d.up(i) {
		d.down(i)
	}
}

// clear takes out a session whose clock does not run any more.
func (d *deadlines) clear(s *session) {
	i := int(s.place) - 1
	if i < 0 {
		return
	}
	last := len(*d) - 1
	moved := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	s.place = 0
	if i == last {
		return
	}
	(*d)[i], moved.place = moved, int32(i+1)
	if !d.up(i) {
		d.down(i)
	}
}

func (d deadlines) before(i, j int) bool {
	if a, b := d[i].due(), d[j].due(); a != b {
		return a < b
	}
	return d[i].order < d[j].order
}

func (d deadlines) swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = int32(i+1), int32(j+1)
}

// up moves a session towards the front and reports whether it moved.
func (d deadlines) up(i int) bool {
	from := i
	for i > 0 && d.before(i, (i-1)/2) {
		d.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i != from
}

func (d deadlines) down(i int) {
	for {
		least := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < len(d) && d.before(k, least) {
				least = k
			}
		}
		if least == i {
			return
		}
		d.swap(i, least)
		i = least
	}
}
