// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// Mermaid draws a machine as a Mermaid state diagram. States with tags get a
// class with the name of their first tag.
func Mermaid(m *load.Machine) []byte {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	fmt.Fprintf(&b, "    [*] --> %s\n", m.States[m.Initial()].Name)
	for _, e := range edgesOf(m) {
		fmt.Fprintf(&b, "    %s --> %s : %s\n", m.States[e.from].Name, m.States[e.to].Name, strings.Join(e.events, ", "))
	}
	for _, s := range m.States {
		if s.Final {
			fmt.Fprintf(&b, "    %s --> [*]\n", s.Name)
		}
	}
	for i, tag := range m.Tags() {
		h := hueOf(m.Tags(), i).light
		fmt.Fprintf(&b, "    classDef tag_%s fill:%s,stroke:%s,color:%s\n", tag, h[0], h[1], h[2])
		for _, s := range m.States {
			if len(s.Tags) > 0 && s.Tags[0] == tag {
				fmt.Fprintf(&b, "    class %s tag_%s\n", s.Name, tag)
			}
		}
	}
	return []byte(b.String())
}
