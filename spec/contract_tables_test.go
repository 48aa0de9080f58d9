// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/fsm/mutate"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/spec"
)

// words are the values of a table's inputs or outputs, by name; an output that is none
// is missing.
type words = map[string]string

// contract is what a table must answer, stated apart from its spec.
type contract struct {
	answer  func(in words) words
	invalid words
}

// matrices and contracts hold every machine and table of the project.
var (
	matrices  = map[string]string{"claim": claimMatrix, "verdict": verdictMatrix, "outcome": outcomeMatrix, "gate": gateMatrix}
	contracts = map[string]contract{
		"operation": {wantOperation, words{"action": "REJECT"}},
		"trigger":   {wantTrigger, words{"origin": "LOCAL", "cause": "FAILED"}},
		"evidence":  {wantEvidence, words{}},
		"answer":    {wantAnswer, words{"cancel": "false", "quiesced": "false", "kept": "false"}},
		"report":    {wantReport, words{"queued": "false"}},
		"fence":     {wantFence, words{"proven": "false"}},
		"statement": {wantStatement, words{"process": "true", "context": "true", "region": "true"}},
	}
)

// wantOperation asks the transcription of §2 of the contract.
func wantOperation(in words) words {
	var status operation.Status
	var state claim.State
	var phase operation.Phase
	for text, v := range map[string]interface{ UnmarshalText([]byte) error }{in["status"]: &status, in["claim"]: &state, in["phase"]: &phase} {
		if err := v.UnmarshalText([]byte(text)); err != nil {
			return words{"error": err.Error()}
		}
	}
	d := wantDecision(status, state, phase, in["active"] == "true")
	out := words{"action": d.Action.String(), "phase": d.Phase.String()}
	if d.Event.IsValid() {
		out["event"] = d.Event.String()
	}
	return out
}

// wantTrigger is §4: the origins, and the causes where success became impossible.
func wantTrigger(in words) words {
	t := in["trigger"]
	out := words{"origin": "LOCAL"}
	switch t {
	case "REPORT", "ACK", "GONE":
		out["origin"] = "PEER"
	case "EXPIRY":
		out["origin"] = "TIMEOUT"
	}
	out["cause"] = map[string]string{"OPERATION": "NOT_SUBMITTED", "FAIL_SEND": "PUBLICATION", "FENCE": "FENCED",
		"GONE": "DOUBT", "FAIL": "REASON", "STOP": "SHUTDOWN", "EXPIRY": "TIMEOUT"}[t]
	if out["cause"] == "" {
		out["cause"] = "FAILED"
	}
	return out
}

// wantEvidence is §8: what each RESULT is to its claim.
func wantEvidence(in words) words {
	return words{"event": map[string]string{"OK": "done_ok", "FAILED": "done_failed", "IN_DOUBT": "doubt", "FAILED_QUIESCED": "settle"}[in["says"]]}
}

// wantAnswer is §8: an attempt that holds nothing and never will is answered, a request
// for one that may still come is kept.
func wantAnswer(in words) words {
	request, cancel := in["message"] == "REQUEST_DATA", in["message"] == "CANCEL_SESSION"
	over := in["standing"] == "FAILED" || in["standing"] == "NEVER"
	return words{
		"cancel":   fmt.Sprint(request && over),
		"quiesced": fmt.Sprint(request && over || cancel),
		"kept":     fmt.Sprint(request && in["standing"] == "UNKNOWN"),
	}
}

// wantReport is §8: a RESULT is queued when the claim moves, unless the owner is invalid
// or the name has ended, and a fence tells nothing.
func wantReport(in words) words {
	var was claim.State
	var event claim.Event
	if was.UnmarshalText([]byte(in["was"])) != nil || event.UnmarshalText([]byte(in["event"])) != nil {
		return words{"error": "unknown state or event"}
	}
	says := ""
	switch next, _ := claim.Next(was, event); {
	case in["mute"] == "true" || next == was || event == claim.Fence || event == claim.Acked || !was.Live() && was != claim.Drained:
	case next == claim.Drained && event == claim.DoneOK:
		says = "OK"
	case next == claim.SafeUnpublished, next == claim.Drained:
		says = "FAILED"
	case next == claim.InDoubt:
		says = "IN_DOUBT"
	case event == claim.Settle:
		says = "FAILED_QUIESCED"
	}
	out := words{"queued": fmt.Sprint(says != "")}
	if says != "" {
		out["evidence"] = says
	}
	return out
}

