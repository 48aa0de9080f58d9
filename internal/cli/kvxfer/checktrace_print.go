// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/verdict"
	"github.com/kvxfer/kvxfer/trace"
)

// shownFindings are printed with what led to them; the rest in one line each.
const shownFindings = 3

// printTrace prints what was read, what was found, and what was not judged.
func (a *app) printTrace(r *trace.Report) {
	row := func(label, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%-11s %s\n", label, fmt.Sprintf(format, args...))
	}
	row("trace", "%s: %s", r.File, headerText(r))
	row("lines", "%s: %s, %s", number(r.Lines), plural(r.Steps, "step"), plural(r.Effects, "effect"))
	row("owned", "%s, %s, %s; %s released, %s owned at the end", plural(r.Sessions, "session"), plural(r.Pieces, "piece"), plural(r.Claims, "claim"), number(r.Released), number(r.Open))
	row("cells", "%s", cellsText(r))
	if r.Truncated > 0 {
		row("cut off", "line %d has no end and is left out", r.Truncated)
	}
	if r.Unmatched > 0 {
		row("unmatched", "%s of the log are in no rule of the mapping", plural(r.Unmatched, "line"))
	}
	for _, s := range r.NotJudged {
		row("not judged", "%s", s)
	}
	if r.Found() == 0 {
		row("verdict", "%s", a.paint("nothing that the contract does not allow", text.FgGreen))
		return
	}
	for i := range r.Findings {
		a.printFinding(&r.Findings[i], i < shownFindings)
	}
	if r.More > 0 {
		row("and", "%s more", plural(r.More, "finding"))
	}
	row("verdict", "%s, the first in line %d", a.paint(plural(r.Found(), "finding"), text.FgRed), r.Findings[0].Line)
}

func (a *app) printFinding(f *trace.Finding, whole bool) {
	fmt.Fprintf(a.stdout, "%-11s line %d: %s: %s\n", a.paint("finding", text.FgRed), f.Line, f.Rule, f.What)
	if !whole {
		return
	}
	for _, l := range f.Leads {
		fmt.Fprintf(a.stdout, "%-11s   line %-6d %s\n", "", l.Line, l.Text)
	}
	if f.Spec != "" {
		fmt.Fprintf(a.stdout, "%-11s   the spec   %s\n", "", f.Spec)
	}
}

// printJoint prints what several traces say of each other.
func (a *app) printJoint(r *trace.JointReport) {
	row := func(label, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%-11s %s\n", label, fmt.Sprintf(format, args...))
	}
	row("together", "%s of %s: %s heard as sent, %s on claims as published", plural(r.Pairs, "pair"), plural(len(r.Files), "trace"),
		plural(r.Messages, "message"), plural(r.Operations, "operation"))
	if r.Unknown > 0 {
		row("unknown", "%s cannot be told, since the other trace stops before", plural(r.Unknown, "message or operation"))
	}
	for _, s := range r.NotJudged {
		row("not judged", "%s", s)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		row(a.paint("finding", text.FgRed), "%s:%d: %s: %s", f.File, f.Line, f.Rule, f.What)
		if f.OtherLine > 0 {
			row("", "  %s:%d", f.Other, f.OtherLine)
		}
		row("", "  the spec   %s", f.Spec)
	}
	if r.More > 0 {
		row("and", "%s more", plural(r.More, "finding"))
	}
	if r.Found() == 0 {
		row("verdict", "%s", a.paint("they do not contradict each other", text.FgGreen))
		return
	}
	row("verdict", "%s", a.paint(plural(r.Found(), "finding"), text.FgRed))
}

func headerText(r *trace.Report) string {
	h := &r.Header
	if h.Imported {
		return "the log of " + h.Endpoint + ", imported"
	}
	s := fmt.Sprintf("endpoint %s, incarnation %.8s, format %d", h.Endpoint, h.Incarnation, h.Format)
	if h.Started != "" {
		s += ", began " + h.Started
	}
	return s
}

// cellsText says how many cells of each machine the trace met.
func cellsText(r *trace.Report) string {
	met := map[string]int{}
	for c := range r.Cells {
		machine, _, _ := strings.Cut(c, " ")
		met[machine]++
	}
	var list []string
	for _, m := range []struct {
		name string
		all  int
	}{
		{"claim", len(claim.AllStates()) * len(claim.AllEvents())}, {"verdict", len(verdict.AllStates()) * len(verdict.AllEvents())},
		{"gate", len(gate.AllStates()) * len(gate.AllEvents())}, {"outcome", len(outcome.AllStates()) * len(outcome.AllEvents())},
	} {
		list = append(list, fmt.Sprintf("%s %d of %d", m.name, met[m.name], m.all))
	}
	return strings.Join(list, ", ")
}

func number(n int) string { return humanize.Comma(int64(n)) }
