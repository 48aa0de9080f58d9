// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/hazard"
)

// hazardPrinter prints one report as it grows: a table of the first run, a
// line for each further one, and a summary; or JSON Lines.
type hazardPrinter struct {
	app    *app
	flags  hazardFlags
	report *hazard.Report
}

// hazardEvent is one line of --json.
type hazardEvent struct {
	Event   string        `json:"event"` // hazard, step, run, summary
	Run     int           `json:"run,omitempty"`
	Half    string        `json:"half,omitempty"`
	Library string        `json:"library,omitempty"`
	Version string        `json:"version,omitempty"`
	Transp  string        `json:"transport,omitempty"`
	Op      hazard.Op     `json:"op,omitempty"`
	Bytes   int64         `json:"bytes,omitempty"`
	Step    *hazard.Step  `json:"step,omitempty"`
	Pair    *hazard.Pair  `json:"halves,omitempty"`
	Today   *hazard.Tally `json:"today,omitempty"`
	Owned   *hazard.Tally `json:"owned,omitempty"`
}

func (p *hazardPrinter) began() {
	r := p.report
	if p.flags.json {
		_ = p.app.json(hazardEvent{Event: "hazard", Library: r.Library, Version: r.Version, Transp: r.Transport, Op: r.Op, Bytes: r.Bytes})
		return
	}
	fmt.Fprintf(p.app.stdout, "NIXL %s, transport %s: one %v of %s bytes, cancelled while the peer is stopped\nlibrary     %s\n",
		r.Version, r.Transport, r.Op, hazard.Grouped(r.Bytes), r.Library)
}

func (p *hazardPrinter) teller(run int) func(string, hazard.Step) {
	if !p.flags.json {
		return nil
	}
	return func(half string, s hazard.Step) {
		_ = p.app.json(hazardEvent{Event: "step", Run: run + 1, Half: half, Step: &s})
	}
}

func (p *hazardPrinter) ran(run int, pair hazard.Pair) {
	switch {
	case p.flags.json:
		_ = p.app.json(hazardEvent{Event: "run", Run: run + 1, Pair: &pair})
	case run == 0:
		p.table(pair)
	}
	if !p.flags.json && p.flags.runs > 1 {
		fmt.Fprintf(p.app.stdout, "run %2d: %s: %14s today, %s owned\n",
			run+1, p.report.Op.Words().Foreign, hazard.Grouped(pair.Today.Arrived.Foreign), hazard.Grouped(pair.Owned.Arrived.Foreign))
	}
}

// Where both halves with their times do not fit, the times are left out.
const (
	hazardWidth = 144
	phaseWidth  = 25 // of the first column and all borders
)

func (p *hazardPrinter) table(pair hazard.Pair) {
	t := p.app.newTable()
	columns := []table.ColumnConfig{{Number: 1, Colors: p.app.colors(text.Faint)}}
	w := width(p.app.stdout)
	times := w == 0 || w >= hazardWidth
	if times {
		for _, n := range []int{2, 4} {
			columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, Colors: p.app.colors(text.Faint)})
		}
	} else {
		for _, n := range []int{2, 3} {
			columns = append(columns, table.ColumnConfig{Number: n, WidthMax: max((w-phaseWidth)/2, 20), WidthMaxEnforcer: text.WrapSoft})
		}
	}
	row := func(phase, todayAt, today, ownedAt, owned string) table.Row {
		if times {
			return table.Row{phase, todayAt, today, ownedAt, owned}
		}
		return table.Row{phase, today, owned}
	}
	t.AppendHeader(row("", "", "as engines do today", "", "owned"))
	for _, r := range pair.Rows() {
		t.AppendRow(row(string(r.Phase), r.TodayAt, r.TodayText, r.OwnedAt, r.OwnText))
	}
	t.AppendSeparator()
	bytes := func(o blocks.Origins) (own, foreign string) {
		return hazard.Grouped(o.Own) + " bytes", p.foreign(o.Foreign)
	}
	todayOwn, todayForeign := bytes(pair.Today.Arrived)
	ownedOwn, ownedForeign := bytes(pair.Owned.Arrived)
	words := p.report.Op.Words()
	t.AppendRow(row(words.Own, "", todayOwn, "", ownedOwn))
	t.AppendRow(row(words.Another, "", todayForeign, "", ownedForeign))
	t.SetColumnConfigs(columns)
	t.Render()
}

// foreign paints what this is all about.
func (p *hazardPrinter) foreign(n int64) string {
	s := hazard.Grouped(n) + " bytes"
	if n > 0 {
		return p.app.paint(s, text.FgRed, text.Bold)
	}
	return p.app.paint(s, text.FgGreen, text.Bold)
}

func (p *hazardPrinter) ended() {
	today, owned := p.report.TallyOf(hazard.Today), p.report.TallyOf(hazard.Owned)
	if p.flags.json {
		_ = p.app.json(hazardEvent{Event: "summary", Today: &today, Owned: &owned})
		return
	}
	if today.Runs > 1 {
		t := p.app.newTable()
		t.AppendHeader(table.Row{p.report.Op.Words().Foreign, "runs that showed it", "least", "median", "most"})
		for _, h := range []struct {
			name  string
			tally hazard.Tally
		}{{"as engines do today", today}, {"owned", owned}} {
			t.AppendRow(table.Row{h.name, fmt.Sprintf("%d of %d", h.tally.Showed, h.tally.Runs),
				hazard.Grouped(h.tally.Min), hazard.Grouped(h.tally.Median), hazard.Grouped(h.tally.Max)})
		}
		t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, Align: text.AlignRight}, {Number: 3, Align: text.AlignRight},
			{Number: 4, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight}})
		t.Render()
	}
	switch {
	case p.report.Transport != hazard.CMA && p.report.Op == hazard.Read:
		fmt.Fprintln(p.app.stdout, readWarning)
	case p.report.Transport != hazard.CMA:
	case p.report.InFlight():
		fmt.Fprintln(p.app.stdout, "In some runs the post came back before the copy had ended, which CMA rarely does.")
	default:
		fmt.Fprint(p.app.stdout, whyNotCMA)
	}
}

const whyNotCMA = `Over CMA the hazard does not show: the kernel copies straight between the two
memories inside the post and asks nobody in the peer's process. When the post
returns, the copy has ended (status 0): nothing is in flight that a cancel could
let go of. It is "--transport tcp", the default, that shows the hazard.
`

// judge fails when the owned half let a foreign byte through: that is a broken
// promise, whatever the other half did.
func (a *app) judge(r *hazard.Report) error {
	if n := r.TallyOf(hazard.Owned); n.Showed > 0 {
		return &failure{exit.Finding, fmt.Errorf("owned half: bytes of one request reached the memory of another in %d of %d runs", n.Showed, n.Runs),
			"this must never happen: report it with the output of --json"}
	}
	return nil
}
