// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"sort"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// procedures write those that the system itself may run.
func (g *systemGen) procedures() {
	for _, p := range g.procs() {
		params := g.params(p.Params)
		if params != "" {
			params = ", " + params
		}
		g.doc("%s is the procedure %s.", procName(p), p.Name)
		g.p("func (s *System) %s(out []Effect%s) []Effect {", procName(p), params)
		g.stmts(p.Body)
		g.p("return out\n}\n")
	}
}

// reactions write the loop that fires the first reaction that can, until none can.
func (g *systemGen) reactions() {
	if len(g.sys.Reactions) == 0 {
		return
	}
	g.doc("settle runs the reactions to their fixpoint: always the first one that can fire.")
	g.p("func (s *System) settle(out []Effect) []Effect {\nfor {\nswitch {")
	var late []*load.Reaction
	for _, r := range g.sys.Reactions {
		if r.For != nil {
			late = append(late, r)
			continue
		}
		if len(late) > 0 {
			g.fail("reaction %s: one for a replica stands before it; in Go those come last", r.Name)
		}
		g.p("case %s: // %s", g.expr(r.When), r.Name)
		g.stmts(r.Do)
	}
	g.p("default:")
	for _, r := range late {
		mask, _ := g.mask(r.When, r.For)
		g.p("if rest := (%s) & s.%s; rest != 0 { // %s", mask, g.all(r.For.Type.Over), r.Name)
		if uses(r.Do, r.For) {
			g.p("%s := %s.TrailingZeros64(rest)", g.local(r.For), g.pkg("math/bits"))
		}
		g.stmts(r.Do)
		g.p("continue\n}")
	}
	g.p("return out\n}\n}\n}\n")
}

// maskMethod writes the mask form of a definition.
func (g *systemGen) maskMethod(d *expr.Def) {
	text, _ := g.mask(d.Body, d.Params[0])
	g.doc("%sMask is %s for all members at once; bits of no member mean nothing.", load.GoParam(d.Name), load.GoName(d.Name))
	g.p("func (s *System) %sMask() uint64 { return %s }\n", load.GoParam(d.Name), text)
}

// machineHelpers write how events are offered to the machines in use.
func (g *systemGen) machineHelpers() {
	var keys []string
	for k := range g.helpers {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		verb, _, _ := strings.Cut(k, " ")
		v := g.helpers[k]
		m := g.spec(v.Machine.Name)
		name := verb + load.GoName(v.Name)
		index, state := "", "s."+field(v)
		if v.Over != nil {
			index, state = "i int, ", fmt.Sprintf("%s.State(s.%s.get(i))", m, field(v))
		}
		result := g.pkg(g.opt.runtime()) + ".Result"
		if verb == "would" {
			g.doc("%s is what offering the event to %s would give.", name, v.Name)
			g.p("func (s *System) %s(%sevent %s.Event) %s {\n_, result := %s.Next(%s, event)\nreturn result\n}\n", name, index, m, result, m, state)
			continue
		}
		g.doc("%s offers the event to %s.", name, v.Name)
		set := "s." + field(v) + " = next"
		if v.Over != nil {
			set = "s." + field(v) + ".set(i, uint8(next))"
		}
		g.p("func (s *System) %s(%sevent %s.Event) %s {\nnext, result := %s.Next(%s, event)\n%s\nreturn result\n}\n", name, index, m, result, m, state, set)
	}
}

// setHelpers write the masks of all members, and the static errors.
func (g *systemGen) setHelpers() {
	for _, s := range g.memberSets() {
		if !g.sets[s] {
			continue
		}
		name := load.GoName(s.Name)
		g.doc("%s returns the number of members of %s.", name, s.Name)
		g.p("func (s *System) %s() int { return int(s.n%s) }\n", name, name)
		g.doc("all%s is the mask of all members of %s.", name, s.Name)
		g.p("func (s *System) all%s() uint64 { return ^uint64(0) >> (64 - s.n%s) }\n", name, name)
	}
	if g.broadcasts {
		g.doc("everyone is the mask of all if yes, and of none if not.")
		g.p("func everyone(yes bool) uint64 {\nif yes {\nreturn ^uint64(0)\n}\nreturn 0\n}\n")
	}
	g.flagType()
	if g.sums {
		g.doc("later is the time d after at, or the last one that there is.")
		g.p("func later(at, d time.Duration) time.Duration {\nif d > 0 && at > %s.MaxInt64-d {\nreturn math.MaxInt64\n}\nreturn at + d\n}\n", g.pkg("math"))
	}
	if len(g.errors) > 0 {
		g.doc("One static error for each refusal.")
		g.p("var (")
		for _, e := range g.errors {
			g.p("%s", e)
		}
		g.p(")\n")
	}
}

// laneTypes write the types that hold an enum for each of 64 members: bit k of the
// codes of all members in word k.
func (g *systemGen) laneTypes() {
	var widths []int
	for n := range g.lane {
		widths = append(widths, n)
	}
	sort.Ints(widths)
	for _, n := range widths {
		t := fmt.Sprintf("lanes%d", n)
		get, is := []string{}, []string{}
		var set, fill strings.Builder
		for k := range n {
			shift := ""
			if k > 0 {
				shift = fmt.Sprintf("<<%d", k)
			}
			bit := "uint64(v)&1"
			if k > 0 {
				bit = fmt.Sprintf("uint64(v)>>%d&1", k)
			}
			get = append(get, fmt.Sprintf("uint8(l[%d]>>i&1)%s", k, shift))
			is = append(is, fmt.Sprintf("^(l[%d] ^ -(%s))", k, bit))
			fmt.Fprintf(&set, "l[%d] = l[%d]&^(1<<i) | %s<<i\n", k, k, bit)
			fmt.Fprintf(&fill, "l[%d] = members & -(%s)\n", k, bit)
		}
		g.doc("%s holds a number of %d bits for each of 64 members: bit k of all of them in word k.", t, n)
		g.p("type %s [%d]uint64\n", t, n)
		g.p("func (l *%s) get(i int) uint8 {\ni &= 63 // it is below 64 already: the shifts need no check then\nreturn %s\n}\n", t, strings.Join(get, " | "))
		g.p("func (l *%s) set(i int, v uint8) {\ni &= 63\n%s}\n", t, set.String())
		g.p("// is gives the mask of the members whose number is v.\nfunc (l *%s) is(v uint8) uint64 { return %s }\n", t, strings.Join(is, " & "))
		g.p("func (l *%s) fill(members uint64, v uint8) {\n%s}\n", t, fill.String())
	}
}
