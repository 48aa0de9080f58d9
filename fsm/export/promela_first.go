// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
)

// maxFirst bounds the first states that a model lists.
const maxFirst = 1 << 12

// firstState is one combination of first values.
type firstState struct {
	p      *promela
	values map[*expr.Var][]int
}

func (f *firstState) Read(v *expr.Var, member int, _ bool) int {
	if list := f.values[v]; list != nil {
		return list[member]
	}
	return f.p.env
}

func (f *firstState) Members(s *expr.IndexSet) int { return f.p.counts[s] }

// place is a variable, of one member, whose first value is open.
type place struct {
	v      *expr.Var
	member int
}

func (pl place) String() string {
	if pl.v.Over == nil {
		return ident(pl.v.Name)
	}
	return fmt.Sprintf("%s[%d]", ident(pl.v.Name), pl.member)
}

// firstValues chooses among the first states that the spec allows.
func (p *promela) firstValues(out *bytes.Buffer) {
	f := &firstState{p: p, values: map[*expr.Var][]int{}}
	var open []place
	for _, v := range p.sys.Vars {
		members := 1
		if v.Over != nil {
			members = p.counts[v.Over]
		}
		for i := range members {
			f.values[v] = append(f.values[v], v.Init)
			if v.InitAny && v.Tracked() {
				open = append(open, place{v, i})
			}
		}
	}
	if len(open) == 0 {
		return
	}
	var lines []string
	p.combine(f, open, func() {
		if p.sys.Initially != nil && expr.Eval(p.sys.Initially, f) == 0 {
			return
		}
		var set []string
		for _, pl := range open {
			set = append(set, fmt.Sprintf("%s = %d", pl, f.values[pl.v][pl.member]))
		}
		lines = append(lines, "\t:: d_step { "+strings.Join(set, "; ")+" }\n")
	})
	if len(lines) > maxFirst {
		p.fail("%d first states; at most %d", len(lines), maxFirst)
		return
	}
	out.WriteString("\tif\n" + strings.Join(lines, "") + "\tfi;\n")
}

// combine calls do with every combination of values at the open places.
func (p *promela) combine(f *firstState, open []place, do func()) {
	if len(open) == 0 {
		do()
		return
	}
	pl := open[0]
	t := cmp.Or(pl.v.Tried, pl.v.Type)
	for v := range t.Size(0) {
		f.values[pl.v][pl.member] = v + t.Low()
		p.combine(f, open[1:], do)
	}
}
