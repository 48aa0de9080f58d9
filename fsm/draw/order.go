// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Bounds of the search for an order. Small diagrams get many starts, as a few
// crossings less are worth it; large ones get one.
const (
	sweeps    = 12
	maxStarts = 60
	startWork = 6000 // starts times nodes, about
)

// order looks for an order of each layer with few crossings, from several starts
// (a fixed sequence, so that the result is always the same), and keeps the best.
func (g *graph) order() {
	random := rand.New(rand.NewPCG(1, 2))
	best, fewest := g.snapshot(), g.crossings()
	for range min(maxStarts, max(1, startWork/(len(g.nodes)+1))) {
		for i := range sweeps {
			g.sweep(i%2 == 0)
			g.swap()
			if c := g.crossings(); c < fewest {
				best, fewest = g.snapshot(), c
			}
		}
		if fewest == 0 {
			break
		}
		for _, l := range g.layers {
			random.Shuffle(len(l), func(i, k int) { l[i], l[k] = l[k], l[i] })
		}
	}
	g.layers = best
}

// sweep sorts each layer by where its neighbours on the layer before are.
func (g *graph) sweep(down bool) {
	if down {
		for l := 1; l < len(g.layers); l++ {
			g.sortLayer(l, func(n *node) []int { return n.up })
		}
		return
	}
	for l := len(g.layers) - 2; l >= 0; l-- {
		g.sortLayer(l, func(n *node) []int { return n.down })
	}
}

func (g *graph) snapshot() [][]int {
	out := make([][]int, len(g.layers))
	for i, l := range g.layers {
		out[i] = slices.Clone(l)
	}
	return out
}

// positions gives the place of each node in its layer.
func (g *graph) positions() []int {
	pos := make([]int, len(g.nodes))
	for _, l := range g.layers {
		for i, n := range l {
			pos[n] = i
		}
	}
	return pos
}

func (g *graph) sortLayer(l int, beside func(*node) []int) {
	pos := g.positions()
	weight := map[int]float64{}
	for _, n := range g.layers[l] {
		sum, near := 0.0, beside(&g.nodes[n])
		for _, k := range near {
			sum += float64(pos[k])
		}
		weight[n] = float64(pos[n])
		if len(near) > 0 {
			weight[n] = sum / float64(len(near))
		}
	}
	slices.SortStableFunc(g.layers[l], func(a, b int) int { return cmp.Compare(weight[a], weight[b]) })
}

// maxRounds bounds the passes of swap; each helps less than the one before.
const maxRounds = 8

// swap exchanges neighbours as long as that removes crossings. Only the links of
// the two matter, so that large diagrams stay quick.
func (g *graph) swap() {
	pos := g.positions()
	for range maxRounds {
		improved := false
		for _, layer := range g.layers {
			for i := 0; i+1 < len(layer); i++ {
				a, b := layer[i], layer[i+1]
				if g.between(pos, b, a) >= g.between(pos, a, b) {
					continue
				}
				layer[i], layer[i+1] = b, a
				pos[a], pos[b] = i+1, i
				improved = true
			}
		}
		if !improved {
			return
		}
	}
}

// between counts the crossings of the links of two nodes of a layer, the first of
// them on the left.
func (g *graph) between(pos []int, left, right int) int {
	n := 0
	count := func(a, b []int) {
		for _, i := range a {
			for _, k := range b {
				if pos[i] > pos[k] {
					n++
				}
			}
		}
	}
	count(g.nodes[left].up, g.nodes[right].up)
	count(g.nodes[left].down, g.nodes[right].down)
	return n
}

// crossings counts the pairs of links that cross between two layers.
func (g *graph) crossings() int {
	pos, total := g.positions(), 0
	for _, layer := range g.layers {
		var links [][2]int
		for _, n := range layer {
			for _, k := range g.nodes[n].down {
				links = append(links, [2]int{pos[n], pos[k]})
			}
		}
		for i, a := range links {
			for _, b := range links[:i] {
				if (a[0]-b[0])*(a[1]-b[1]) < 0 {
					total++
				}
			}
		}
	}
	return total
}
