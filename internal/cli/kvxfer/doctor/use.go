// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import "strings"

// use says what commands will do here by themselves.
func (m machine) use(l *library) []Finding {
	if !l.usable() {
		return []Finding{{"use", "backend", Problem, "loop: bytes are copied in memory, inside one process; commands that need NIXL refuse", ""}}
	}
	out := []Finding{{"use", "backend", OK, "nixl, plugin UCX", ""}}
	one := Finding{"use", "on one machine", OK, "cma for bytes, tcp for control", ""}
	if !has(l.transports, "cma") || m.ptrace().Level == Problem {
		one.Text = "tcp"
	}
	out = append(out, one)
	var fast []string
	for _, t := range l.transports {
		if t.Kind == "network" && t.Name != "tcp" {
			fast = append(fast, t.Name)
		}
	}
	between := Finding{"use", "between machines", OK, strings.Join(append(fast, "tcp"), ", "), ""}
	return append(out, between)
}
