// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/kvxfer/kvxfer/gen/claim"
)

// FormatError says what is wrong with a document, and where.
type FormatError struct {
	// Line and Column count from 1; 0 where the text is well-formed and Field
	// says which value is wrong.
	Line, Column int
	Field        string // as in "regions[0].holding"; empty where the syntax is wrong
	Why          string
}

// Error returns where and what in one line.
func (e *FormatError) Error() string {
	switch {
	case e.Line > 0 && e.Field != "":
		return fmt.Sprintf("explain: %d:%d: %s: %s", e.Line, e.Column, e.Field, e.Why)
	case e.Line > 0:
		return fmt.Sprintf("explain: %d:%d: %s", e.Line, e.Column, e.Why)
	}
	return fmt.Sprintf("explain: %s: %s", e.Field, e.Why)
}

// Read reads a report that was written as JSON. The error is a *FormatError, or
// the reader's own.
func Read(from io.Reader) (*Report, error) {
	data, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	var version struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, located(data, err)
	}
	switch {
	case version.Schema == nil:
		return nil, &FormatError{Field: "schema", Why: "is missing: this is no snapshot of kvxfer"}
	case *version.Schema != Schema:
		return nil, &FormatError{Field: "schema", Why: fmt.Sprintf("is %d, and only %d is known", *version.Schema, Schema)}
	}
	r := new(Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, located(data, err)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}

// located turns an error of the decoder into one with a place.
func located(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		e := at(data, syntax.Offset)
		e.Why = syntax.Error()
		return e
	case errors.As(err, &kind):
		e := at(data, kind.Offset)
		e.Field, e.Why = kind.Field, fmt.Sprintf("is a JSON %s, not a %v", kind.Value, kind.Type)
		if e.Field == "" {
			e.Field, e.Why = "the document", "is a JSON "+kind.Value+", not an object"
		}
		return e
	}
	return &FormatError{Field: "the document", Why: err.Error()}
}

// at is the place of a byte, of which the decoder has read offset.
func at(data []byte, offset int64) *FormatError {
	before := data[:max(0, min(int(offset), len(data))-1)]
	line := bytes.Count(before, []byte("\n"))
	return &FormatError{Line: line + 1, Column: len(before) - bytes.LastIndexByte(before, '\n')}
}

// check refuses values that no report has.
func (r *Report) check() error {
	wrong := func(field, why string, args ...any) error {
		return &FormatError{Field: field, Why: fmt.Sprintf(why, args...)}
	}
	if !slices.Contains([]string{"OPEN", "QUARANTINED", "CLOSED", "FATAL"}, r.Admission.State) {
		return wrong("admission.state", "is %q", r.Admission.State)
	}
	if fatal := r.Fatal != nil; fatal != (r.Admission.State == "FATAL") {
		return wrong("fatal", "does not agree with admission.state, which is %s", r.Admission.State)
	}
	for i := range r.Regions {
		g := &r.Regions[i]
		at := fmt.Sprintf("regions[%d]", i)
		if g.ID == "" {
			return wrong(at+".id", "is empty")
		}
		if err := g.check(at, wrong); err != nil {
			return err
		}
	}
	return nil
}

func (g *Region) check(at string, wrong func(field, why string, args ...any) error) error {
	want := Free
	for i := range g.Owners {
		o, at := &g.Owners[i], fmt.Sprintf("%s.owners[%d]", at, i)
		switch {
		case !o.Drained:
			want = Retained
		case want == Free:
			want = Drained
		}
		if len(o.Reasons) == 0 {
			return wrong(at+".reasons", "are missing: nothing is owned without one")
		}
		for k := range o.Reasons {
			reason, at := &o.Reasons[k], fmt.Sprintf("%s.reasons[%d]", at, k)
			var s claim.State
			if reason.About == Claim && s.UnmarshalText([]byte(reason.State)) != nil {
				return wrong(at+".state", "is %q, which is no state of a claim", reason.State)
			}
		}
	}
	if g.Holding != want {
		return wrong(at+".holding", "is %q, but its owners make it %q", g.Holding, want)
	}
	return nil
}
