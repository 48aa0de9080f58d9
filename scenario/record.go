// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/ownership"
)

// Record runs a scenario and returns its text with what happened: each step
// that has no expectation gets one for what it changed, and each step the error
// that it ended with. Expectations that are there stay, also where they are
// wrong; comments stay. It is for a new incident: whoever records reads what he
// gets, for a recording says what the library did, not what is right.
func Record(path string, data []byte) ([]byte, error) {
	f, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	r, err := newRunner(f, nil)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err // cannot be: Parse has read it
	}
	steps := valueOf(doc.Content[0], "steps")
	for i := range f.Steps {
		report := r.run(&f.Steps[i])
		if r.broken {
			return nil, fmt.Errorf("scenario: %w", (&Report{File: f, Steps: []StepReport{report}}).Err())
		}
		record(steps.Content[i], &report, r.seen(report.Effects))
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return out.Bytes(), nil
}

// record writes into a step how it ended.
func record(step *yaml.Node, report *StepReport, seen []seen) {
	if k := ownership.KindOf(report.Err); k != 0 {
		setValue(step, "error", &yaml.Node{Kind: yaml.ScalarNode, Value: k.String()})
	} else {
		dropKey(step, "error")
	}
	if valueOf(step, "expect") != nil || len(seen) == 0 {
		return
	}
	expect := &yaml.Node{Kind: yaml.MappingNode}
	for _, s := range seen {
		fields := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, f := range s.fields {
			fields.Content = append(fields.Content, scalar(f[0]), flow(f[1]))
		}
		expect.Content = append(expect.Content, scalar(s.subject.String()), fields)
	}
	setValue(step, "expect", expect)
}

// seen is what is to be seen of one subject after a step.
type seen struct {
	subject subject
	fields  [][2]string // name and value, as a file writes them
}

// seen returns the state of all that the effects are about.
func (r *runner) seen(effects ownership.Effects) []seen {
	var subjects []subject
	add := func(s subject) {
		if !slices.Contains(subjects, s) {
			subjects = append(subjects, s)
		}
	}
	registry := false
	for _, e := range effects {
		switch e := e.(type) {
		case *ownership.ClaimMoved:
			add(r.subjectPiece(e.Claim().Piece))
		case *ownership.GateMoved:
			add(r.subjectPiece(e.Piece))
		case *ownership.PieceEnded:
			add(r.subjectPiece(e.Piece))
		case *ownership.PieceInvalid:
			add(r.subjectPiece(e.Piece))
		case *ownership.SessionEnded:
			add(r.subjectSession(e.Session))
		case *ownership.SessionSettled:
			add(r.subjectSession(e.Session))
		case *ownership.SessionUnsettled:
			add(r.subjectSession(e.Session))
		case *ownership.SessionClosed:
			add(r.subjectSession(e.Session))
		case *ownership.AdmissionChanged, *ownership.FatalLatched:
			registry = true
		}
	}
	var out []seen
	for _, s := range subjects {
		out = append(out, r.look(s))
	}
	if registry {
		now := r.reg.Snapshot()
		s := seen{subject: subject{kind: subjectRegistry}}
		for _, f := range []string{"admission", "fatal", "contained", "owners", "retained"} {
			s.fields = append(s.fields, [2]string{f, registryField(now, f)})
		}
		out = append(out, s)
	}
	return out
}

func (r *runner) subjectPiece(n ownership.PieceName) subject {
	return subject{kind: subjectPiece, ref: ref{n.Piece, int(n.Session.Attempt), true}}
}

func (r *runner) subjectSession(n ownership.SessionName) subject {
	id, _, _ := strings.Cut(sessionText(n), "@")
	return subject{kind: subjectSession, ref: ref{id, int(n.Attempt), true}}
}

// look returns all fields of a piece or session that a file can expect.
func (r *runner) look(s subject) seen {
	out := seen{subject: s}
	newest := r.names.sessions[s.ref.id]
	if p := r.names.pieces[s.ref.id]; s.kind == subjectPiece && p != nil {
		newest = p.newest
	}
	// A bare name means the newest attempt.
	out.subject.ref.given = s.ref.attempt > 1 || newest > 1
	if s.kind == subjectSession {
		name := r.names.session(s.ref)
		st, closed, _ := r.memory.session(name)
		for _, f := range []string{"outcome", "cause", "origin", "physical", "closed", "released"} {
			out.fields = append(out.fields, [2]string{f, sessionField(&st, closed, r.memory.released[name], f)})
		}
		return out
	}
	p, _ := r.memory.piece(r.names.piece(s.ref))
	var claims, verdicts []string
	for _, c := range p.Claims {
		claims = append(claims, fmt.Sprintf("%s: %v", quoted(string(c.Name.Accessor)), c.State))
		verdicts = append(verdicts, fmt.Sprintf("%s: %v", quoted(string(c.Name.Accessor)), c.Verdict))
	}
	out.fields = append(out.fields, [2]string{"claims", "{" + strings.Join(claims, ", ") + "}"}, [2]string{"verdicts", "{" + strings.Join(verdicts, ", ") + "}"})
	for _, f := range []string{"gate", "outcome", "drained", "invalid", "local"} {
		out.fields = append(out.fields, [2]string{f, pieceField(&p, f)})
	}
	return out
}

// quoted writes an accessor so that it stays one key of a flow mapping.
func quoted(s string) string {
	if strings.ContainsAny(s, ":{}[],&*#?|-<>=!%@\\\"' ") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

func scalar(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// flow reads a value back into a node, so that it is written as a file has it.
func flow(text string) *yaml.Node {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil || len(n.Content) != 1 {
		return scalar(text)
	}
	return n.Content[0]
}

func valueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func setValue(n *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = v
			return
		}
	}
	n.Content = append(n.Content, scalar(key), v)
}

func dropKey(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}
