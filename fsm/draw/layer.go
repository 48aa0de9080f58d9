// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

// The layout follows the layered method: break cycles, put nodes on layers, order
// each layer for few crossings (order.go), then give coordinates (place.go).
// Labels are nodes of their own on the layers between those of the states, so
// that nothing can lie on them.

// node is a state, a label, or a bend of a long edge.
type node struct {
	kind     nodeKind
	state    int // of a state
	edge     int // of a label or a bend
	layer    int // states have even layers
	x, y     float64
	w, h     float64
	up, down []int // neighbours on the layers beside
}

type nodeKind uint8

const (
	_ nodeKind = iota
	stateNode
	labelNode
	bendNode
)

// graph is a diagram on its way to coordinates.
type graph struct {
	nodes  []node
	layers [][]int // node indexes, in drawing order
	chains [][]int // for each edge its nodes from top to bottom, ends included
	edges  []edge
	turned []bool // edges that run against the layers
}

// layout places n states, of the given sizes, with their edges.
func layout(n, initial int, edges []edge, stateSize, labelSize func(int) (w, h float64)) *graph {
	g := &graph{edges: edges, turned: backEdges(n, initial, edges)}
	ranks := rank(n, edges, g.turned)
	for s := range n {
		w, h := stateSize(s)
		g.add(node{kind: stateNode, state: s, layer: 2 * ranks[s], w: w, h: h})
	}
	for i, e := range edges {
		g.chain(i, e, labelSize)
	}
	g.order()
	g.place()
	return g
}

func (g *graph) add(n node) int {
	i := len(g.nodes)
	g.nodes = append(g.nodes, n)
	for len(g.layers) <= n.layer {
		g.layers = append(g.layers, nil)
	}
	g.layers[n.layer] = append(g.layers[n.layer], i)
	return i
}

// chain links the ends of an edge by a bend on each layer between, and its label
// on the one in the middle.
func (g *graph) chain(i int, e edge, labelSize func(int) (w, h float64)) {
	top, bottom := e.from, e.to
	if g.turned[i] {
		top, bottom = bottom, top
	}
	first, last := g.nodes[top].layer+1, g.nodes[bottom].layer-1
	middle := (first + last) / 2
	if middle%2 == 0 {
		middle--
	}
	chain := []int{top}
	for l := first; l <= last; l++ {
		n := node{kind: bendNode, edge: i, layer: l, w: bendWidth}
		if l == middle {
			n.kind = labelNode
			n.w, n.h = labelSize(i)
		}
		chain = append(chain, g.add(n))
	}
	chain = append(chain, bottom)
	for k := 1; k < len(chain); k++ {
		g.nodes[chain[k-1]].down = append(g.nodes[chain[k-1]].down, chain[k])
		g.nodes[chain[k]].up = append(g.nodes[chain[k]].up, chain[k-1])
	}
	g.chains = append(g.chains, chain)
}

// backEdges finds the edges to turn so that no cycle is left: those that a depth
// first walk from the initial state finds to lead back.
func backEdges(n, initial int, edges []edge) []bool {
	turned := make([]bool, len(edges))
	const unseen, open, done = 0, 1, 2
	mark := make([]int, n)
	var visit func(s int)
	visit = func(s int) {
		mark[s] = open
		for i, e := range edges {
			if e.from != s {
				continue
			}
			switch mark[e.to] {
			case open:
				turned[i] = true
			case unseen:
				visit(e.to)
			}
		}
		mark[s] = done
	}
	visit(initial)
	for s := range n {
		if mark[s] == unseen {
			visit(s)
		}
	}
	return turned
}

// rank is the longest way to each state, over edges in their drawn direction.
func rank(n int, edges []edge, turned []bool) []int {
	ranks := make([]int, n)
	for changed := true; changed; {
		changed = false
		for i, e := range edges {
			from, to := e.from, e.to
			if turned[i] {
				from, to = to, from
			}
			if ranks[to] <= ranks[from] {
				ranks[to] = ranks[from] + 1
				changed = true
			}
		}
	}
	return ranks
}
