// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// portGap keeps the ends of arrows at one state apart.
const portGap = 18.0

// edges draws every arrow through the points of its chain.
func (p *picture) edges() {
	tops, bottoms := p.ports(true), p.ports(false)
	for i, chain := range p.g.chains {
		var d strings.Builder
		x, y := tops[i], p.g.nodes[chain[0]].y+p.g.nodes[chain[0]].h/2
		fmt.Fprintf(&d, "M%.1f %.1f", x+p.left, y+p.top)
		for _, k := range chain[1 : len(chain)-1] {
			n := &p.g.nodes[k]
			up, down := p.layerSpan(n.layer)
			curve(&d, p, x, y, n.x, up)
			fmt.Fprintf(&d, "V%.1f", down+p.top)
			x, y = n.x, down
		}
		end := &p.g.nodes[chain[len(chain)-1]]
		curve(&d, p, x, y, bottoms[i], end.y-end.h/2)
		which := "end"
		if p.g.turned[i] {
			which = "start"
		}
		p.printf(`<path class="edge" d="%s" marker-%s="url(#arrow)"/>`, d.String(), which)
	}
}

// curve leaves and arrives vertically, so that pieces join smoothly.
func curve(d *strings.Builder, p *picture, x0, y0, x1, y1 float64) {
	if math.Abs(x0-x1) < 0.5 {
		fmt.Fprintf(d, "L%.1f %.1f", x1+p.left, y1+p.top)
		return
	}
	mid := (y0+y1)/2 + p.top
	fmt.Fprintf(d, "C%.1f %.1f %.1f %.1f %.1f %.1f", x0+p.left, mid, x1+p.left, mid, x1+p.left, y1+p.top)
}

// layerSpan is the upper and lower bound of what lies on a layer.
func (p *picture) layerSpan(l int) (up, down float64) {
	up, down = math.Inf(1), math.Inf(-1)
	for _, k := range p.g.layers[l] {
		n := &p.g.nodes[k]
		up, down = math.Min(up, n.y-n.h/2), math.Max(down, n.y+n.h/2)
	}
	return up, down
}

// ports gives each edge its place on its upper state's lower side, or on its
// lower state's upper side: in the order of what comes next, near to it, and apart.
func (p *picture) ports(upper bool) []float64 {
	at := make([]float64, len(p.g.chains))
	byState := map[int][]int{}
	next := func(e int) float64 {
		c := p.g.chains[e]
		if upper {
			return p.g.nodes[c[1]].x
		}
		return p.g.nodes[c[len(c)-2]].x
	}
	for i, c := range p.g.chains {
		s := c[0]
		if !upper {
			s = c[len(c)-1]
		}
		byState[s] = append(byState[s], i)
	}
	for s, edges := range byState {
		n := &p.g.nodes[s]
		slices.SortStableFunc(edges, func(a, b int) int { return cmp.Compare(next(a), next(b)) })
		reach := n.w/2 - padX
		gap := math.Min(portGap, 2*reach/math.Max(1, float64(len(edges)-1)))
		for k, e := range edges {
			at[e] = math.Max(n.x-reach, math.Min(n.x+reach, next(e)))
			if k > 0 {
				at[e] = math.Max(at[e], at[edges[k-1]]+gap)
			}
		}
		for k := len(edges) - 1; k >= 0; k-- {
			limit := n.x + reach
			if k < len(edges)-1 {
				limit = at[edges[k+1]] - gap
			}
			at[edges[k]] = math.Min(at[edges[k]], limit)
		}
	}
	return at
}

// mostEnds is, for each state, how many ends of arrows its fuller side has.
func mostEnds(n int, edges []edge, turned []bool) []int {
	upper, lower := make([]int, n), make([]int, n)
	for i, e := range edges {
		if turned[i] {
			e.from, e.to = e.to, e.from
		}
		lower[e.from]++
		upper[e.to]++
	}
	for s := range upper {
		upper[s] = max(upper[s], lower[s])
	}
	return upper
}
