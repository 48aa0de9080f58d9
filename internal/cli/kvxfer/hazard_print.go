// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
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
	Bytes   int64         `json:"bytes,omitempty"`
	Step    *hazard.Step  `json:"step,omitempty"`
	Pair    *hazard.Pair  `json:"halves,omitempty"`
	Today   *hazard.Tally `json:"today,omitempty"`
	Owned   *hazard.Tally `json:"owned,omitempty"`
}

func (p *hazardPrinter) began() {
	r := p.report
	if p.flags.json {
		_ = p.app.json(hazardEvent{Event: "hazard", Library: r.Library, Version: r.Version, Transp: r.Transport, Bytes: r.Bytes})
		return
	}
	fmt.Fprintf(p.app.stdout, "NIXL %s (%s), transport %s: one WRITE of %s bytes, cancelled while the peer is stopped\n",
		r.Version, r.Library, r.Transport, hazard.Grouped(r.Bytes))
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
		fmt.Fprintf(p.app.stdout, "run %2d: foreign bytes at the peer: %14s today, %s owned\n",
			run+1, hazard.Grouped(pair.Today.Arrived.Foreign), hazard.Grouped(pair.Owned.Arrived.Foreign))
	}
}

func (p *hazardPrinter) table(pair hazard.Pair) {
	t := p.app.newTable()
	t.AppendHeader(table.Row{"", "as engines do today", "", "owned", ""})
	for _, row := range pair.Rows() {
		t.AppendRow(table.Row{string(row.Phase), row.TodayAt, row.TodayText, row.OwnedAt, row.OwnText})
	}
	t.AppendSeparator()
	p.bytesRow(t, "of this request", pair.Today.Arrived.Own, pair.Owned.Arrived.Own)
	p.bytesRow(t, "of another", pair.Today.Arrived.Foreign, pair.Owned.Arrived.Foreign)
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, Colors: p.app.colors(text.Faint)},
		{Number: 2, Align: text.AlignRight, Colors: p.app.colors(text.Faint)},
		{Number: 4, Align: text.AlignRight, Colors: p.app.colors(text.Faint)},
	})
	t.Render()
}

func (p *hazardPrinter) bytesRow(t table.Writer, what string, today, owned int64) {
	paint := func(n int64) string {
		s := hazard.Grouped(n) + " bytes"
		switch {
		case what != "of another":
			return s
		case n > 0:
			return p.app.paint(s, text.FgRed, text.Bold)
		}
		return p.app.paint(s, text.FgGreen, text.Bold)
	}
	t.AppendRow(table.Row{what, "", paint(today), "", paint(owned)})
}

func (p *hazardPrinter) ended() {
	today, owned := p.report.TallyOf(hazard.Today), p.report.TallyOf(hazard.Owned)
	if p.flags.json {
		_ = p.app.json(hazardEvent{Event: "summary", Today: &today, Owned: &owned})
		return
	}
	if today.Runs > 1 {
		t := p.app.newTable()
		t.AppendHeader(table.Row{"foreign bytes at the peer", "runs that showed it", "least", "median", "most"})
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
	if p.report.Transport == hazard.CMA {
		fmt.Fprint(p.app.stdout, whyNotCMA)
	}
}

const whyNotCMA = `Over CMA the hazard does not show: the kernel copies straight into the peer's
memory inside the post, without asking the peer's process. When the post returns
the copy has ended (status 0), so there is nothing in flight to cancel. The other
side of this is that a peer's own close is no fence: see "kvxfer hazard" over TCP.
`

// judge fails when the owned half let a foreign byte through: that is a broken
// promise, whatever the other half did.
func (a *app) judge(r *hazard.Report) error {
	if n := r.TallyOf(hazard.Owned); n.Showed > 0 {
		return &failure{exit.Finding, fmt.Errorf("owned half: foreign bytes reached the peer in %d of %d runs", n.Showed, n.Runs),
			"this must never happen: report it with the output of --json"}
	}
	return nil
}
