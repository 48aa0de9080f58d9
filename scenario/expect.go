// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/internal/yamlfile"
)

type subjectKind uint8

const (
	subjectRegistry subjectKind = iota + 1
	subjectSession
	subjectPiece
	subjectOutbox
)

// subject is what an expectation is about.
type subject struct {
	kind subjectKind
	ref  ref    // of a session or piece
	peer string // of an outbox
}

// String returns the key that a file gives the subject.
func (s subject) String() string {
	switch s.kind {
	case subjectSession:
		return "session " + s.ref.String()
	case subjectPiece:
		return "piece " + s.ref.String()
	case subjectOutbox:
		return "outbox " + s.peer
	}
	return "registry"
}

// Expectation is one field that must have a value after a step.
type Expectation struct {
	Pos     Pos
	subject subject
	field   string
	// want is one of: a word, words by accessor, a list of words.
	word  string
	words map[string]string
	list  []string
}

// fieldReader reads the wanted value of one field into an expectation.
type fieldReader func(*loader, *yaml.Node, *Expectation)

// oneOf reads a word out of a set.
func oneOf[T any](m map[string]T) fieldReader {
	return func(l *loader, n *yaml.Node, e *Expectation) {
		word(l, n, e.field, m)
		e.word = n.Value
	}
}

// each reads words by accessor.
func each[T any](m map[string]T) fieldReader {
	return func(l *loader, n *yaml.Node, e *Expectation) {
		e.words = make(map[string]string)
		for _, f := range l.fields(n, e.field) {
			word(l, f.value, e.field+" of "+f.key.Value, m)
			e.words[f.key.Value] = f.value.Value
		}
	}
}

func truths(l *loader, n *yaml.Node, e *Expectation) {
	e.word = "false"
	if l.truth(n, e.field) {
		e.word = "true"
	}
}

func numbers(l *loader, n *yaml.Node, e *Expectation) { e.word = itoa(l.number(n, e.field)) }

func anyWord(l *loader, n *yaml.Node, e *Expectation) { e.word = l.text(n, e.field) }

func localWord(l *loader, n *yaml.Node, e *Expectation) {
	if e.word = n.Value; n.Kind != yaml.ScalarNode || n.Value != "none" {
		word(l, n, "local", claimStates)
	}
}

var fieldReaders = map[subjectKind]map[string]fieldReader{
	subjectPiece: {
		"claims": each(claimStates), "verdicts": each(verdictStates), "gate": oneOf(gateStates),
		"drained": truths, "invalid": truths, "local": localWord, "outcome": oneOf(outcomeStates),
	},
	subjectSession: {
		"outcome": oneOf(outcomeStates), "origin": oneOf(allOrigins), "cause": anyWord,
		"released": numbers, "closed": truths, "physical": oneOf(physicals),
	},
	subjectRegistry: {
		"admission": oneOf(admissions), "owners": numbers, "retained": numbers, "fatal": truths, "contained": numbers,
		"stale": numbers, "duplicates": numbers, "ignored": numbers, "outbox": numbers,
	},
}

// expect reads what must be true after a step whose own subject is given.
func (l *loader) expect(n *yaml.Node, own subject) []Expectation {
	var out []Expectation
	for _, f := range l.fields(n, "expect") {
		kind, rest, two := strings.Cut(f.key.Value, " ")
		switch {
		case f.key.Value == "registry":
			out = append(out, l.expectFields(f.value, subject{kind: subjectRegistry})...)
		case two && kind == "piece":
			out = append(out, l.expectFields(f.value, subject{kind: subjectPiece, ref: l.refText(f.key, rest)})...)
		case two && kind == "session":
			out = append(out, l.expectFields(f.value, subject{kind: subjectSession, ref: l.refText(f.key, rest)})...)
		case two && kind == "outbox":
			out = append(out, l.expectOutbox(f, rest))
		default:
			out = append(out, l.expectField(f, own)...)
		}
	}
	return out
}

func (l *loader) refText(n *yaml.Node, text string) ref {
	named := *n
	named.Value = text
	return l.ref(&named, "name")
}

func (l *loader) expectFields(n *yaml.Node, s subject) []Expectation {
	var out []Expectation
	for _, f := range l.fields(n, s.String()) {
		out = append(out, l.expectField(f, s)...)
	}
	return out
}

func (l *loader) expectField(f field, s subject) []Expectation {
	read := fieldReaders[s.kind][f.key.Value]
	if read == nil {
		l.problem(f.key, "unknown key %q: %s has %s; or name registry, piece X, session X, outbox X", f.key.Value, s, list(fieldReaders[s.kind]))
		return nil
	}
	e := Expectation{Pos: yamlfile.PosOf(f.key), subject: s, field: f.key.Value}
	read(l, f.value, &e)
	return []Expectation{e}
}

func (l *loader) expectOutbox(f field, peer string) Expectation {
	e := Expectation{Pos: yamlfile.PosOf(f.key), subject: subject{kind: subjectOutbox, peer: peer}, field: "outbox", list: []string{}}
	if f.value.Kind != yaml.SequenceNode {
		l.problem(f.value, "outbox %s must be a list, this is %s", peer, describe(f.value))
		return e
	}
	for _, n := range f.value.Content {
		word(l, n, "a message", labels)
		e.list = append(e.list, n.Value)
	}
	return e
}

// subjectOf returns what a step is about: its piece, the first of a list; else
// its session; else the registry.
func subjectOf(a action) subject {
	of := func(kind subjectKind, r ref) subject { return subject{kind: kind, ref: r} }
	for _, r := range pieceRefs(a) {
		if r.id != "" {
			return of(subjectPiece, r)
		}
	}
	switch a := a.(type) {
	case pieceStep:
		r := ref{id: a.id, attempt: a.session.attempt, given: a.session.given}
		return of(subjectPiece, r)
	case sessionStep:
		return of(subjectSession, ref{id: a.id.id})
	case cancelStep:
		return of(subjectSession, ref{a.session.id, a.attempt, a.given})
	case requestStep:
		return of(subjectSession, a.session)
	}
	for _, r := range sessionRefs(a) {
		if r.id != "" {
			return of(subjectSession, r)
		}
	}
	return subject{kind: subjectRegistry}
}
