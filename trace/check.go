// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/gen/region"
)

// Source gives the records of a trace in order, with the number of the line that
// each is in, and io.EOF after the last. [Reader] is one; an importer is another.
type Source interface {
	Next() (*Record, int, error)
	// State says what the source itself knows at its end: lines read, a last line
	// that was cut off (0: none), lines that no rule of a mapping matched.
	State() (lines, truncated, unmatched int)
}

// Check judges a trace. It keeps what is owned at the moment, the messages that
// wait, and the names of the last 32768 released pieces: memory does not grow with
// the trace. An error is of reading, or a *SyntaxError; what the spec does not
// allow is in the report.
func Check(name string, src Source) (*Report, error) {
	c := newChecker(name)
	for {
		r, line, err := src.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := c.feed(r, line); err != nil {
			return nil, err
		}
	}
	if c.report.Header.Format == 0 {
		return nil, &SyntaxError{1, "there is no header: nothing was traced, or the file is another one"}
	}
	c.closeGroup(true)
	c.report.Lines, c.report.Truncated, c.report.Unmatched = src.State()
	c.end()
	return c.report, nil
}

// group is a step with its effects.
type group struct {
	step    Record
	line    int
	effects []placed
}

type placed struct {
	Record
	line int
}

// effect returns the first effect of a kind, nil if there is none.
func (g *group) effect(kind string) *Record {
	for i := range g.effects {
		if g.effects[i].Effect == kind {
			return &g.effects[i].Record
		}
	}
	return nil
}

// checker is the state of a check.
type checker struct {
	report *Report

	group   group
	open    bool // a group is
	steps   bool // the trace has steps, and none was lost
	lastSeq uint64
	lastN   uint64

	owned       map[string]*session
	ordered     int
	gone        map[Member]bool
	regions     map[string]*region.System
	holders     map[string][]*piece // of an imported trace, by region
	released    recent
	queues      map[string][]message
	lastMessage uint64
	admission   string
	fatal       bool // as the trace says
	stopped     bool

	// Of the generated systems.
	fatalRules bool
	now        time.Duration
	reason     string
	deadlines  deadlines
}

func newChecker(name string) *checker {
	return &checker{
		report: &Report{Schema: 1, File: name, Findings: []Finding{}, Cells: map[string]int{}},
		owned:  map[string]*session{}, gone: map[Member]bool{}, regions: map[string]*region.System{}, holders: map[string][]*piece{},
		queues: map[string][]message{}, admission: "OPEN",
	}
}

// feed takes one record in.
func (c *checker) feed(r *Record, line int) error {
	switch {
	case r.Header != nil:
		return c.header(r, line)
	case c.report.Header.Format == 0:
		return &SyntaxError{line, "the first line is no header of a trace"}
	case r.Step != "":
		c.closeGroup(false)
		c.report.Steps++
		return c.step(r, line)
	}
	if !slices.Contains(effectNames, r.Effect) {
		return &SyntaxError{line, fmt.Sprintf("neither a header, a step nor a known effect (%q)", r.Effect)}
	}
	c.report.Effects++
	if c.open {
		c.group.effects = append(c.group.effects, placed{*r, line})
		return nil
	}
	if !c.report.Header.Imported && c.steps {
		c.find(line, "trace", "an effect without a step before it", nil)
	}
	c.apply(r, line, "")
	return nil
}

func (c *checker) header(r *Record, line int) error {
	h := r.Header
	switch {
	case c.report.Header.Format != 0:
		return &SyntaxError{line, "a second header; check each trace by itself"}
	case h.Format != Version:
		return &SyntaxError{line, fmt.Sprintf("format %d, and only %d is known", h.Format, Version)}
	}
	c.report.Header, c.steps = *h, !h.Imported
	if h.Imported {
		c.report.NotJudged = append(c.report.NotJudged, "an imported log has no steps: answers to evidence (I11), deadlines (I10) and reports (I13) are not judged")
	} else if h.Spec != SpecHash() {
		c.report.NotJudged = append(c.report.NotJudged, "the trace was written by another version of the spec; it is judged by this one")
	}
	return nil
}

func (c *checker) step(r *Record, line int) error {
	switch r.Step {
	case stepLost:
		c.report.Lost += r.Lost
		c.steps, c.lastSeq = false, 0
		c.report.NotJudged = append(c.report.NotJudged, fmt.Sprintf("line %d: the writer lost %d steps; only effects are judged after it, and a claim's state is what they say", line, r.Lost))
		return nil
	case stepEnd:
		c.report.Ended = true
		c.totals(r, line)
		return nil
	}
	if _, known := steps[r.Step]; !known {
		return &SyntaxError{line, fmt.Sprintf("unknown step %q", r.Step)}
	}
	if c.report.Ended {
		c.find(line, "trace", "a step after the end", nil)
	}
	if n := r.Seq; c.steps && n != c.lastN+1 {
		c.find(line, "trace", fmt.Sprintf("step %d comes after step %d: a line is missing or was moved", n, c.lastN), nil)
	}
	c.lastN = r.Seq
	c.group, c.open = group{step: *r, line: line, effects: c.group.effects[:0]}, true
	return nil
}

// closeGroup judges a step with all its effects; last: some of these may be
// missing, as the trace may stop here.
func (c *checker) closeGroup(last bool) {
	if !c.open {
		return
	}
	c.open = false
	g := &c.group
	d := &prediction{checker: c}
	a := answer{}
	before := c.report.Found()
	if s := c.owned[g.step.Session]; c.steps && (s == nil || !s.broken || g.step.Step == "add_pieces") {
		a = d.predict(g)
	} else if g.step.Step == "admit" || g.step.Step == "add_pieces" {
		c.adoptUnjudged(g)
	}
	for i := range g.effects {
		e := &g.effects[i]
		if c.lastSeq != 0 || c.steps {
			if e.Seq != c.lastSeq+1 {
				c.find(e.line, "trace", fmt.Sprintf("effect %d comes after effect %d: a line is missing or was moved", e.Seq, c.lastSeq), nil)
			}
		}
		c.lastSeq = e.Seq
		c.apply(&e.Record, e.line, g.step.Step)
	}
	if g.step.Step == "delivered" && g.step.Answer == "" {
		c.delivered(&g.step, g.line)
	}
	if c.steps {
		d.compare(g, a, last && !c.report.Ended, c.report.Found() > before)
	}
	c.forget(g)
}

func (c *checker) cell(machine, state, event string) {
	c.report.Cells[machine+" "+state+" "+event]++
}

// end says what is left.
func (c *checker) end() {
	for _, s := range c.owned {
		c.report.Open += len(s.pieces)
	}
	if !c.report.Header.Imported && !c.report.Ended {
		c.report.NotJudged = append(c.report.NotJudged, "the trace stops in the middle: what had to follow is not judged, nor are the totals (I17)")
	}
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
}
