// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/kvxfer/kvxfer/trace"
)

// The part of OTLP's JSON that matters here.
type (
	export struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []json.RawMessage `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	span struct {
		Name       string      `json:"name"`
		Start      nanos       `json:"startTimeUnixNano"`
		End        nanos       `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes"`
		Events     []struct {
			Name       string      `json:"name"`
			Time       nanos       `json:"timeUnixNano"`
			Attributes []attribute `json:"attributes"`
		} `json:"events"`
		Status struct {
			Code json.RawMessage `json:"code"`
		} `json:"status"`
	}
	attribute struct {
		Key   string                     `json:"key"`
		Value map[string]json.RawMessage `json:"value"`
	}
	nanos int64
)

// UnmarshalJSON reads a number, or a number in quotes, as 64 bits are in OTLP's JSON.
func (n *nanos) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseInt(string(bytes.Trim(b, `"`)), 10, 64)
	*n = nanos(v)
	return err
}

// moment is the start, the end or an event of a span.
type moment struct {
	at     int64
	line   int
	span   string
	on     string
	values map[string]string
}

// spans is a log of OpenTelemetry spans as a trace. Spans are exported when they
// have ended, so all are read before the first is judged.
type spans struct {
	mapping   *Mapping
	begun     bool
	moments   []moment
	count     int
	unmatched int
	ready     []*trace.Record
	line      int
}

func (m *Mapping) spans(r io.Reader) (trace.Source, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	s := &spans{mapping: m, count: bytes.Count(data, []byte("\n"))}
	dec := json.NewDecoder(bytes.NewReader(data))
	at := places{data: data, line: 1}
	for {
		var e export
		switch err := dec.Decode(&e); {
		case err == io.EOF:
			slices.SortStableFunc(s.moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
			return s, nil
		case err != nil:
			at := dec.InputOffset()
			if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
				at = syntax.Offset
			}
			return nil, &trace.SyntaxError{Line: 1 + bytes.Count(data[:min(int(at), len(data))], []byte("\n")), What: "no OTLP JSON: " + err.Error()}
		}
		for _, resource := range e.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, raw := range scope.Spans {
					if err := s.take(raw, at.of(raw)); err != nil {
						return nil, err
					}
				}
			}
		}
	}
}

// places finds the lines of parts of a text that come in their order.
type places struct {
	data []byte
	line int
}

func (p *places) of(part []byte) int {
	i := bytes.Index(p.data, part)
	if i < 0 {
		return p.line
	}
	p.line += bytes.Count(p.data[:i], []byte("\n"))
	line := p.line
	p.line += bytes.Count(part, []byte("\n"))
	p.data = p.data[i+len(part):]
	return line
}

func (s *spans) take(raw []byte, line int) error {
	var sp span
	if err := json.Unmarshal(raw, &sp); err != nil {
		return &trace.SyntaxError{Line: line, What: "no span of OTLP: " + err.Error()}
	}
	values := map[string]string{"status": statusOf(sp.Status.Code)}
	collect(values, sp.Attributes)
	s.moments = append(s.moments, moment{int64(sp.Start), line, sp.Name, "start", values})
	for _, e := range sp.Events {
		own := make(map[string]string, len(values)+len(e.Attributes))
		for k, v := range values {
			own[k] = v
		}
		collect(own, e.Attributes)
		s.moments = append(s.moments, moment{int64(e.Time), line, sp.Name, e.Name, own})
	}
	s.moments = append(s.moments, moment{int64(sp.End), line, sp.Name, "end", values})
	return nil
}

func collect(values map[string]string, list []attribute) {
	for _, a := range list {
		for _, v := range a.Value {
			var text string
			if json.Unmarshal(v, &text) != nil {
				text = string(v)
			}
			values[a.Key] = text
		}
	}
}

// statusOf returns UNSET, OK or ERROR, which OTLP writes as a number or by name.
func statusOf(code json.RawMessage) string {
	switch string(bytes.Trim(code, `"`)) {
	case "1", "STATUS_CODE_OK":
		return "OK"
	case "2", "STATUS_CODE_ERROR":
		return "ERROR"
	}
	return "UNSET"
}

// State implements trace.Source. What is unmatched are moments that no rule knows.
func (s *spans) State() (lines, truncated, unmatched int) { return s.count, 0, s.unmatched }

// Next implements trace.Source.
func (s *spans) Next() (*trace.Record, int, error) {
	if !s.begun {
		s.begun = true
		return s.mapping.header(), 0, nil
	}
	for len(s.ready) == 0 {
		if len(s.moments) == 0 {
			return nil, 0, io.EOF
		}
		m := s.moments[0]
		s.moments = s.moments[1:]
		s.match(&m)
	}
	r := s.ready[0]
	s.ready = s.ready[1:]
	return r, s.line, nil
}

func (s *spans) match(m *moment) {
	for i := range s.mapping.Rules {
		if rule := &s.mapping.Rules[i]; rule.matches(m) {
			s.line = m.line
			s.ready = rule.fill(m.at, func(name string) string { return m.values[name] })
			return
		}
	}
	s.unmatched++
}

func (r *Rule) matches(m *moment) bool {
	if r.On != m.on || !r.Span.MatchString(m.span) {
		return false
	}
	for key, re := range r.Where {
		if !re.MatchString(m.values[key]) {
			return false
		}
	}
	return true
}
