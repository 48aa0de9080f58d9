// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/trace"
)

// TestCutAnywhere cuts a good trace after each of its bytes: nothing is found, and a
// line without its end is said.
func TestCutAnywhere(t *testing.T) {
	text := strings.Join(goodTrace(t), "\n") + "\n"
	header := strings.IndexByte(text, '\n') + 1
	for n := header; n < len(text)-1; n += 7 {
		r := check(t, "cut", []byte(text[:n]))
		if r.Found() != 0 {
			t.Fatalf("cut after %d bytes: %+v", n, r.Findings[0])
		}
		whole := strings.HasSuffix(text[:n], "\n") || json.Valid([]byte(text[strings.LastIndexByte(text[:n], '\n')+1:n]))
		if want := strings.Count(text[:n], "\n") + 1; !whole && r.Truncated != want {
			t.Fatalf("cut after %d bytes: line %d is cut off, want %d", n, r.Truncated, want)
		}
	}
}

// TestBadLines names each line that is none of a trace.
func TestBadLines(t *testing.T) {
	const header = `{"trace":{"format":1,"endpoint":"self"},"at_ns":0}`
	for _, c := range []struct {
		text string
		line int
		what string
	}{
		{"", 1, "there is no header: nothing was traced, or the file is another one"},
		{"what", 1, "there is no header: nothing was traced, or the file is another one"}, // cut off
		{"what\n", 1, "invalid character 'w' looking for beginning of value"},
		{`{"step":"tick","at_ns":0}` + "\n", 1, "the first line is no header of a trace"},
		{header + "\n\n" + header + "\n", 3, "a second header; check each trace by itself"},
		{header + "\n{\"at_ns\":0}\n", 2, `neither a header, a step nor a known effect ("")`},
		{header + "\n{\"step\":\"dance\",\"at_ns\":0}\n", 2, `unknown step "dance"`},
		{header + "\n{\"effect\":\"claim\",\"at_ns\":0,\"colour\":1}\n", 2, `json: unknown field "colour"`},
		{header + "\n{\"effect\":\"claim\",\"at_ns\":0} {}\n", 2, "more than one value"},
		{header + "\n{\"effect\":\"claim\",\"at_ns\":\"soon\"}\n", 2, "json: cannot unmarshal string into Go struct field Record.at_ns of type int64"},
		{`{"trace":{"format":2,"endpoint":"self"},"at_ns":0}` + "\n", 1, "format 2, and only 1 is known"},
	} {
		_, err := trace.Check("text", trace.NewReader(strings.NewReader(c.text)))
		var syntax *trace.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != c.line || syntax.What != c.what {
			t.Errorf("%q: %v, want line %d: %s", c.text, err, c.line, c.what)
		}
	}
}

// FuzzCheck feeds arbitrary text: nothing panics, and every finding has a line.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"trace":{"format":1,"endpoint":"self"},"at_ns":0}` + "\n" + `{"step":"add_pieces","at_ns":2,"seq":1,"session":"a/1@1","pieces":[{"name":"p","cohort":[{"accessor":"w"}]}]}`))
	f.Add([]byte(`{"trace":{"format":1,"endpoint":"self","imported":true},"at_ns":0}` + "\n" + `{"effect":"claim","at_ns":0,"session":"s","accessor":"w","event":"publish"}`))
	for _, path := range sample(f)[:4] {
		f.Add(traced(f, path))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := trace.Check("fuzz", trace.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		for _, found := range r.Findings {
			if found.Line < 1 || found.Rule == "" || found.What == "" {
				t.Errorf("%+v", found)
			}
		}
	})
}
