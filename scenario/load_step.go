// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/internal/yamlfile"

	"github.com/kvxfer/kvxfer/ownership"
)

func durationOf(n int64) time.Duration { return time.Duration(n) }

// reader reads the value of one kind of step.
type reader func(*loader, *yaml.Node) action

var readers = map[string]reader{
	"session": (*loader).sessionStep, "piece": (*loader).pieceStep,
	"seal": (*loader).gateStep, "sent": (*loader).gateStep, "publish": (*loader).gateStep,
	"send_failed": (*loader).sendFailedStep, "cancel": (*loader).cancelStep, "fail": (*loader).failStep,
	"report": (*loader).reportStep, "operation": (*loader).operationStep, "local": (*loader).localStep,
	"fence": (*loader).fenceStep,
	"ack":   func(l *loader, n *yaml.Node) action { return l.fromPeer(n, "ack") },
	"request": func(l *loader, n *yaml.Node) action {
		return requestStep(l.fromPeer(n, "request"))
	},
	"gone":     func(l *loader, n *yaml.Node) action { return goneStep{l.text(n, "gone")} },
	"complete": func(l *loader, n *yaml.Node) action { return completeStep{l.ref(n, "complete")} },
	"close":    func(l *loader, n *yaml.Node) action { return closeStep{l.ref(n, "close")} },
	"advance":  func(l *loader, n *yaml.Node) action { return advanceStep{l.duration(n, "advance")} },
	"reuse":    func(l *loader, n *yaml.Node) action { return reuseStep{l.text(n, "reuse")} },
	"stop":     func(l *loader, n *yaml.Node) action { word(l, n, "stop", registries); return stopStep{} },
	"reopen":   func(l *loader, n *yaml.Node) action { word(l, n, "reopen", registries); return reopenStep{} },
	"expire":   func(l *loader, n *yaml.Node) action { word(l, n, "expire", expirable); return expireStep{} },
	"watermark": func(l *loader, n *yaml.Node) action {
		var a watermarkStep
		l.mapping(n, "watermark", []string{"below"}, map[string]func(*yaml.Node){
			"below": func(v *yaml.Node) { a.below = l.text(v, "below") },
		})
		return a
	},
	"deliver": func(l *loader, n *yaml.Node) action {
		var a deliverStep
		l.mapping(n, "deliver", []string{"to", "result"}, map[string]func(*yaml.Node){
			"to":     func(v *yaml.Node) { a.to = l.text(v, "to") },
			"result": func(v *yaml.Node) { a.ok = word(l, v, "result", results) },
		})
		return a
	},
	"begin": func(l *loader, n *yaml.Node) action { return l.callStep(n, "begin", false) },
	"end":   func(l *loader, n *yaml.Node) action { return l.callStep(n, "end", true) },
}

// step reads one step: one key that says what to do, and expect and error.
func (l *loader) step(n *yaml.Node) Step {
	s := Step{Pos: yamlfile.PosOf(n)}
	var expect, failure *yaml.Node
	for _, f := range l.fields(n, "a step") {
		switch key := f.key.Value; {
		case key == "expect":
			expect = f.value
		case key == "error":
			failure = f.value
			s.Error = word(l, f.value, "error", kinds)
		case readers[key] == nil:
			l.problem(f.key, "unknown step %q; steps are %s", key, list(readers))
			s.Kind = key
		case s.Kind != "":
			l.problem(f.key, "a step does one thing: %s stands here beside %s", key, s.Kind)
		default:
			s.Kind, s.Text = key, oneLine(f.value)
			s.act = readers[key](l, f.value)
		}
	}
	switch {
	case n.Kind != yaml.MappingNode:
	case s.Kind == "" && expect == nil:
		l.problem(n, "the step does nothing")
	case s.Kind == "":
		s.Kind, s.act = "expect", expectStep{}
		if failure != nil {
			l.problem(failure, "an expectation cannot end with an error")
		}
	}
	if expect != nil {
		s.Expect = l.expect(expect, subjectOf(s.act))
	}
	return s
}

func (l *loader) sessionStep(n *yaml.Node) action {
	a := sessionStep{attempt: 1}
	l.mapping(n, "session", []string{"id", "side"}, map[string]func(*yaml.Node){
		"id":      func(v *yaml.Node) { a.id = l.ref(v, "id") },
		"side":    func(v *yaml.Node) { a.side = word(l, v, "side", sides) },
		"attempt": func(v *yaml.Node) { a.attempt = l.number(v, "attempt") },
	})
	if a.id.given {
		a.attempt = a.id.attempt
	}
	return a
}

func (l *loader) pieceStep(n *yaml.Node) action {
	a := pieceStep{kind: "kv"}
	l.mapping(n, "piece", []string{"session", "id", "region", "cohort"}, map[string]func(*yaml.Node){
		"session": func(v *yaml.Node) { a.session = l.ref(v, "session") },
		"id":      func(v *yaml.Node) { a.id = l.text(v, "id") },
		"region":  func(v *yaml.Node) { a.region = l.text(v, "region") },
		"cohort":  func(v *yaml.Node) { l.cohort(v, &a) },
		"kind":    func(v *yaml.Node) { a.kind = word(l, v, "kind", pieceKinds) },
		"local":   func(v *yaml.Node) { a.local = l.truth(v, "local") },
		"access":  func(v *yaml.Node) { a.access = word(l, v, "access", accesses) },
	})
	return a
}

