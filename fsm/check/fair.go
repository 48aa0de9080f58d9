// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// fairCycle looks for a cycle, among the visited states, that no assumption of
// fairness forbids. It returns the cycle's codes after its first state, and that
// state's number in the queue.
//
// Only moves that some word can take back are part of a cycle. Under weak fairness a
// strongly connected component has a fair cycle if every assumption is served in it
// by some step, or is not enabled in some state; what a whole component lacks, no
// part of it has.
func (x *explorer) fairCycle() (cycle []uint64, first int) {
	next := map[uint64][]uint64{}
	number := map[uint64]int{}
	var codes []uint64
	id := func(code uint64) int {
		if n, ok := number[code]; ok {
			return n
		}
		number[code] = len(codes)
		codes = append(codes, code)
		return len(codes) - 1
	}
	for s := range x.q.n {
		from := x.q.at(s)
		x.each(from, func(_ int, _, _ *leaf, to uint64) bool {
			if to != from && x.returns() && !x.reached(x.inside, to) {
				id(from)
				id(to)
				next[from] = append(next[from], to)
			}
			return true
		})
	}
	nodes := make([]int, len(codes))
	for i := range nodes {
		nodes[i] = i
	}
	for _, scc := range tarjan(nodes, func(n int) []int {
		var out []int
		for _, to := range next[codes[n]] {
			out = append(out, number[to])
		}
		return out
	}) {
		if len(scc) < 2 {
			continue
		}
		in := map[uint64]bool{}
		for _, n := range scc {
			in[codes[n]] = true
		}
		if c := x.fairRound(in); c != nil {
			return c[1:], x.find(c[0])
		}
	}
	return nil, 0
}

// returns reports whether every component that moved may come back.
func (x *explorer) returns() bool {
	for _, mv := range x.moved {
		if !x.local.together(x.m.comps[mv.comp].class, x.idx[mv.comp], mv.idx) {
			return false
		}
	}
	return true
}

func (x *explorer) find(code uint64) int {
	for s := range x.q.n {
		if x.q.at(s) == code {
			return s
		}
	}
	return 0
}

// fairRound returns a closed walk through the component that serves every
// assumption, or nil if there is none.
func (x *explorer) fairRound(in map[uint64]bool) []uint64 {
	type need struct {
		state uint64 // where the assumption is not enabled, or its step begins
		to    uint64 // where its step ends; 0 with ok unset if there is no step
		step  bool
		met   bool
	}
	needs := make([]need, len(x.m.groups))
	for s := range x.q.n {
		code := x.q.at(s)
		if !in[code] {
			continue
		}
		on := make([]bool, len(needs))
		x.each(code, func(i int, _, _ *leaf, to uint64) bool {
			if to == code {
				return true
			}
			for _, g := range x.m.instances[i].groups {
				if !x.holds(&g.root, g.while) {
					continue
				}
				on[g.id] = true
				if in[to] && !needs[g.id].met {
					needs[g.id] = need{code, to, true, true}
				}
			}
			return true
		})
		for k := range needs {
			if !on[k] && !needs[k].met {
				needs[k] = need{state: code, met: true}
			}
		}
	}
	var walk []uint64
	for _, n := range needs {
		if !n.met {
			return nil
		}
		if walk == nil {
			walk = []uint64{n.state}
		}
		walk = append(walk, x.within(in, walk[len(walk)-1], n.state)...)
		if n.step {
			walk = append(walk, n.to)
		}
	}
	if walk == nil { // no assumption at all: any cycle will do
		for s := 0; walk == nil; s++ {
			if in[x.q.at(s)] {
				walk = []uint64{x.q.at(s)}
			}
		}
	}
	if len(walk) == 1 {
		x.each(walk[0], func(_ int, _, _ *leaf, to uint64) bool {
			if to != walk[0] && in[to] {
				walk = append(walk, to)
				return false
			}
			return true
		})
	}
	return append(walk, x.within(in, walk[len(walk)-1], walk[0])...)
}

// within is a shortest way between two states of a component, without its start.
func (x *explorer) within(in map[uint64]bool, from, to uint64) []uint64 {
	if from == to {
		return nil
	}
	back := map[uint64]uint64{from: from}
	list := []uint64{from}
	for len(list) > 0 {
		at := list[0]
		list = list[1:]
		if at == to {
			break
		}
		x.each(at, func(_ int, _, _ *leaf, next uint64) bool {
			if _, seen := back[next]; in[next] && !seen {
				back[next] = at
				list = append(list, next)
			}
			return true
		})
	}
	var way []uint64
	for at := to; at != from; at = back[at] {
		way = append([]uint64{at}, way...)
	}
	return way
}
