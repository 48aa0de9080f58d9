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
// begins with, and the step of each action. {members} in the beginning is the list of
// the members' numbers; {p} in a step is the value of the parameter p in lower case,
// members by their numbers. Actions without a template become comments; what the
// outside world does by itself is left out.
func (t *Trace) Scenario(sys *load.System, replicas int) string {
	var b strings.Builder
	members := make([]string, replicas)
	for i := range members {
		members[i] = fmt.Sprint(i + 1)
	}
	b.WriteString(strings.ReplaceAll(sys.Scenario, "{members}", strings.Join(members, ", ")))
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	for _, s := range t.Steps {
		switch {
		case s.Action.Scenario != "":
			step := s.Action.Scenario
			for i, p := range s.Action.Params {
				step = strings.ReplaceAll(step, "{"+p.Name+"}", scenarioValue(p.Type, s.Args[i]))
			}
			b.WriteString(strings.TrimSuffix(step, "\n") + "\n")
		case !s.Action.Environment:
			b.WriteString("# " + s.Call + "\n")
		}
	}
	return b.String()
}

func scenarioValue(t *expr.Type, text string) string {
	if t.Kind == expr.Set {
		return strings.ReplaceAll(strings.Trim(text, "{}"), ",", ", ")
	}
	return strings.ToLower(text)
}
