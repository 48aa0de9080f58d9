// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"io"
	"regexp"
	"strings"

	"github.com/kvxfer/kvxfer/trace"
)

// Mapping says what another engine's log means.
type Mapping struct {
	Engine string
	Format Format
	Rules  []Rule
}

// Format is what a log consists of. The zero value is not valid.
type Format uint8

// The formats.
const (
	_     Format = iota
	Lines        // plain text, a line at a time
	OTLP         // OpenTelemetry spans: the JSON of OTLP, whole or an export a line
)

var formats = map[string]Format{"lines": Lines, "otlp": OTLP}

// String returns "lines" or "otlp".
func (f Format) String() string {
	for name, v := range formats {
		if v == f {
			return name
		}
	}
	return "no format"
}

// Rule says what one kind of line, or one moment of one kind of span, means. The
// first rule that matches decides.
type Rule struct {
	Line *regexp.Regexp // of format lines
	// Span matches a span's name, and On says at which moment: "start", "end", or
	// the name of an event in it. Where matches attributes of the span or the event.
	Span  *regexp.Regexp
	On    string
	Where map[string]*regexp.Regexp
	// Records are the templates of what the trace has of it; none: it means nothing.
	Records []Record
}

// Record is a template: in its fields, {name} is a group of the rule's expressions
// or an attribute.
type Record struct {
	Effect string
	Fields map[string]string
}

// DefaultPiece is the piece of a record that names none.
const DefaultPiece = "memory"

// fields are what a record may say, with where it goes.
var fields = map[string]func(*trace.Record) *string{
	"session":  func(r *trace.Record) *string { return &r.Session },
	"piece":    func(r *trace.Record) *string { return &r.Piece },
	"accessor": func(r *trace.Record) *string { return &r.Accessor },
	"region":   func(r *trace.Record) *string { return &r.Region },
	"event":    func(r *trace.Record) *string { return &r.Event },
	"outcome":  func(r *trace.Record) *string { return &r.Outcome },
	"cause":    func(r *trace.Record) *string { return &r.Cause },
	"origin":   func(r *trace.Record) *string { return &r.Origin },
}

// needs are the effects that an imported record may be, with the fields that it has.
var needs = map[string][]string{
	"piece": {"session", "region"}, "claim": {"session", "accessor", "event"}, "piece_ended": {"session", "outcome"},
	"piece_invalid": {"session"}, "session_ended": {"session", "outcome"}, "session_closed": {"session"}, "released": {"session"},
	"reuse": {"region"},
}

// ofPiece are those of them that are about a piece.
var ofPiece = map[string]bool{"piece": true, "claim": true, "piece_ended": true, "piece_invalid": true, "released": true}

// Source returns the trace that a log is, for trace.Check.
func (m *Mapping) Source(r io.Reader) (trace.Source, error) {
	if m.Format == OTLP {
		return m.spans(r)
	}
	return &lines{mapping: m, in: newScanner(r)}, nil
}

// header is the first record of every imported trace.
func (m *Mapping) header() *trace.Record {
	return &trace.Record{Header: &trace.Header{Format: trace.Version, Endpoint: m.Engine, Imported: true}}
}

// fill makes the records of a rule that has matched, with the values of its names.
func (r *Rule) fill(at int64, value func(string) string) []*trace.Record {
	var out []*trace.Record
	for _, t := range r.Records {
		rec := &trace.Record{Effect: t.Effect, At: at}
		if ofPiece[t.Effect] {
			rec.Piece = DefaultPiece
		}
		for name, template := range t.Fields {
			*fields[name](rec) = expand(template, value)
		}
		out = append(out, rec)
	}
	return out
}

var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_.\-]*)\}`)

func expand(template string, value func(string) string) string {
	if !strings.Contains(template, "{") {
		return template
	}
	return placeholder.ReplaceAllStringFunc(template, func(s string) string { return value(s[1 : len(s)-1]) })
}
