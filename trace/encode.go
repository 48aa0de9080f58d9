// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"encoding/json"
	"strconv"
)

// line is one line of a trace under construction. It is written field by field, as
// a trace that costs much is not written; a test holds it against encoding/json.
type line struct {
	buf []byte
	err error
}

// of returns the line of a record, valid until the next call.
func (l *line) of(r *Record) ([]byte, error) {
	l.buf, l.err = append(l.buf[:0], '{'), nil
	if r.Header != nil {
		l.value("trace", r.Header)
	}
	l.text("step", r.Step)
	l.text("effect", r.Effect)
	l.key("at_ns")
	l.buf = strconv.AppendInt(l.buf, r.At, 10)
	l.number("seq", r.Seq)
	l.text("session", r.Session)
	l.text("piece", r.Piece)
	l.text("accessor", r.Accessor)
	l.text("incarnation", r.Incarnation)
	l.text("owner", r.Owner)
	l.number("claim", r.Claim)
	l.text("event", r.Event)
	l.text("from", r.From)
	l.text("to", r.To)
	l.text("outcome", r.Outcome)
	l.text("cause", r.Cause)
	l.text("origin", r.Origin)
	l.text("status", r.Status)
	l.text("evidence", r.Evidence)
	l.text("sender", r.Sender)
	l.text("scope", r.Scope)
	l.text("side", r.Side)
	l.signed("request_timeout_ns", r.Timeout)
	l.signed("grace_ns", r.Grace)
	l.list("pieces", len(r.Pieces), r.Pieces)
	l.number("first", r.First)
	l.list("names", len(r.Names), r.Names)
	l.list("published", len(r.Published), r.Published)
	l.text("region", r.Region)
	l.text("endpoint", r.Endpoint)
	l.number("number", r.Number)
	l.text("message", r.Message)
	l.signed("deadline_ns", r.Deadline)
	l.number("lost", r.Lost)
	if r.Counters != nil {
		l.value("counters", r.Counters)
	}
	l.text("answer", r.Answer)
	l.buf = append(l.buf, '}', '\n')
	return l.buf, l.err
}

func (l *line) key(name string) {
	if l.buf[len(l.buf)-1] != '{' {
		l.buf = append(l.buf, ',')
	}
	l.buf = append(append(append(l.buf, '"'), name...), '"', ':')
}

func (l *line) text(name, s string) {
	if s == "" {
		return
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f || c == '<' || c == '>' || c == '&' {
			l.value(name, s)
			return
		}
	}
	l.key(name)
	l.buf = append(append(append(l.buf, '"'), s...), '"')
}

func (l *line) number(name string, n uint64) {
	if n != 0 {
		l.key(name)
		l.buf = strconv.AppendUint(l.buf, n, 10)
	}
}

func (l *line) signed(name string, n int64) {
	if n != 0 {
		l.key(name)
		l.buf = strconv.AppendInt(l.buf, n, 10)
	}
}

func (l *line) list(name string, n int, v any) {
	if n > 0 {
		l.value(name, v)
	}
}

// value writes what is seldom, or has to be escaped.
func (l *line) value(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		l.err = err
		return
	}
	l.key(name)
	l.buf = append(l.buf, b...)
}
