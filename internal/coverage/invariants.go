// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// invariant is one of contract §12 that ownership.Checker judges, and the condition
// in Go under which a step is one that could have broken it.
type invariant struct{ name, doc, when string }

// invariants leave out what one registry cannot show: I13 is judged by the model's
// queues and by the step deliver of scenarios, I14 by TestRanks, I15 by TestNetwork
// and by the checker of specs.
var invariants = []invariant{
	{"I1", "no release while any claim is live or the gate is PUBLISHING", "released"},
	{"I2", "after cancel won the gate, nothing is published", "piece(func(p *PieceState) bool { return p.Gate == gate.Aborted })"},
	{"I3", "outcome never changes once terminal", "err == nil && slices.ContainsFunc(k.before.Sessions, func(s SessionState) bool { return s.Outcome.Terminal() })"},
	{"I4", "SUCCEEDED only from complete positive evidence", "moved(func(e Effect) bool { p, ok := e.(*PieceEnded); return ok && p.Outcome == outcome.Succeeded })"},
	{"I5", "FAILED_QUIESCED never makes a success", "moved(func(e Effect) bool { m, ok := e.(*ClaimMoved); return ok && m.To == claim.FailedQuiesced })"},
	{"I6", "time alone never makes a claim reusable", "timeOnly && piece(func(p *PieceState) bool { return slices.ContainsFunc(p.all(), func(c ClaimState) bool { return c.State.Live() }) })"},
	{"I7", "invalid: never released", "piece(func(p *PieceState) bool { return p.Invalid })"},
	{"I8", "release runs exactly once", "released"},
	{"I9", "fatal: nothing retires", "k.before.Fatal"},
	{"I10", "a pending grace deadline never moves", "slices.ContainsFunc(k.before.Sessions, func(s SessionState) bool { return s.Draining && !s.Settled })"},
	{"I11", "evidence under a stale name changes nothing", "KindOf(err) == KindStale"},
	{"I12", "no root is torn down under a live claim", "len(pieces(k.before)) > 0 && KindOf(err) == KindRefused"},
	{"I16", "every admitted owner is findable from the registry until released", "len(pieces(after)) > 0"},
	{"I17", "counters add up", "after.Counters.Admitted > 0"},
}

// noteInvariants makes the checker note which invariants had something to judge.
func noteInvariants(text string) (string, error) {
	const judged = "	k.before = after\n	return nil\n}\n"
	if strings.Count(text, judged) != 1 {
		return "", fmt.Errorf("ownership/invariant.go: Checker.Step does not end as it did")
	}
	var b strings.Builder
	b.WriteString(`
// met notes which invariants had something to judge in a step.
func (k *Checker) met(after Snapshot, effects Effects, err error, timeOnly bool) {
	moved := func(f func(Effect) bool) bool { return slices.ContainsFunc(effects, f) }
	released := moved(func(e Effect) bool { _, ok := e.(*Released); return ok })
	piece := func(f func(*PieceState) bool) bool {
		for _, p := range pieces(k.before) {
			if f(p) {
				return true
			}
		}
		return false
	}
`)
	for i, v := range invariants {
		fmt.Fprintf(&b, "	if !metInvariants[%d] && (%s) {\n		fsm.NoteOnce(&metInvariants[%d], %q)\n	}\n", i, v.when, i, "invariants "+v.name)
	}
	fmt.Fprintf(&b, "}\n\nvar metInvariants [%d]bool\n", len(invariants))
	text = strings.Replace(text, judged, "	k.met(after, effects, err, timeOnly)\n"+judged, 1)
	return imported(text, "github.com/kvxfer/kvxfer/fsm") + b.String(), nil
}
