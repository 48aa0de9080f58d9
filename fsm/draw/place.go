// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"math"
	"slices"
)

// Distances in the drawing, in pixels.
const (
	bendWidth = 8
	gapX      = 26 // between nodes of a layer
	gapY      = 23 // between layers
	relaxings = 80
)

// place gives coordinates: y from the heights of the layers, x by pulling each
// node to its neighbours while the order and the gaps of its layer hold.
func (g *graph) place() {
	y := 0.0
	for _, layer := range g.layers {
		h := 0.0
		for _, n := range layer {
			h = math.Max(h, g.nodes[n].h)
		}
		for _, n := range layer {
			g.nodes[n].y = y + h/2
		}
		y += h + gapY
	}
	for _, layer := range g.layers {
		x := 0.0
		for _, n := range layer {
			g.nodes[n].x = x + g.nodes[n].w/2
			x += g.nodes[n].w + gapX
		}
	}
	for i := range relaxings {
		for l := range g.layers {
			if i%2 == 1 {
				l = len(g.layers) - 1 - l
			}
			g.relax(g.layers[l])
		}
	}
	g.straighten()
}

// straighten puts the bends of an edge above each other, under or over its label,
// as far as the free room on their layers allows.
func (g *graph) straighten() {
	pos := g.positions()
	for _, chain := range g.chains {
		inner := chain[1 : len(chain)-1]
		label := slices.IndexFunc(inner, func(k int) bool { return g.nodes[k].kind == labelNode })
		x := g.nodes[inner[label]].x
		g.align(pos, inner[:label], x)
		g.align(pos, inner[label+1:], x)
	}
}

// align moves bends to x, or as near to it as all of them can be.
func (g *graph) align(pos []int, bends []int, x float64) {
	low, high := math.Inf(-1), math.Inf(1)
	for _, k := range bends {
		layer := g.layers[g.nodes[k].layer]
		if i := pos[k]; i > 0 {
			n := &g.nodes[layer[i-1]]
			low = math.Max(low, n.x+n.w/2+gapX/2)
		}
		if i := pos[k]; i+1 < len(layer) {
			n := &g.nodes[layer[i+1]]
			high = math.Min(high, n.x-n.w/2-gapX/2)
		}
	}
	if low > high {
		return
	}
	for _, k := range bends {
		g.nodes[k].x = math.Max(low, math.Min(high, x))
	}
}

// pull is how strongly two neighbours want to be above each other: long edges
// should be straight.
func pull(a, b *node) float64 {
	switch {
	case a.kind == stateNode && b.kind == stateNode:
		return 1
	case a.kind == stateNode || b.kind == stateNode:
		return 2
	}
	return 8
}

// relax moves the nodes of one layer to where their neighbours pull them. Blocks
// of nodes that would come too close move together (pool adjacent violators),
// which is the best placement for these pulls.
func (g *graph) relax(layer []int) {
	type block struct {
		sum, weight float64 // of wanted places, relative to the block's start
		from, to    int     // indexes in layer, half open
	}
	offset := make([]float64, len(layer)) // least distance from the layer's first node
	for i := 1; i < len(layer); i++ {
		a, b := &g.nodes[layer[i-1]], &g.nodes[layer[i]]
		offset[i] = offset[i-1] + (a.w+b.w)/2 + gapX
	}
	var blocks []block
	for i, n := range layer {
		want, weight := g.wanted(n)
		blocks = append(blocks, block{(want - offset[i]) * weight, weight, i, i + 1})
		for k := len(blocks) - 1; k > 0 && blocks[k-1].sum/blocks[k-1].weight > blocks[k].sum/blocks[k].weight; k-- {
			blocks[k-1].sum += blocks[k].sum
			blocks[k-1].weight += blocks[k].weight
			blocks[k-1].to = blocks[k].to
			blocks = blocks[:k]
		}
	}
	for _, b := range blocks {
		for i := b.from; i < b.to; i++ {
			g.nodes[layer[i]].x = b.sum/b.weight + offset[i]
		}
	}
}

// wanted is the mean place of the neighbours of a node, and their whole pull.
func (g *graph) wanted(n int) (x, weight float64) {
	me := &g.nodes[n]
	for _, near := range [][]int{me.up, me.down} {
		for _, k := range near {
			p := pull(me, &g.nodes[k])
			x += p * g.nodes[k].x
			weight += p
		}
	}
	if weight == 0 {
		return me.x, 0.01
	}
	return x / weight, weight
}