// wantFence is what the measurements allow to be called proof.
func wantFence(in words) words {
	is := func(name string) bool { return in[name] == "true" }
	proven := is("stated")
	switch own := in["memory"] == "OWN"; in["transport"] {
	case "DECLARED":
		proven = proven || is("agent") && is("declared")
	case "TCP":
		proven = proven || is("agent")
	case "CMA":
		proven = proven || own && is("agent") || !own && is("peer")
	}
	return words{"proven": fmt.Sprint(proven)}
}

// wantStatement is what stands in the way on each transport: all of it, unless it was
// measured to be less.
func wantStatement(in words) words {
	passive, local := in["memory"] == "PASSIVE", in["memory"] == "LOCAL"
	measured := in["transport"] == "TCP" || in["transport"] == "CMA"
	return words{
		"process": fmt.Sprint(passive),
		"context": fmt.Sprint(local || !measured),
		"region":  fmt.Sprint(!local && !(passive && in["transport"] == "CMA")),
	}
}

// deviation says where a machine or table first differs from the contract, or is empty.
func deviation(t *testing.T, sp load.Spec) string {
	t.Helper()
	switch sp := sp.(type) {
	case *load.Machine:
		want := parseMatrix(t, matrices[sp.Name])
		for s, row := range sp.Cells {
			for e, cell := range row {
				if name := sp.States[s].Name + " " + sp.Events[e].Name; want[name] != sp.Word(cell) {
					return fmt.Sprintf("%s: %s is %s, the contract says %q", sp.Name, name, sp.Word(cell), want[name])
				}
			}
		}
	case *load.Table:
		want := contracts[sp.Name]
		for i, rule := range sp.Answers {
			in := words{}
			for k, v := range sp.Combination(i) {
				in[sp.Inputs[k].Name] = sp.Inputs[k].ValueName(v)
			}
			if got, want := answers(sp, sp.Rules[rule], in), want.answer(in); !maps.Equal(got, want) {
				return fmt.Sprintf("%s: %v gives %v, the contract says %v", sp.Name, in, got, want)
			}
		}
		if got := answers(sp, sp.InvalidRule(), words{}); !maps.Equal(got, want.invalid) {
			return fmt.Sprintf("%s: invalid inputs give %v, the contract says %v", sp.Name, got, want.invalid)
		}
	}
	return ""
}

// answers are the outputs of a rule for these inputs.
func answers(t *load.Table, r *load.Rule, in words) words {
	out := words{}
	for k, c := range t.Outputs {
		switch o := r.Then[k]; {
		case o.Keep && in[c.Keep.Name] != "":
			out[c.Name] = in[c.Keep.Name]
		case !o.Keep && !o.None:
			out[c.Name] = c.ValueName(o.Index)
		}
	}
	return out
}

// TestMutantsAreFound: every machine and table is as the contract says, and every change
// of one cell or of one output of a rule is found: by the loader, which knows what must
// never be, or by the comparison with the contract.
func TestMutantsAreFound(t *testing.T) {
	set, err := load.FS(spec.Files, "spec")
	if err != nil {
		t.Fatal(err)
	}
	mutants, refused := 0, 0
	for _, sp := range set.Specs {
		h := sp.Header()
		if h.Kind == load.KindSystem {
			continue // check.Mutate judges these: make mutate-spec
		}
		if _, known := contracts[h.Name]; !known && matrices[h.Name] == "" {
			t.Errorf("%s: the contract of this %v is not stated here: add it, so that a change of the spec by mistake is found", h.Name, h.Kind)
			continue
		}
		if d := deviation(t, sp); d != "" {
			t.Error(d)
			continue
		}
		for _, m := range mutate.Of(sp) {
			mutants++
			changed, err := m.In(set)
			if err != nil {
				refused++
			} else if deviation(t, changed) == "" {
				t.Errorf("%s:%d:%d: %s: nobody notices", m.File, m.Pos.Line, m.Pos.Col, m.What)
			}
		}
	}
	t.Logf("%d mutants, %d of them refused by the loader", mutants, refused)
	if mutants < 1000 || refused == 0 {
		t.Errorf("%d mutants, %d refused: the generator makes too few", mutants, refused)
	}
	names := slices.Sorted(maps.Keys(contracts))
	for _, name := range append(names, slices.Sorted(maps.Keys(matrices))...) {
		if set.Lookup(name) == nil {
			t.Errorf("a contract of %s, which is no spec", name)
		}
	}
}
