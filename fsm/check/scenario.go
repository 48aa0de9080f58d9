// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// Scenario writes the run by the templates of the spec: what the system's scenario
// begins with, and the step of each action. In the beginning, {members} is the list of
// the members' numbers, and {v} the first value of a variable v that the spec leaves open;
// in a step, {p} is the value of the parameter p. Values are in lower case, members are
// numbers. A line with {refused} is there only where the action is refused, with the kind.
// Actions without a template become comments; what the outside world does by itself is
// left out.
func (t *Trace) Scenario(sys *load.System, replicas int) string {
	var b strings.Builder
	members := make([]string, replicas)
	for i := range members {
		members[i] = fmt.Sprint(i + 1)
	}
	start := strings.ReplaceAll(sys.Scenario, "{members}", strings.Join(members, ", "))
	for _, v := range t.Start {
		start = strings.ReplaceAll(start, "{"+v.Name+"}", strings.ToLower(v.Value))
	}
	b.WriteString(start)
	if b.Len() > 0 && !strings.HasSuffix(start, "\n") {
		b.WriteByte('\n')
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		switch {
		case s.Action.Scenario != "":
			b.WriteString(s.scenario())
		case !s.Action.Environment:
			b.WriteString("# " + s.Call + "\n")
		}
	}
	return b.String()
}

func (s *Step) scenario() string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(s.Action.Scenario, "\n") + "\n") {
		if s.Refused == "" && strings.Contains(line, "{refused}") {
			continue
		}
		line = strings.ReplaceAll(line, "{refused}", s.Refused)
		for i, p := range s.Action.Params {
			line = strings.ReplaceAll(line, "{"+p.Name+"}", scenarioValue(p.Type, s.Args[i]))
		}
		b.WriteString(line)
	}
	return b.String()
}

func scenarioValue(t *expr.Type, text string) string {
	if t.Kind == expr.Set {
		return strings.ReplaceAll(strings.Trim(text, "{}"), ",", ", ")
	}
	return strings.ToLower(text)
}
