// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// systemSimulation is a system with the way it came.
type systemSimulation struct {
	sys      *load.System
	replicas int
	out      io.Writer
	states   []check.Stepper // the first one, then the one after each call
	calls    []string
}

func simulateSystem(sys *load.System, replicas int, in io.Reader, out io.Writer) error {
	st, err := check.NewStepper(sys, replicas, nil)
	if err != nil {
		return usageError("%w", err)
	}
	s := &systemSimulation{sys: sys, replicas: replicas, out: out, states: []check.Stepper{*st}}
	s.show(nil)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "quit" {
			return nil
		}
		if line != "" {
			s.line(line)
		}
	}
	return lines.Err()
}

func (s *systemSimulation) now() *check.Stepper { return &s.states[len(s.states)-1] }

// line does one thing that the user typed.
func (s *systemSimulation) line(line string) {
	switch line {
	case "help":
		fmt.Fprintln(s.out, "type a call such as vote(1, true), or list (what each call would do), undo, reset, trace, help, quit;\nmembers are numbered from 1, a set is {1,2}")
	case "undo":
		if len(s.calls) == 0 {
			fmt.Fprintln(s.out, "nothing to undo")
			return
		}
		before := *s.now()
		s.calls, s.states = s.calls[:len(s.calls)-1], s.states[:len(s.states)-1]
		s.show(&before)
	case "reset":
		before := *s.now()
		s.calls, s.states = nil, s.states[:1]
		s.show(&before)
	case "trace":
		fmt.Fprintln(s.out, strings.Join(s.calls, "\n"))
	case "list":
		s.list()
	default:
		s.call(line)
	}
}

func (s *systemSimulation) call(line string) {
	a, args, err := s.parse(line)
	if err != nil {
		fmt.Fprintln(s.out, err)
		return
	}
	next := *s.now()
	refused, err := next.Do(a.Name, args...)
	if err != nil {
		fmt.Fprintln(s.out, err)
		return
	}
	if refused != "" {
		fmt.Fprintf(s.out, "refused: %s\n", refused)
	}
	before := *s.now()
	s.states, s.calls = append(s.states, next), append(s.calls, line)
	s.show(&before)
}

// list says for each call what it would do: nothing, refused, or the changes.
func (s *systemSimulation) list() {
	for _, a := range s.sys.Actions {
		s.each(a, func(args []int) {
			next := *s.now()
			refused, err := next.Do(a.Name, args...)
			answer := refused
			if err != nil {
				answer = err.Error()
			} else if changes := s.changes(s.now(), &next); len(changes) > 0 {
				answer = strings.TrimPrefix(refused+"; ", "; ") + strings.Join(changes, "; ")
			}
			var texts []string
			for i, p := range a.Params {
				texts = append(texts, p.Type.Format(args[i]))
			}
			fmt.Fprintf(s.out, "  %s(%s): %s\n", a.Name, strings.Join(texts, ", "), cmp.Or(answer, "nothing changes"))
		})
	}
}

// each calls f for the arguments of an action, as long as they are few.
func (s *systemSimulation) each(a *load.Action, f func(args []int)) {
	total := 1
	for _, p := range a.Params {
		total *= p.Type.Size(s.replicas)
	}
	if total > 64 {
		fmt.Fprintf(s.out, "  %s: %d different calls\n", a.Name, total)
		return
	}
	for i := range total {
		args, rest := make([]int, len(a.Params)), i
		for k := len(args) - 1; k >= 0; k-- {
			t := a.Params[k].Type
			args[k], rest = t.Low()+rest%t.Size(s.replicas), rest/t.Size(s.replicas)
		}
		f(args)
	}
}

// parse reads name(argument, …).
func (s *systemSimulation) parse(line string) (*load.Action, []int, error) {
	name, list, _ := strings.Cut(strings.TrimSuffix(line, ")"), "(")
	for _, a := range s.sys.Actions {
		if a.Name != strings.TrimSpace(name) {
			continue
		}
		texts := splitArguments(list)
		if len(texts) != len(a.Params) {
			return nil, nil, fmt.Errorf("%s takes %d arguments, found %d", a.Name, len(a.Params), len(texts))
		}
		var args []int
		for i, p := range a.Params {
			v, ok := value(p.Type, texts[i], s.replicas)
			if !ok {
				return nil, nil, fmt.Errorf("%s: %s; expected %s", p.Name, texts[i], p.Type)
			}
			args = append(args, v)
		}
		return a, args, nil
	}
	return nil, nil, fmt.Errorf("no action %q; type help or list", strings.TrimSpace(name))
}

// splitArguments splits at commas outside of braces.
func splitArguments(list string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range list {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				out, start = append(out, strings.TrimSpace(list[start:i])), i+1
			}
		}
	}
	if last := strings.TrimSpace(list[start:]); last != "" || len(out) > 0 {
		out = append(out, last)
	}
	return out
}

// value reads an argument in the words of the spec.
func value(t *expr.Type, text string, replicas int) (int, bool) {
	switch t.Kind {
	case expr.Bool:
		return map[string]int{"true": 1}[text], text == "true" || text == "false"
	case expr.Enum:
		return t.Lookup(text)
	case expr.Set:
		set := 0
		for member := range strings.SplitSeq(strings.Trim(text, "{}"), ",") {
			n, err := strconv.Atoi(strings.TrimSpace(member))
			if member != "" && (err != nil || n < 1 || n > replicas) {
				return 0, false
			}
			if member != "" {
				set |= 1 << (n - 1)
			}
		}
		return set, true
	}
	n, err := strconv.Atoi(text)
	if t.Kind == expr.Index {
		return n - 1, err == nil && n >= 1 && n <= replicas
	}
	return n, err == nil && n >= t.Lo && n <= t.Hi
}

// show writes what differs from the state before, or every variable.
func (s *systemSimulation) show(before *check.Stepper) {
	changes := s.changes(before, s.now())
	if len(changes) == 0 {
		changes = []string{"nothing changes"}
	}
	fmt.Fprintln(s.out, strings.Join(changes, "; "))
}

func (s *systemSimulation) changes(before, after *check.Stepper) []string {
	var out []string
	for _, v := range s.sys.Vars {
		members := 1
		if v.Over != nil {
			members = min(s.replicas, v.Over.Max)
		}
		for i := range members {
			name := v.Name
			if v.Over != nil {
				name += fmt.Sprintf("[%d]", i+1)
			}
			now := v.Type.Format(after.Get(v, i))
			switch {
			case before == nil:
				out = append(out, name+" = "+now)
			case before.Get(v, i) != after.Get(v, i):
				out = append(out, name+": "+v.Type.Format(before.Get(v, i))+" -> "+now)
			}
		}
	}
	return out
}
