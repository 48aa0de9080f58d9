// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"
)

// Table is a machine as the contract prints it: the first row has the events,
// each later one a state with its cells. A cell in capitals is a move.
type Table struct {
	States []string // in the order of the text; the first is the initial one
	Events []string
	cells  map[string]map[string]string
}

// Next returns where an event leads, and the result: moved, duplicate, ignore,
// reject or conflict.
func (t *Table) Next(state, event string) (next, result string) {
	cell := t.cells[state][event]
	if cell == strings.ToUpper(cell) {
		return cell, "moved"
	}
	return state, cell
}

func parse(text string) *Table {
	t := &Table{cells: make(map[string]map[string]string)}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		if i == 0 {
			t.Events = f
			continue
		}
		t.States = append(t.States, f[0])
		t.cells[f[0]] = make(map[string]string)
		for k, e := range t.Events {
			t.cells[f[0]][e] = f[k+1]
		}
	}
	return t
}

// Claim is the table of contract §2.
var Claim = parse(`
                 publish   withdraw         unexposed        done_ok   done_failed doubt     settle          acked           fence
UNPUBLISHED      PUBLISHED SAFE_UNPUBLISHED SAFE_UNPUBLISHED conflict  conflict    conflict  conflict        ignore          SAFE_UNPUBLISHED
SAFE_UNPUBLISHED reject    duplicate        duplicate        conflict  conflict    conflict  conflict        ignore          duplicate
PUBLISHED        duplicate reject           SAFE_UNPUBLISHED DRAINED   DRAINED     IN_DOUBT  conflict        FAILED_QUIESCED FAILED_QUIESCED
IN_DOUBT         reject    reject           conflict         conflict  ignore      duplicate FAILED_QUIESCED ignore          FAILED_QUIESCED
FAILED_QUIESCED  reject    reject           conflict         conflict  ignore      ignore    duplicate       duplicate       duplicate
DRAINED          reject    reject           conflict         duplicate duplicate   IN_DOUBT  conflict        ignore          ignore
`)

// Verdict is what an accessor said about delivery (§2).
var Verdict = parse(`
       done_ok   done_failed
NONE   OK        FAILED
OK     duplicate conflict
FAILED conflict  duplicate
`)

// Gate is contract §4: cancel leaves a gate that has moved alone, and says so
// again where it has won.
var Gate = parse(`
           seal       finish fail_send cancel
OPEN       PUBLISHING reject reject    ABORTED
PUBLISHING reject     SEALED SEALED    ignore
SEALED     reject     reject reject    ignore
ABORTED    reject     reject reject    duplicate
`)

// Outcome is contract §4: the first terminal answer wins, later ones count.
var Outcome = parse(`
          succeed   fail   cancel
ACTIVE    SUCCEEDED FAILED CANCELLED
SUCCEEDED ignore    ignore ignore
FAILED    ignore    ignore ignore
CANCELLED ignore    ignore ignore
`)

// Evidence says which event a RESULT offers to its claim (§2).
var Evidence = map[string]string{"ok": "done_ok", "failed": "done_failed", "in_doubt": "doubt", "failed_quiesced": "settle"}

// Statuses are what can be known of an own operation (§2).
var Statuses = []string{"submitting", "submitted", "not_submitted", "in_progress", "done", "error", "overdue", "confirmed", "not_found", "replaced", "lost"}

// Reusable and Live are contract §2.
func Reusable(claim string) bool {
	return slices.Contains([]string{"SAFE_UNPUBLISHED", "FAILED_QUIESCED", "DRAINED"}, claim)
}

// Live reports whether an accessor may still touch the memory.
func Live(claim string) bool { return claim == "PUBLISHED" || claim == "IN_DOUBT" }

// Operation is the state of an own operation that the claim does not show.
type Operation struct {
	Submitting, Submitted, Dropped bool
}

// Backend is the table of §2, "Our own operation": the event that a status
// offers to a claim in this state, or one of permission, noted, duplicate,
// ignore, reject, conflict, closed and stale. It changes o where the table says
// so.
func (o *Operation) Backend(status, claim string, active bool) string {
	sealed := claim != "UNPUBLISHED" && claim != "SAFE_UNPUBLISHED"
	switch status {
	case "submitting":
		return o.submitting(claim, active)
	case "not_submitted":
		if claim == "PUBLISHED" && o.Submitted {
			return "conflict"
		}
		return "unexposed"
	}
	if !sealed {
		return "conflict"
	}
	switch status {
	case "submitted":
		return o.submitted(claim)
	case "in_progress":
		if claim == "PUBLISHED" && !o.Submitting {
			return "conflict"
		}
		return "ignore"
	case "done":
		return o.done(claim)
	case "error":
		return "doubt"
	case "overdue":
		if claim == "PUBLISHED" {
			return "doubt"
		}
		return "ignore"
	case "confirmed":
		if claim == "IN_DOUBT" {
			return "settle"
		}
		return "ignore"
	}
	if !Live(claim) { // not_found, replaced, lost
		return "ignore"
	}
	o.Dropped = true
	return "doubt"
}

func (o *Operation) submitting(claim string, active bool) string {
	switch {
	case claim != "PUBLISHED":
		return "reject"
	case o.Submitting:
		return "duplicate"
	case !active:
		return "closed"
	}
	o.Submitting = true
	return "permission"
}

func (o *Operation) submitted(claim string) string {
	switch {
	case claim != "PUBLISHED":
		return "ignore"
	case !o.Submitting:
		return "conflict"
	case o.Submitted:
		return "duplicate"
	}
	o.Submitted = true
	return "noted"
}

func (o *Operation) done(claim string) string {
	switch {
	case claim == "DRAINED":
		return "done_ok"
	case claim == "PUBLISHED" && !o.Submitting:
		return "conflict"
	case claim == "PUBLISHED":
		return "done_ok"
	case o.Dropped:
		return "stale"
	}
	return "settle"
}
