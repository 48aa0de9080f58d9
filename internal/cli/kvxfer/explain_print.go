// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/ownership/explain"
)

// printReport prints who holds what in a table, and the endpoint in words.
func (a *app) printReport(r *explain.Report) {
	fmt.Fprintf(a.stdout, "endpoint    %s, incarnation %s, %s old when asked at %s\n", r.Endpoint, r.Incarnation, round(r.Elapsed), r.Taken.Format(time.RFC3339))
	fmt.Fprintf(a.stdout, "admission   %s\n", a.paintAdmission(r))
	if r.Fatal != nil {
		fmt.Fprintf(a.stdout, "fatal       %s\n", r.Fatal.Text)
	}
	a.reportTable(r)
	for i := range r.Pools {
		fmt.Fprintf(a.stdout, "pool        %s\n", r.Pools[i].Text)
		for k := range r.Pools[i].Pins {
			fmt.Fprintf(a.stdout, "  pin       %s\n", r.Pools[i].Pins[k].Text)
		}
	}
	for i := range r.Waiting {
		fmt.Fprintf(a.stdout, "waiting     %s\n", r.Waiting[i].Text)
	}
	for i := range r.Fences {
		fmt.Fprintf(a.stdout, "fenced      %s\n", r.Fences[i].Text)
	}
	held, retained := 0, 0
	for i := range r.Regions {
		if r.Regions[i].Holding != explain.Free {
			held++
		}
		if r.Regions[i].Holding == explain.Retained {
			retained++
		}
	}
	fmt.Fprintf(a.stdout, "regions     %d free, %d owned with all proof there, %d retained without\n", len(r.Regions)-held, held-retained, retained)
	fmt.Fprintf(a.stdout, "pieces      %s\n", r.Totals)
}

func (a *app) paintAdmission(r *explain.Report) string {
	switch {
	case r.Fatal != nil:
		return a.paint(r.Admission.Text, text.FgRed)
	case len(r.Admission.Doubted) > 0:
		return a.paint(r.Admission.Text, text.FgYellow)
	}
	return r.Admission.Text
}

// reportTable has one row a reason; nothing where everything is free.
func (a *app) reportTable(r *explain.Report) {
	t := a.newTable()
	t.AppendHeader(table.Row{"region", "owner", "held by", "state", "for", "event", "what frees it"})
	for i := range r.Regions {
		g := &r.Regions[i]
		for k := range g.Owners {
			o := &g.Owners[k]
			owner := fmt.Sprintf("%s:%s\n%s, %s", o.Session, o.Piece, o.Side, o.Outcome+causeText(o.Cause))
			if o.Deadline != nil && r.Fatal == nil {
				owner += "\nFATAL in " + round(max(0, *o.Deadline-r.Elapsed)).String()
			}
			for n := range o.Reasons {
				t.AppendRow(append(table.Row{g.ID, owner}, a.reasonCells(&o.Reasons[n])...))
			}
		}
	}
	if t.Length() == 0 {
		return
	}
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, AutoMerge: true}, {Number: 2, AutoMerge: true},
		{Number: 5, Align: text.AlignRight},
		{Number: 7, WidthMax: 48, WidthMaxEnforcer: text.WrapSoft},
	})
	t.Style().Options.SeparateRows = true
	t.Render()
}

func (a *app) reasonCells(r *explain.Reason) table.Row {
	if r.About != explain.Claim {
		return table.Row{string(r.About), "", "", "", r.Frees}
	}
	event := r.Event
	if event == "" {
		event = "admission"
	}
	state := r.State
	if state == claim.InDoubt.String() {
		state = a.paint(state, text.FgYellow)
	}
	return table.Row{r.Accessor, state, round(r.Age).String(), event, r.Frees}
}
