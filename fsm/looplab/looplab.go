// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package looplab builds a machine of github.com/looplab/fsm from a generated one:
// a bridge for its users, and an independent oracle for our tests.
//
// looplab knows moves alone. Events that duplicate, are ignored, rejected or in
// conflict are the same to it: an error, and the state stays.
package looplab

import (
	"fmt"

	"github.com/looplab/fsm"

	runtime "github.com/kvxfer/kvxfer/fsm"
)

// Code is what states and events of generated machines are.
type Code interface {
	~uint8
	fmt.Stringer
}

// Table is a generated machine by its parts, so that this package imports none:
//
//	looplab.Table[claim.State, claim.Event]{claim.AllStates(), claim.AllEvents(), claim.Initial, claim.Next}
type Table[S, E Code] struct {
	States  []S
	Events  []E
	Initial S
	Next    func(S, E) (S, runtime.Result)
}

// Moves lists the moves of the table in looplab's terms: one description for each
// event and target, in the order of the table.
func (t Table[S, E]) Moves() fsm.Events {
	var out fsm.Events
	for _, e := range t.Events {
		at := map[S]int{}
		for _, s := range t.States {
			to, res := t.Next(s, e)
			if res != runtime.Moved {
				continue
			}
			i, known := at[to]
			if !known {
				i = len(out)
				at[to] = i
				out = append(out, fsm.EventDesc{Name: e.String(), Dst: to.String()})
			}
			out[i].Src = append(out[i].Src, s.String())
		}
	}
	return out
}

// New returns a looplab machine in the initial state, with the callbacks of its
// user (which may be nil).
func (t Table[S, E]) New(callbacks fsm.Callbacks) *fsm.FSM {
	return fsm.NewFSM(t.Initial.String(), t.Moves(), callbacks)
}
