// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bufio"
	"fmt"
	"io"
)

// WriteText prints the report for people: the endpoint, what it takes in, and
// under each region that is owned the owners and the reasons, the pins of blocks,
// and the messages that wait. Free regions are only counted.
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "endpoint   %s, incarnation %s, made %s before\n", r.Endpoint, r.Incarnation, age(r.Elapsed))
	fmt.Fprintf(b, "admission  %s\n", r.Admission.Text)
	if r.Fatal != nil {
		fmt.Fprintf(b, "FATAL      %s\n", r.Fatal.Text)
	}
	fmt.Fprintf(b, "pieces     %s\n", r.Totals)
	free := 0
	for i := range r.Regions {
		if g := &r.Regions[i]; g.Holding == Free {
			free++
		} else {
			g.write(b)
		}
	}
	for i := range r.Pools {
		fmt.Fprintln(b, r.Pools[i].Text)
		for k := range r.Pools[i].Pins {
			fmt.Fprintf(b, "  %s\n", r.Pools[i].Pins[k].Text)
		}
	}
	for i := range r.Waiting {
		fmt.Fprintf(b, "waiting    %s\n", r.Waiting[i].Text)
	}
	for i := range r.Fences {
		fmt.Fprintf(b, "fenced     %s\n", r.Fences[i].Text)
	}
	fmt.Fprintf(b, "free       %s of %d\n", count(free, "region"), len(r.Regions))
	return b.Flush()
}

func (g *Region) write(b *bufio.Writer) {
	fmt.Fprintf(b, "%s (%d bytes, allocation %d, registration %d)\n", g.Text, g.Bytes, g.Allocation, g.Registration)
	for i := range g.Owners {
		fmt.Fprintf(b, "  %s\n", g.Owners[i].Text)
		for k := range g.Owners[i].Reasons {
			fmt.Fprintf(b, "    %s\n", g.Owners[i].Reasons[k].Text)
		}
	}
}

// String returns the totals in one line.
func (t Totals) String() string {
	return fmt.Sprintf("%d admitted, %d released, %d owned, %d without proof; %s; %s waiting for peers",
		t.Admitted, t.Released, t.Owned, t.Unproven, count(t.Sessions, "session"), count(t.Reports, "report"))
}
