// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import "slices"

// The oracle is the benchmark model written by hand, plainly, as its page describes
// it: a second implementation that shares nothing with the explorer.

const (
	oOpen, oSealed, oAborted = 0, 1, 2
	oIdle, oMay, oQuiesced   = 0, 1, 2

	oActive, oSucceeded, oFailed, oCancelled = 0, 1, 2, 3

	oU, oS, oP, oD, oQ, oR = 0, 1, 2, 3, 4, 5
)

type oWriter struct {
	claim          int
	touching, fail bool
}

type oState struct {
	gate, local, outcome    int
	pend, invalid, released bool
	w                       [3]oWriter
}

type oracle struct {
	n     int
	loose bool
	bug   string
	found map[string]int // shortest length by invariant
	edges int
}

func (s *oState) ok(i int) bool { return s.w[i].claim == oR && !s.w[i].fail }

func (o *oracle) allOK(s *oState) bool {
	for i := range o.n {
		if !s.ok(i) {
			return false
		}
	}
	return true
}

func (o *oracle) allSettled(s *oState) bool {
	for i := range o.n {
		if c := s.w[i].claim; c != oS && c != oQ && c != oR {
			return false
		}
	}
	return true
}

// next calls f with every enabled event and the state after it.
func (o *oracle) next(s oState, f func(event string, i int, t oState)) {
	if s.released {
		return
	}
	do := func(event string, guard bool, change func(*oState)) {
		if guard {
			t := s
			change(&t)
			f(event, -1, t)
		}
	}
	do("begin", s.gate == oOpen && !s.pend && s.outcome != oCancelled, func(t *oState) { t.pend = true })
	do("seal", s.gate == oOpen && s.outcome != oCancelled, func(t *oState) { t.gate = oSealed })
	do("abort", s.gate == oOpen && s.outcome == oCancelled, func(t *oState) { t.gate = oAborted })
	do("finish", s.gate != oOpen && s.pend && (o.bug != "finish" || s.gate == oSealed), func(t *oState) { t.pend = false })
	do("cancel", true, func(t *oState) {
		if t.outcome == oActive {
			t.outcome = oCancelled
		}
	})
	do("timeout", true, func(t *oState) {
		if t.outcome == oActive || o.bug == "timeout" {
			t.outcome = oFailed
		}
	})
	do("scatter", s.local == oIdle && s.outcome == oActive && (o.allOK(&s) || o.bug == "scatter"), func(t *oState) { t.local = oMay })
	do("scattered", s.local == oMay, func(t *oState) { t.local = oQuiesced })
	do("succeed", s.local == oQuiesced && s.outcome == oActive && (o.allOK(&s) || o.bug == "succeed"), func(t *oState) { t.outcome = oSucceeded })
	do("release", s.gate != oOpen && !s.pend && (o.allSettled(&s) || o.bug == "unsettled") && s.local != oMay &&
		(!s.invalid || o.bug == "latch"), func(t *oState) { t.released = true })
	for i := range o.n {
		o.writer(s, i, f)
	}
}

func (o *oracle) writer(s oState, i int, f func(event string, i int, t oState)) {
	w := s.w[i]
	do := func(event string, guard bool, change func(*oState, *oWriter)) {
		if guard {
			t := s
			change(&t, &t.w[i])
			f(event, i, t)
		}
	}
	truthful := func(inProtocol bool) bool { return !w.touching || o.loose && !inProtocol }
	do("publish", w.claim == oU && s.gate == oOpen && s.pend && (s.outcome != oCancelled || o.bug == "publish"),
		func(_ *oState, w *oWriter) { w.claim, w.touching = oP, true })
	do("withdraw", w.claim == oU, func(_ *oState, w *oWriter) { w.claim = oS })
	do("quiesce", w.touching, func(_ *oState, w *oWriter) { w.touching = false })
	do("done_ok", truthful(w.claim == oP), func(t *oState, w *oWriter) {
		switch {
		case w.claim == oP, w.claim == oD && o.bug == "revive":
			w.claim = oR
		case w.claim == oU, w.claim == oS, w.claim == oD:
			t.invalid = true
		}
	})
	do("done_fail", truthful(w.claim == oP), func(t *oState, w *oWriter) {
		switch w.claim {
		case oP:
			w.claim, w.fail = oR, true
		case oU, oS:
			t.invalid = true
		}
	})
	do("settle", truthful(w.claim == oD), func(t *oState, w *oWriter) {
		switch {
		case w.claim == oD:
			w.claim = oQ
		case w.claim != oQ:
			t.invalid = true
		}
	})
	do("doubt", true, func(t *oState, w *oWriter) {
		switch {
		case w.claim == oP, w.claim == oR && o.bug != "deaf":
			w.claim = oD
		case (w.claim == oU || w.claim == oS) && o.bug != "mute":
			t.invalid = true
		}
	})
}

func (o *oracle) hit(name string, length int) {
	if _, seen := o.found[name]; !seen {
		o.found[name] = length
	}
}

func (o *oracle) judgeState(s *oState, length int) {
	touching := false
	for i := range o.n {
		touching = touching || s.w[i].touching
	}
	if s.released && (touching || s.local == oMay) {
		o.hit("I1", length)
	}
	if s.outcome == oSucceeded && !o.allOK(s) {
		o.hit("I3s", length)
	}
	if s.released && (s.gate == oOpen || s.pend || !o.allSettled(s) || s.invalid) {
		o.hit("I5", length)
	}
}

func (o *oracle) judgeStep(event string, i int, s, t *oState, length int) {
	if s.outcome != oActive && t.outcome != s.outcome {
		o.hit("I2", length)
	}
	if s.outcome == oActive && t.outcome == oSucceeded && !o.allOK(t) {
		o.hit("I3", length)
	}
	for k := range o.n {
		a, b := s.w[k].claim, t.w[k].claim
		if a == oU && b == oP && s.outcome == oCancelled {
			o.hit("I4", length)
		}
		if a != b && !slices.Contains([][2]int{{oU, oS}, {oU, oP}, {oP, oR}, {oP, oD}, {oR, oD}, {oD, oQ}}, [2]int{a, b}) {
			o.hit("I6", length)
		}
	}
	if i < 0 {
		return
	}
	from := s.w[i].claim
	if event == "doubt" && (from == oP || from == oR) && t.w[i].claim != oD {
		o.hit("I7", length)
	}
	latching := map[string][]int{"done_ok": {oU, oS, oD}, "done_fail": {oU, oS}, "settle": {oU, oS, oP, oR}, "doubt": {oU, oS}}
	if slices.Contains(latching[event], from) && !t.invalid {
		o.hit("I8_"+event, length)
	}
}

// run explores breadth first; it returns the number of states and the depth.
func (o *oracle) run() (states, depth int) {
	o.found = map[string]int{}
	level := map[oState]int{{}: 0}
	list := []oState{{}}
	for len(list) > 0 {
		s := list[0]
		list = list[1:]
		depth = level[s]
		o.judgeState(&s, depth)
		o.next(s, func(event string, i int, t oState) {
			o.judgeStep(event, i, &s, &t, depth+1)
			if t == s {
				return
			}
			o.edges++
			if _, seen := level[t]; !seen {
				level[t] = depth + 1
				list = append(list, t)
			}
		})
	}
	return len(level), depth
}
