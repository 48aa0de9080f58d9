// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ranks

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// deed is one operation on one request: a rank becomes drained (or is fenced,
// or never takes part), or gives its memory back.
type deed struct {
	request, rank int
	retire        bool
}

// retiresTogether is the model: who has drained, as bits; a rank may retire
// only when all have.
func retiresTogether(ranks int) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			of := map[int][]porcupine.Operation{}
			for _, o := range history {
				n := o.Input.(deed).request
				of[n] = append(of[n], o)
			}
			var parts [][]porcupine.Operation
			for _, p := range of {
				parts = append(parts, p)
			}
			return parts
		},
		Init: func() any { return uint64(0) },
		Step: func(state, input, _ any) (bool, any) {
			s, d := state.(uint64), input.(deed)
			if d.retire {
				return s == 1<<ranks-1, s
			}
			return true, s | 1<<d.rank
		},
	}
}

// operations makes a history of what processes wrote. A drain takes no time. A
// retirement takes effect at some moment before its line was written.
func operations(events []Event, ranks int) []porcupine.Operation {
	fenced := map[string]time.Duration{}
	opened := map[[2]int]string{}
	requests := map[int]bool{}
	var list []porcupine.Operation
	add := func(d deed, call, ret time.Duration) {
		list = append(list, porcupine.Operation{ClientId: d.rank, Input: d, Call: int64(call), Return: int64(ret)})
	}
	for _, e := range events {
		key := [2]int{e.Request, e.Rank}
		switch e.What {
		case Fenced:
			if _, before := fenced[e.Life]; !before {
				fenced[e.Life] = e.At
			}
		case Opened:
			opened[key], requests[e.Request] = e.Life, true
		case Drained:
			add(deed{e.Request, e.Rank, false}, e.At, e.At)
		case Retired:
			add(deed{e.Request, e.Rank, true}, 0, e.At)
		}
	}
	for n := range requests {
		for rank := range ranks {
			life, took := opened[[2]int{n, rank}]
			if !took {
				add(deed{n, rank, false}, 0, 0)
			} else if at, ok := fenced[life]; ok {
				add(deed{n, rank, false}, at, at)
			}
		}
	}
	return list
}

func linearizable(events []Event, ranks int) bool {
	return porcupine.CheckOperations(retiresTogether(ranks), operations(events, ranks))
}

// TestJudgesFindABrokenHistory: both checks refuse what they must.
func TestJudgesFindABrokenHistory(t *testing.T) {
	good := []Event{
		{1, 0, "a", Opened, 1}, {1, 1, "b", Opened, 1}, {2, 0, "a", Drained, 1},
		{3, 1, "b", Drained, 1}, {4, 0, "a", Retired, 1}, {5, 1, "b", Retired, 1},
	}
	early := []Event{good[0], good[1], good[2], {3, 0, "a", Retired, 1}, {4, 1, "b", Drained, 1}}
	never := []Event{good[0], good[1], good[2], {3, 0, "a", Retired, 1}}
	fenced := []Event{good[0], good[1], good[2], {3, 2, "b", Fenced, 0}, {4, 0, "a", Retired, 1}}
	late := []Event{good[0], good[1], good[2], {3, 0, "a", Retired, 1}, {4, 2, "b", Fenced, 0}}
	absent := []Event{good[0], good[2], {3, 0, "a", Retired, 1}}
	for _, c := range []struct {
		name   string
		events []Event
		ok     bool
	}{{"good", good, true}, {"early", early, false}, {"never", never, false}, {"fenced", fenced, true}, {"late fence", late, false}, {"absent", absent, true}} {
		if v := Judge(c.events, Mix{Cancel: 100}, 2); (len(v.Broken) == 0) != c.ok {
			t.Errorf("%s: broken rules %v, allowed should be %v", c.name, v.Broken, c.ok)
		}
		if got := linearizable(c.events, 2); got != c.ok {
			t.Errorf("%s: porcupine says %v, want %v", c.name, got, c.ok)
		}
	}
}
