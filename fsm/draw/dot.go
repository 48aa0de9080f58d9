// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// DOT draws a machine in the language of Graphviz. Names are quoted, so that no
// name can be one of its keywords.
func DOT(m *load.Machine) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n", m.Name)
	b.WriteString("    node [shape=box, style=\"rounded,filled\", fillcolor=\"#f4f6f9\", color=\"#5a6675\", fontname=\"monospace\"];\n")
	b.WriteString("    edge [color=\"#5a6675\", fontname=\"monospace\", fontsize=11];\n")
	b.WriteString("    \"\" [shape=point, width=0.14, color=\"#5a6675\"];\n")
	for _, s := range m.States {
		var attrs []string
		label := s.Name
		if len(s.Tags) > 0 {
			h := hueOf(m.Tags(), tagIndex(m, s.Tags[0])).light
			attrs = append(attrs, fmt.Sprintf("fillcolor=%q, color=%q, fontcolor=%q", h[0], h[1], h[2]))
			label += `\n` + strings.Join(s.Tags, ", ")
		}
		if s.Final {
			attrs = append(attrs, "peripheries=2")
		}
		attrs = append(attrs, `label="`+label+`"`)
		fmt.Fprintf(&b, "    %q [%s];\n", s.Name, strings.Join(attrs, ", "))
	}
	fmt.Fprintf(&b, "    \"\" -> %q;\n", m.States[m.Initial()].Name)
	for _, e := range edgesOf(m) {
		fmt.Fprintf(&b, "    %q -> %q [label=\"%s\"];\n", m.States[e.from].Name, m.States[e.to].Name, strings.Join(e.events, `\n`))
	}
	b.WriteString("}\n")
	return []byte(b.String())
}
