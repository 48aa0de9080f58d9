// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"math"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// Sizes of the text, in pixels. The font is monospaced, so that the width of a
// text is known without one.
const (
	nameSize  = 13.0
	noteSize  = 11.0
	charWidth = 0.602 // of the font's size
	lineSpace = 15.0
	padX      = 16.0
	stateHigh = 46.0
	margin    = 28.0
	dotSpace  = 34.0 // above the initial state
)

func textWidth(s string, size float64) float64 { return float64(len([]rune(s))) * charWidth * size }

// SVG draws a machine as a picture for light and dark pages. Each arrow carries
// its events; the colour of a state tells its first tag.
func SVG(m *load.Machine) []byte {
	edges := edgesOf(m)
	ends := mostEnds(len(m.States), edges, backEdges(len(m.States), m.Initial(), edges))
	g := layout(len(m.States), m.Initial(), edges,
		func(s int) (float64, float64) {
			st := m.States[s]
			w := math.Max(textWidth(st.Name, nameSize), textWidth(note(st), noteSize))
			return math.Ceil(math.Max(w, portGap*float64(ends[s]-1)) + 2*padX), stateHigh
		},
		func(e int) (float64, float64) {
			w := 0.0
			for _, ev := range edges[e].events {
				w = math.Max(w, textWidth(ev, noteSize))
			}
			return math.Ceil(w + 12), lineSpace*float64(len(edges[e].events)) + 4
		})
	p := &picture{m: m, g: g}
	p.frame()
	return p.render()
}

// note is the small line below a state's name.
func note(s load.State) string {
	if len(s.Tags) > 0 {
		return strings.Join(s.Tags, ", ")
	}
	switch {
	case s.Initial:
		return "initial"
	case s.Final:
		return "final"
	}
	return ""
}

// picture turns a placed graph into SVG elements.
type picture struct {
	m             *load.Machine
	g             *graph
	left, top     float64 // shift of the graph in the picture
	width, height float64
	b             strings.Builder
}

// frame finds the size of the picture.
func (p *picture) frame() {
	lowX, highX, highY := math.Inf(1), math.Inf(-1), 0.0
	for _, n := range p.g.nodes {
		lowX, highX = math.Min(lowX, n.x-n.w/2), math.Max(highX, n.x+n.w/2)
		highY = math.Max(highY, n.y+n.h/2)
	}
	p.width = math.Max(highX-lowX, p.legendWidth()) + 2*margin
	p.left = (p.width-(highX-lowX))/2 - lowX
	p.top = margin + dotSpace
	p.height = p.top + highY + margin
	if len(p.m.Tags()) > 0 {
		p.height += 30
	}
}

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

func (p *picture) render() []byte {
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-labelledby="title desc">`,
		p.width, p.height, p.width, p.height)
	p.printf(`<title id="title">State machine %s</title>`, escape(p.m.Name))
	p.printf(`<desc id="desc">%s</desc>`, escape(p.m.Doc))
	p.printf("<style>\n%s</style>", style(p.m.Tags()))
	p.printf(`<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="head" d="M1 1.2 9.4 5 1 8.8 3 5z"/></marker></defs>`)
	p.printf(`<rect class="page" x="0.5" y="0.5" width="%.0f" height="%.0f" rx="12"/>`, p.width-1, p.height-1)
	p.edges()
	for i := range p.g.nodes {
		switch n := &p.g.nodes[i]; n.kind {
		case stateNode:
			p.state(n)
		case labelNode:
			p.label(n)
		}
	}
	p.legend()
	p.printf(`</svg>`)
	return []byte(p.b.String())
}

// state draws the box of a state; a final one has a double frame, the initial one
// an arrow from a dot.
func (p *picture) state(n *node) {
	s := p.m.States[n.state]
	x, y := n.x+p.left, n.y+p.top
	class := "state"
	if len(s.Tags) > 0 {
		class += fmt.Sprintf(" t%d", tagIndex(p.m, s.Tags[0]))
	}
	p.printf(`<g><title>%s: %s</title>`, escape(s.Name), escape(s.Doc))
	p.printf(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="9"/>`, class, x-n.w/2, y-n.h/2, n.w, n.h)
	if s.Final {
		p.printf(`<rect class="inner" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6.5"/>`, x-n.w/2+3, y-n.h/2+3, n.w-6, n.h-6)
	}
	if small := note(s); small != "" {
		p.printf(`<text class="name" x="%.1f" y="%.1f">%s</text>`, x, y-2, escape(s.Name))
		p.printf(`<text class="note" x="%.1f" y="%.1f">%s</text>`, x, y+13.5, escape(small))
	} else {
		p.printf(`<text class="name" x="%.1f" y="%.1f">%s</text>`, x, y+4.5, escape(s.Name))
	}
	p.printf(`</g>`)
	if s.Initial {
		p.printf(`<circle class="dot" cx="%.1f" cy="%.1f" r="5.5"/>`, x, y-n.h/2-dotSpace+8)
		p.printf(`<path class="edge" d="M%.1f %.1fV%.1f" marker-end="url(#arrow)"/>`, x, y-n.h/2-dotSpace+14, y-n.h/2-1)
	}
}

// label writes the events of an arrow, one a line, on a piece of page.
func (p *picture) label(n *node) {
	x, y := n.x+p.left, n.y+p.top
	events := p.g.edges[n.edge].events
	p.printf(`<rect class="gap" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"/>`, x-n.w/2, y-n.h/2, n.w, n.h)
	for i, ev := range events {
		p.printf(`<text class="event" x="%.1f" y="%.1f">%s</text>`, x, y-n.h/2+lineSpace*float64(i)+13, escape(ev))
	}
}

func (p *picture) legendWidth() float64 {
	w := 0.0
	for _, t := range p.m.Tags() {
		w += 30 + textWidth(t, noteSize)
	}
	return w
}

func (p *picture) legend() {
	x, y := (p.width-p.legendWidth())/2+6, p.height-margin+2
	for i, t := range p.m.Tags() {
		p.printf(`<rect class="state t%d" x="%.1f" y="%.1f" width="13" height="13" rx="3.5"/>`, i, x, y-10.5)
		p.printf(`<text class="event left" x="%.1f" y="%.1f">%s</text>`, x+19, y, escape(t))
		x += 30 + textWidth(t, noteSize)
	}
}

func tagIndex(m *load.Machine, tag string) int {
	for i, t := range m.Tags() {
		if t == tag {
			return i
		}
	}
	return 0
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escape(s string) string { return escaper.Replace(s) }