func (l *loader) cohort(n *yaml.Node, a *pieceStep) {
	if n.Kind != yaml.MappingNode {
		a.cohort = l.texts(n, "cohort")
		return
	}
	l.mapping(n, "cohort", []string{"count", "candidates"}, map[string]func(*yaml.Node){
		"count": func(v *yaml.Node) {
			if a.count = l.number(v, "count"); a.count == 0 {
				a.count = -1 // 0 would be an exact cohort
			}
		},
		"candidates": func(v *yaml.Node) { a.cohort = l.texts(v, "candidates") },
	})
}

func (l *loader) gateStep(n *yaml.Node) action { return gateStep{l.refs(n, "piece")} }

func (l *loader) sendFailedStep(n *yaml.Node) action {
	var a sendFailedStep
	l.mapping(n, "send_failed", []string{"piece", "published"}, map[string]func(*yaml.Node){
		"piece":     func(v *yaml.Node) { a.piece = l.ref(v, "piece") },
		"published": func(v *yaml.Node) { a.published = l.texts(v, "published") },
	})
	return a
}

func (l *loader) cancelStep(n *yaml.Node) action {
	a := cancelStep{by: ownership.FromLocal}
	l.mapping(n, "cancel", []string{"session"}, map[string]func(*yaml.Node){
		"session": func(v *yaml.Node) { a.session = l.ref(v, "session") },
		"by":      func(v *yaml.Node) { a.by = word(l, v, "by", origins) },
		"from":    func(v *yaml.Node) { a.from = l.text(v, "from") },
		"attempt": func(v *yaml.Node) { a.attempt, a.given = l.number(v, "attempt"), true },
	})
	if a.session.given {
		a.attempt, a.given = a.session.attempt, true
	}
	return a
}

func (l *loader) failStep(n *yaml.Node) action {
	a := failStep{reason: string(ownership.CauseFailed)}
	l.mapping(n, "fail", nil, map[string]func(*yaml.Node){
		"session": func(v *yaml.Node) { a.session = l.ref(v, "session") },
		"piece":   func(v *yaml.Node) { a.piece = l.ref(v, "piece") },
		"reason":  func(v *yaml.Node) { a.reason = l.text(v, "reason") },
	})
	return a
}

func (l *loader) reportStep(n *yaml.Node) action {
	var a reportStep
	l.mapping(n, "report", []string{"piece", "from", "evidence"}, map[string]func(*yaml.Node){
		"piece":    func(v *yaml.Node) { a.piece = l.ref(v, "piece") },
		"from":     func(v *yaml.Node) { a.from = l.text(v, "from") },
		"evidence": func(v *yaml.Node) { a.evidence = word(l, v, "evidence", evidences) },
		"as":       func(v *yaml.Node) {},
	})
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "as" {
			l.reportAs(n.Content[i+1], &a)
		}
	}
	return a
}

// reportAs reads under which name a report comes.
func (l *loader) reportAs(n *yaml.Node, a *reportStep) {
	if n.Kind != yaml.MappingNode {
		a.stale = word(l, n, "as", map[string]bool{"current": false, "stale": true})
		return
	}
	l.mapping(n, "as", nil, map[string]func(*yaml.Node){
		"attempt": func(v *yaml.Node) { a.piece.attempt, a.piece.given = l.number(v, "attempt"), true },
		"incarnation": func(v *yaml.Node) {
			a.oldLife = word(l, v, "incarnation", map[string]bool{"old": true, "current": false})
		},
	})
}

func (l *loader) fromPeer(n *yaml.Node, what string) ackStep {
	var a ackStep
	l.mapping(n, what, []string{"session", "from"}, map[string]func(*yaml.Node){
		"session": func(v *yaml.Node) { a.session = l.ref(v, "session") },
		"from":    func(v *yaml.Node) { a.from = l.text(v, "from") },
	})
	return a
}

func (l *loader) operationStep(n *yaml.Node) action {
	var a operationStep
	l.mapping(n, "operation", []string{"piece", "to", "status"}, map[string]func(*yaml.Node){
		"piece":  func(v *yaml.Node) { a.piece = l.ref(v, "piece") },
		"to":     func(v *yaml.Node) { a.to = l.text(v, "to") },
		"status": func(v *yaml.Node) { a.status = word(l, v, "status", statuses) },
	})
	return a
}

func (l *loader) localStep(n *yaml.Node) action {
	var a localStep
	l.mapping(n, "local", []string{"piece", "event"}, map[string]func(*yaml.Node){
		"piece": func(v *yaml.Node) { a.piece = l.ref(v, "piece") },
		"event": func(v *yaml.Node) { a.event = word(l, v, "event", locals) },
	})
	return a
}

func (l *loader) fenceStep(n *yaml.Node) action {
	a := fenceStep{scope: ownership.All}
	if n.Kind != yaml.MappingNode {
		a.accessor = l.text(n, "fence")
		return a
	}
	l.mapping(n, "fence", []string{"accessor"}, map[string]func(*yaml.Node){
		"accessor": func(v *yaml.Node) { a.accessor = l.text(v, "accessor") },
		"scope":    func(v *yaml.Node) { a.scope = word(l, v, "scope", scopes) },
	})
	return a
}

func (l *loader) callStep(n *yaml.Node, what string, end bool) action {
	a := callStep{end: end}
	l.mapping(n, what, []string{"call"}, map[string]func(*yaml.Node){
		"call":  func(v *yaml.Node) { a.call = word(l, v, "call", callKinds) },
		"piece": func(v *yaml.Node) { a.piece = l.ref(v, "piece") },
		"to":    func(v *yaml.Node) { a.to = l.text(v, "to") },
	})
	return a
}
