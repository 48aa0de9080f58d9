// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestLayout: whatever the machine, nothing lies on anything, every arrow leads
// downwards through its layers, and the result is the same each time.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "states")
		pair := rapid.Custom(func(t *rapid.T) edge {
			return edge{from: rapid.IntRange(0, n-1).Draw(t, "from"), to: rapid.IntRange(0, n-1).Draw(t, "to")}
		})
		var edges []edge
		for _, e := range rapid.SliceOfNDistinct(pair, 0, 14, func(e edge) [2]int { return [2]int{e.from, e.to} }).Draw(t, "edges") {
			if e.from != e.to { // the loader refuses moves to the same state
				edges = append(edges, e)
			}
		}
		initial := rapid.IntRange(0, n-1).Draw(t, "initial")
		widths := rapid.SliceOfN(rapid.Float64Range(40, 300), n, n).Draw(t, "widths")
		build := func() *graph {
			return layout(n, initial, edges,
				func(s int) (float64, float64) { return widths[s], stateHigh },
				func(e int) (float64, float64) { return 30 + float64(e*7%90), 16 * float64(1+e%3) })
		}
		g := build()
		checkRoom(t, g)
		checkChains(t, g)
		for i, n := range build().nodes {
			if n.x != g.nodes[i].x || n.y != g.nodes[i].y {
				t.Fatalf("node %d is at %v,%v and then at %v,%v", i, g.nodes[i].x, g.nodes[i].y, n.x, n.y)
			}
		}
	})
}

// checkRoom: no two boxes overlap.
func checkRoom(t *rapid.T, g *graph) {
	for i := range g.nodes {
		a := &g.nodes[i]
		if math.IsNaN(a.x) || math.IsInf(a.x, 0) {
			t.Fatalf("node %d is at %v", i, a.x)
		}
		for k := range g.nodes[:i] {
			b := &g.nodes[k]
			wide := (a.w+b.w)/2 - math.Abs(a.x-b.x)
			high := (a.h+b.h)/2 - math.Abs(a.y-b.y)
			if wide > 0.01 && high > 0.01 {
				t.Fatalf("nodes %d and %d overlap by %.1f x %.1f", i, k, wide, high)
			}
		}
	}
}

// checkChains: every edge goes through each layer between its ends once, downwards,
// and has one label.
func checkChains(t *rapid.T, g *graph) {
	for i, chain := range g.chains {
		labels := 0
		for k := 1; k < len(chain); k++ {
			a, b := &g.nodes[chain[k-1]], &g.nodes[chain[k]]
			if b.layer != a.layer+1 || b.y <= a.y {
				t.Fatalf("edge %d goes from layer %d (y %v) to %d (y %v)", i, a.layer, a.y, b.layer, b.y)
			}
			if b.kind == labelNode {
				labels++
			}
		}
		if labels != 1 {
			t.Fatalf("edge %d has %d labels", i, labels)
		}
		top, bottom := g.nodes[chain[0]].state, g.nodes[chain[len(chain)-1]].state
		if g.turned[i] {
			top, bottom = bottom, top
		}
		if top != g.edges[i].from || bottom != g.edges[i].to {
			t.Fatalf("edge %d leads from %d to %d", i, top, bottom)
		}
	}
}
