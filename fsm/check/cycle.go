// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// localMoves is the graph of the words of each class: which word became which.
// Where these graphs have no cycle, the states have none either, as every step
// moves some word on and none back.
type localMoves struct {
	cache [1 << 12]uint64 // the last key with this hash, plus one
	set   map[uint64]struct{}
	comps []map[uint32]int // by class: number of the strongly connected component of a word
}

func newLocalMoves(classes int) *localMoves {
	return &localMoves{set: map[uint64]struct{}{}, comps: make([]map[uint32]int, classes)}
}

func (l *localMoves) note(class int, from, to uint32) {
	key := uint64(class)<<56 | uint64(from)<<28 | uint64(to) + 1
	slot := &l.cache[key*golden>>52]
	if *slot != key {
		*slot = key
		l.set[key] = struct{}{}
	}
}

// cyclic reports whether some word can come back, and prepares together.
func (l *localMoves) cyclic() bool {
	next := make([]map[int][]int, len(l.comps))
	for key := range l.set {
		class := key >> 56
		if next[class] == nil {
			next[class] = map[int][]int{}
		}
		from, to := int(key>>28&(1<<28-1)), int(key&(1<<28-1))-1
		next[class][from] = append(next[class][from], to)
	}
	found := false
	for class, graph := range next {
		l.comps[class] = map[uint32]int{}
		var nodes []int
		for n := range graph {
			nodes = append(nodes, n)
		}
		for k, scc := range tarjan(nodes, func(n int) []int { return graph[n] }) {
			found = found || len(scc) > 1
			for _, n := range scc {
				l.comps[class][uint32(n)] = k
			}
		}
	}
	return found
}

// together reports whether a word can come back after this move.
func (l *localMoves) together(class int, from, to uint32) bool {
	return l.comps[class][from] == l.comps[class][to]
}

// tarjan finds the strongly connected components that the nodes can reach, each
// node in exactly one.
func tarjan(nodes []int, next func(int) []int) [][]int {
	type frame struct {
		node int
		rest []int
	}
	index, low := map[int]int{}, map[int]int{}
	onStack := map[int]bool{}
	var stack []int
	var out [][]int
	var frames []frame
	push := func(n int) {
		index[n], low[n] = len(index)+1, len(index)+1
		stack = append(stack, n)
		onStack[n] = true
		frames = append(frames, frame{n, next(n)})
	}
	for _, root := range nodes {
		if index[root] != 0 {
			continue
		}
		push(root)
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if len(f.rest) > 0 {
				to := f.rest[0]
				f.rest = f.rest[1:]
				if index[to] == 0 {
					push(to)
				} else if onStack[to] {
					low[f.node] = min(low[f.node], index[to])
				}
				continue
			}
			n := f.node
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				up := frames[len(frames)-1].node
				low[up] = min(low[up], low[n])
			}
			if low[n] != index[n] {
				continue
			}
			var scc []int
			for {
				top := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				onStack[top] = false
				scc = append(scc, top)
				if top == n {
					break
				}
			}
			out = append(out, scc)
		}
	}
	return out
}
