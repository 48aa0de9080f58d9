// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// UnsupportedError says what of a system another language cannot express.
type UnsupportedError struct{ System, What string }

// Error names the system and the part.
func (e *UnsupportedError) Error() string { return "export: " + e.System + ": " + e.What }

// Promela writes a system with a number of replicas as a model that Spin runs
// unchanged. Each action is one deterministic step of one process, so that the states
// that Spin stores are those of fsmgen check, plus one if the spec leaves first
// values open. Properties of states, of steps and after events become assertions;
// those that the spec refutes, and liveness (Spin's fairness is that of processes,
// not of actions), are left out.
func Promela(sys *load.System, replicas int, environment string) ([]byte, error) {
	p := &promela{sys: sys, counts: map[*expr.IndexSet]int{}, old: map[string]bool{}}
	for _, s := range sys.Sets {
		p.counts[s] = min(replicas, s.Max)
	}
	if environment != "" {
		if p.env = slices.Index(sys.Environments, environment); p.env < 0 {
			return nil, &UnsupportedError{sys.Name, "no environment " + environment}
		}
	}
	body := &bytes.Buffer{}
	p.process(body)
	if p.err != nil {
		return nil, p.err
	}
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "/* %s with %d replicas, written by fsmgen export promela.\n", sys.Name, replicas)
	fmt.Fprintf(out, "   spin -a model.pml && cc -O2 -DNOREDUCE -o pan pan.c && ./pan -m100000 */\n\n")
	p.declare(out)
	out.Write(body.Bytes())
	return out.Bytes(), nil
}

// promela writes one model.
type promela struct {
	sys    *load.System
	counts map[*expr.IndexSet]int
	env    int
	temps  int
	old    map[string]bool // variables whose value before the step is needed
	inOld  bool            // every variable is meant as it was before the step
	err    error
}

func (p *promela) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &UnsupportedError{p.sys.Name, fmt.Sprintf(format, args...)}
	}
}

// declare writes the variables. Hidden ones are no part of Spin's states.
func (p *promela) declare(out *bytes.Buffer) {
	for _, v := range p.sys.Vars {
		if !v.Tracked() {
			continue
		}
		typ := promelaType(v.Type)
		if v.Over == nil {
			fmt.Fprintf(out, "%s %s = %d;\n", typ, ident(v.Name), v.Init)
		} else {
			fmt.Fprintf(out, "%s %s[%d] = %d;\n", typ, ident(v.Name), p.counts[v.Over], v.Init)
		}
		if v.Type.Kind == expr.Enum {
			fmt.Fprintf(out, "/* %s */\n", valueList(v.Type))
		}
		if !p.old[v.Name] {
			continue
		}
		if typ == "bool" {
			typ = "byte" // Spin hides no bits
		}
		if v.Over == nil {
			fmt.Fprintf(out, "hidden %s old_%s;\n", typ, v.Name)
		} else {
			fmt.Fprintf(out, "hidden %s old_%s[%d];\n", typ, v.Name, p.counts[v.Over])
		}
	}
	for i := range p.temps {
		fmt.Fprintf(out, "hidden int t%d;\n", i)
	}
	out.WriteByte('\n')
}

// ident keeps variables apart from the words of Promela.
func ident(name string) string { return "v_" + name }

func promelaType(t *expr.Type) string {
	switch {
	case t.Kind == expr.Bool:
		return "bool"
	case t.Kind == expr.Int && t.Lo < 0:
		return "int"
	case t.Kind == expr.Int && t.Hi > 255:
		return "int"
	}
	return "byte"
}

func valueList(t *expr.Type) string {
	out := ""
	for i, v := range t.Values {
		out += fmt.Sprintf("%d %s, ", i, v)
	}
	return out[:len(out)-2]
}

// process writes the one process: a loop over every action with every argument.
func (p *promela) process(out *bytes.Buffer) {
	steps := &bytes.Buffer{}
	for _, a := range p.sys.Actions {
		p.eachArgs(a.Params, func(b bindings, label string) { p.action(steps, a, b, label) })
	}
	out.WriteString("active proctype system() {\n")
	p.firstValues(out)
	out.WriteString("end:\n\tdo\n")
	out.Write(steps.Bytes())
	out.WriteString("\tod\n}\n")
}

// eachArgs calls f for every combination of arguments.
func (p *promela) eachArgs(params []*expr.Local, f func(b bindings, label string)) {
	var rec func(i int, b bindings, label string)
	rec = func(i int, b bindings, label string) {
		if i == len(params) {
			f(b, label)
			return
		}
		t := params[i].Type
		for v := range t.Size(p.counts[t.Over]) {
			rec(i+1, b.with(params[i], fmt.Sprint(v+t.Low())), label+" "+t.Format(v+t.Low()))
		}
	}
	rec(0, nil, "")
}

// bindings give parameters and loop variables their text in the model.
type bindings map[*expr.Local]string

func (b bindings) with(l *expr.Local, text string) bindings {
	c := bindings{l: text}
	for k, v := range b {
		if k != l {
			c[k] = v
		}
	}
	return c
}
