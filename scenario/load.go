// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/internal/yamlfile"
)

// MaxBytes is the size of the largest scenario file that is read.
const MaxBytes = 4 << 20

// Load reads a scenario file. Its mistakes are Problems.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a scenario; path is for messages alone. Its mistakes are Problems.
func Parse(path string, data []byte) (*File, error) {
	if len(data) > MaxBytes {
		return nil, Problems{{File: path, Pos: Pos{Line: 1, Column: 1}, Text: "the file is larger than 4 MiB"}}
	}
	root, after, err := yamlfile.Document(path, data)
	if err != nil {
		return nil, err
	}
	l := &loader{file: path, problems: after}
	file := l.scenario(root)
	file.Path = path
	if len(l.problems) > 0 {
		return nil, l.problems.Sorted()
	}
	return file, nil
}

func (l *loader) scenario(n *yaml.Node) *File {
	f := &File{}
	var steps *yaml.Node
	l.mapping(n, "a scenario", []string{"name", "steps"}, map[string]func(*yaml.Node){
		"name":   func(v *yaml.Node) { f.Name = l.text(v, "name") },
		"about":  func(v *yaml.Node) { f.About = l.text(v, "about") },
		"row":    func(v *yaml.Node) { f.Rows = append(f.Rows, l.number(v, "row")) },
		"config": func(v *yaml.Node) { f.Config = l.config(v) },
		"steps":  func(v *yaml.Node) { steps = v },
	})
	if steps == nil {
		return f
	}
	if steps.Kind != yaml.SequenceNode || len(steps.Content) == 0 {
		l.problem(steps, "steps must be a list of steps, this is %s", describe(steps))
		return f
	}
	for _, s := range steps.Content {
		f.Steps = append(f.Steps, l.step(s))
	}
	l.checkNames(f, steps)
	return f
}

func (l *loader) config(n *yaml.Node) Config {
	var c Config
	positive := func(name string, to *int) func(*yaml.Node) {
		return func(v *yaml.Node) {
			if *to = l.number(v, name); *to < 1 && v.Tag == "!!int" {
				l.problem(v, "%s must be at least 1", name)
			}
		}
	}
	limit := func(name string, to *int64) func(*yaml.Node) {
		return func(v *yaml.Node) {
			// 0 loads too; it is refused where negative ones are.
			if *to = int64(l.duration(v, name)); *to == 0 {
				*to = -1
			}
		}
	}
	var timeout, grace int64
	l.mapping(n, "config", nil, map[string]func(*yaml.Node){
		"request_timeout": limit("request_timeout", &timeout),
		"grace":           limit("grace", &grace),
		"owners":          positive("owners", &c.Owners),
		"sessions":        positive("sessions", &c.Sessions),
		"tombstones":      positive("tombstones", &c.Tombstones),
		"peer_tombstones": positive("peer_tombstones", &c.PeerTombstones),
		"outbox":          positive("outbox", &c.Outbox),
		"peer_outbox":     positive("peer_outbox", &c.PeerOutbox),
		"quarantine":      func(v *yaml.Node) { c.Quarantine = word(l, v, "quarantine", quarantines) },
		"transport":       func(v *yaml.Node) { c.Manual = word(l, v, "transport", transports) },
		"containment":     func(v *yaml.Node) { c.ContainFails = word(l, v, "containment", failing) },
		"register":        func(v *yaml.Node) { c.RegisterFails = word(l, v, "register", failing) },
	})
	c.RequestTimeout, c.Grace = durationOf(timeout), durationOf(grace)
	return c
}

// checkNames finds sessions and pieces that no step of the file ever names, and
// pieces that belong to two sessions.
func (l *loader) checkNames(f *File, steps *yaml.Node) {
	sessions, owners := make(map[string]bool), make(map[string]string)
	for i, s := range f.Steps {
		switch a := s.act.(type) {
		case sessionStep:
			sessions[a.id.id] = true
		case cancelStep:
			sessions[a.session.id] = true
		case requestStep:
			sessions[a.session.id] = true
		case pieceStep:
			if of, known := owners[a.id]; known && of != a.session.id {
				l.problem(steps.Content[i], "piece %s is of session %s; a piece belongs to one session of a file", a.id, of)
			}
			owners[a.id] = a.session.id
		}
	}
	for i, s := range f.Steps {
		at := steps.Content[i]
		for _, r := range sessionRefs(s.act) {
			if r.id != "" && !sessions[r.id] {
				l.problem(at, "unknown session %s: no step of this file admits it", r.id)
			}
		}
		for _, r := range pieceRefs(s.act) {
			if _, known := owners[r.id]; r.id != "" && !known {
				l.problem(at, "unknown piece %s: no step of this file adds it", r.id)
			}
		}
		for _, e := range s.Expect {
			_, known := owners[e.subject.ref.id]
			if e.subject.kind == subjectSession && !sessions[e.subject.ref.id] || e.subject.kind == subjectPiece && !known {
				l.problems = append(l.problems, Problem{File: l.file, Pos: e.Pos, Text: "unknown " + e.subject.String() + ": no step of this file adds it"})
			}
		}
	}
}

func sessionRefs(a action) []ref {
	switch a := a.(type) {
	case pieceStep:
		return []ref{a.session}
	case failStep:
		return []ref{a.session}
	case ackStep:
		return []ref{a.session}
	case completeStep:
		return []ref{a.session}
	case closeStep:
		return []ref{a.session}
	}
	return nil
}

func pieceRefs(a action) []ref {
	switch a := a.(type) {
	case gateStep:
		return a.pieces
	case sendFailedStep:
		return []ref{a.piece}
	case failStep:
		return []ref{a.piece}
	case reportStep:
		return []ref{a.piece}
	case operationStep:
		return []ref{a.piece}
	case localStep:
		return []ref{a.piece}
	case callStep:
		return []ref{a.piece}
	}
	return nil
}
