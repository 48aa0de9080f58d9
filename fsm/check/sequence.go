// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
)

// Sequence writes the run as a Mermaid sequence diagram: who called what, and what
// it changed. A call that the outside world makes comes from the world.
func (t *Trace) Sequence(system string) string {
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	fmt.Fprintf(&b, "    participant C as caller\n    participant S as %s\n    participant W as outside world\n", system)
	for _, v := range t.Start {
		fmt.Fprintf(&b, "    Note over S: %s = %s at first\n", v.Name, v.Value)
	}
	for i, s := range t.Steps {
		if i == t.Loop {
			b.WriteString("    loop for ever\n")
		}
		from := "C"
		if s.Action.Environment {
			from = "W"
		}
		fmt.Fprintf(&b, "    %s->>S: %s\n", from, s.Call)
		var changes []string
		for _, c := range s.Changes {
			changes = append(changes, fmt.Sprintf("%s: %s → %s", c.Name, c.From, c.To))
		}
		if len(changes) == 0 {
			changes = []string{"nothing changes"}
		}
		fmt.Fprintf(&b, "    Note over S: %s\n", strings.Join(changes, "<br/>"))
	}
	if t.Loop >= 0 && t.Loop < len(t.Steps) {
		b.WriteString("    end\n")
	}
	return b.String()
}
