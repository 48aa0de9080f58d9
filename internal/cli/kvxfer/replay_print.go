// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/scenario"
)

// replayPrinter prints scenarios as they are run: a table of the steps and a
// line for each, or JSON Lines.
type replayPrinter struct {
	app    *app
	flags  replayFlags
	single bool // one scenario: its steps are always shown
	ran    int
	failed int
	steps  int
}

// replayEvent is one line of --json.
type replayEvent struct {
	Event string `json:"event"` // step, scenario
	File  string `json:"file"`
	Name  string `json:"name"`
	// step
	Step     int           `json:"step,omitempty"` // from 1
	Line     int           `json:"line,omitempty"`
	Column   int           `json:"column,omitempty"`
	Kind     string        `json:"kind,omitempty"`
	Text     string        `json:"text,omitempty"`
	At       time.Duration `json:"at_ns"` // virtual time after the step
	Error    string        `json:"error,omitempty"`
	Message  string        `json:"message,omitempty"`
	Effects  []string      `json:"effects,omitempty"`
	Failures []failedAt    `json:"failures,omitempty"`
	// scenario
	Rows   []int `json:"rows,omitempty"`
	Steps  int   `json:"steps,omitempty"`
	Passed *bool `json:"passed,omitempty"`
}

// failedAt is what was not as the file says, and where the file says it.
type failedAt struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
}

func (p *replayPrinter) report(r *scenario.Report) {
	passed := !r.Failed()
	p.ran++
	p.steps += len(r.Steps)
	if !passed {
		p.failed++
	}
	switch {
	case p.flags.json:
		p.jsonSteps(r, passed)
		return
	case p.single || p.flags.verbose || !passed:
		p.table(r)
	}
	if p.single || p.flags.verbose || !passed {
		p.verdict(r, passed)
	}
}

func (p *replayPrinter) jsonSteps(r *scenario.Report, passed bool) {
	for i, s := range r.Steps {
		e := replayEvent{
			Event: "step", File: r.File.Path, Name: r.File.Name, Step: i + 1, Line: s.Step.Pos.Line, Column: s.Step.Pos.Column,
			Kind: s.Step.Kind, Text: s.Step.Text, At: s.At, Effects: told(s.Effects),
		}
		for _, f := range s.Failures {
			e.Failures = append(e.Failures, failedAt{f.Pos.Line, f.Pos.Column, f.Text})
		}
		if s.Err != nil {
			e.Error, e.Message = ownership.KindOf(s.Err).String(), s.Err.Error()
		}
		_ = p.app.json(e)
	}
	_ = p.app.json(replayEvent{
		Event: "scenario", File: r.File.Path, Name: r.File.Name, Rows: r.File.Rows, Steps: len(r.Steps), At: r.Final.At, Passed: &passed,
	})
}

func told(effects ownership.Effects) []string {
	var lines []string
	for _, e := range effects {
		lines = append(lines, scenario.Tell(e))
	}
	return lines
}

func (p *replayPrinter) table(r *scenario.Report) {
	fmt.Fprintf(p.app.stdout, "%s: %s\n", p.app.paint(r.File.Name, text.Bold), r.File.About)
	t := p.app.newTable()
	columns := []table.ColumnConfig{{Number: 1, Align: text.AlignRight, Colors: p.app.colors(text.Faint)}}
	if w := width(p.app.stdout); w > 0 {
		half := max((w-30)/2, 24)
		columns = append(columns,
			table.ColumnConfig{Number: 2, WidthMax: half, WidthMaxEnforcer: text.WrapSoft},
			table.ColumnConfig{Number: 4, WidthMax: half, WidthMaxEnforcer: text.WrapSoft})
	}
	t.SetColumnConfigs(columns)
	t.AppendHeader(table.Row{"at", "step", "answer", "what it did"})
	for _, s := range r.Steps {
		t.AppendRow(table.Row{s.At, strings.TrimSpace(s.Step.Kind + " " + s.Step.Text), p.answer(s.Err), strings.Join(told(s.Effects), "\n")})
		for _, f := range s.Failures {
			t.AppendRow(table.Row{"", p.app.paint(fmt.Sprintf("line %d: %s", f.Pos.Line, f.Text), text.FgRed, text.Bold), "", ""})
		}
	}
	t.Render()
}

func (p *replayPrinter) answer(err error) string {
	if err == nil {
		return ""
	}
	return p.app.paint(ownership.KindOf(err).String(), text.FgYellow)
}

// verdict is one line, and one for each failure with its place.
func (p *replayPrinter) verdict(r *scenario.Report, passed bool) {
	if passed {
		fmt.Fprintf(p.app.stdout, "%s %s: %s, %v of virtual time\n", p.app.paint("passed", text.FgGreen, text.Bold), r.File.Name, plural(len(r.Steps), "step"), r.Final.At)
		return
	}
	fmt.Fprintf(p.app.stdout, "%s %s\n%v\n", p.app.paint("FAILED", text.FgRed, text.Bold), r.File.Name, r.Err())
}

func (p *replayPrinter) end() error {
	if !p.flags.json && !p.single {
		fmt.Fprintf(p.app.stdout, "%s, %s: %d passed, %d failed\n", plural(p.ran, "scenario"), plural(p.steps, "step"), p.ran-p.failed, p.failed)
	}
	if p.failed > 0 {
		return &failure{exit.Finding, fmt.Errorf("%d of %s failed", p.failed, plural(p.ran, "scenario")), ""}
	}
	return nil
}
