// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ranks

import (
	"fmt"
	"slices"
	"time"
)

// Verdict is what a history says.
type Verdict struct {
	Requests int // that were opened on any rank
	Retired  int // (request, rank) pairs that gave their memory back
	Held     int // pairs that were opened and neither retired nor died with their process
	Broken   []string
	// Latency is, of each failed or cancelled request that all ranks retired,
	// the time from its first end to its last retirement; of a success, from the
	// last rank's success.
	Latency map[Ending][]time.Duration
	// First and Last are the moments of the first opening and last retirement.
	First, Last time.Duration
}

// part is one rank's part of a request.
type part struct {
	life                            string
	opened, ended, drained, retired time.Duration
}

// Judge checks a history against I14 with nothing of the library in it: when a
// rank gave its memory of a request back that did not succeed, every rank that
// had opened it was drained before, or its incarnation fenced.
func Judge(events []Event, mix Mix, ranks int) Verdict {
	v := Verdict{Latency: map[Ending][]time.Duration{}}
	parts := map[int][]part{}
	fenced := map[string]time.Duration{}
	for _, e := range events {
		if e.What == Fenced {
			if _, before := fenced[e.Life]; !before {
				fenced[e.Life] = e.At
			}
			continue
		}
		if parts[e.Request] == nil {
			parts[e.Request] = make([]part, ranks)
		}
		p := &parts[e.Request][e.Rank]
		switch e.What {
		case Opened:
			p.life, p.opened = e.Life, e.At
			if v.First == 0 {
				v.First = e.At
			}
		case Ended:
			p.ended = e.At
		case Drained:
			p.drained = e.At
		case Retired:
			p.retired, v.Last = e.At, e.At
		}
	}
	numbers := make([]int, 0, len(parts))
	for n := range parts {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		v.request(n, mix.Of(n), parts[n], fenced)
	}
	return v
}

func (v *Verdict) request(n int, how Ending, parts []part, fenced map[string]time.Duration) {
	var ended, last time.Duration
	all := true
	v.Requests++
	for i, p := range parts {
		if p.ended > 0 && (ended == 0 || p.ended < ended || how == Success) {
			ended = p.ended
		}
		last = max(last, p.retired)
		all = all && p.retired > 0
		if p.opened > 0 && p.retired == 0 {
			v.Held++
		}
		if p.retired == 0 {
			continue
		}
		v.Retired++
		for j, q := range parts {
			f, isFenced := fenced[q.life]
			proof := q.opened == 0 || q.drained > 0 && q.drained <= p.retired || isFenced && f <= p.retired
			if !proof {
				v.Broken = append(v.Broken, fmt.Sprintf("I14: request %d: rank %d retired it at %v, and rank %d (%.8s) is not drained", n, i, p.retired, j, q.life))
			}
		}
	}
	if all && ended > 0 {
		v.Latency[how] = append(v.Latency[how], last-ended)
	}
}
