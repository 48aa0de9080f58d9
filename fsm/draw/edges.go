// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// edge is one arrow of a state diagram: all events that move from one state to
// another.
type edge struct {
	from, to int // indexes of states
	events   []string
}

// edgesOf lists the arrows in the order of the spec.
func edgesOf(m *load.Machine) []edge {
	var edges []edge
	for from, row := range m.Cells {
		at := map[int]int{}
		for ev, c := range row {
			if c.Result != fsm.Moved {
				continue
			}
			i, known := at[c.To]
			if !known {
				i = len(edges)
				at[c.To] = i
				edges = append(edges, edge{from: from, to: c.To})
			}
			edges[i].events = append(edges[i].events, m.Events[ev].Name)
		}
	}
	return edges
}
