// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"math"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// Sizes of an overview, in pixels.
const (
	cellWide  = 24.0
	rowHigh   = 25.0
	groupGap  = 16.0 // between groups of columns
	titleHigh = 30.0 // of the name of a group of rows
	slant     = 52.0 // degrees
)

// Overview draws a system as a picture for light and dark pages: a row for everything
// that can happen, a column for every variable and effect, and a mark where the one
// asks, changes or emits the other.
func Overview(s *load.System) []byte {
	o := &overview{s: s}
	o.columnsOf()
	o.rowsOf()
	o.frame()
	return o.render()
}

// overview is the picture of a system.
type overview struct {
	s             *load.System
	columns       []column
	groups        []columnGroup
	rows          []row
	left, top     float64 // of the first cell
	width, height float64
	b             strings.Builder
}

// column is a variable, or an effect.
type column struct {
	name, doc string
	v         *expr.Var // nil for an effect
	x         float64
}

// columnGroup is columns that belong together, from first on.
type columnGroup struct {
	name        string
	first, last int
}

// row is an action or a reaction; without touches, the name of a group.
type row struct {
	name, doc string
	touches   *touches
}

// columnsOf puts the variables in groups: those of the whole, those of each member,
// the hidden ones, and then the effects.
func (o *overview) columnsOf() {
	group := func(name string, add func()) {
		first := len(o.columns)
		if add(); len(o.columns) > first {
			o.groups = append(o.groups, columnGroup{name, first, len(o.columns) - 1})
		}
	}
	variables := func(wanted func(*expr.Var) bool) func() {
		return func() {
			for _, v := range o.s.Vars {
				if wanted(v) {
					o.columns = append(o.columns, column{name: v.Name, doc: v.Doc, v: v})
				}
			}
		}
	}
	group("state", variables(func(v *expr.Var) bool { return v.Over == nil && !v.Hidden }))
	for _, set := range o.s.Sets {
		group("each of "+set.Name, variables(func(v *expr.Var) bool { return v.Over == set && !v.Hidden }))
	}
	group("hidden truth", variables(func(v *expr.Var) bool { return v.Hidden }))
	group("effects", func() {
		for _, e := range o.s.Effects {
			o.columns = append(o.columns, column{name: e.Name, doc: e.Doc})
		}
	})
}

// rowsOf lists what can happen: calls, deeds of the outside world, reactions.
func (o *overview) rowsOf() {
	for _, kind := range []struct {
		title       string
		environment bool
	}{{"actions", false}, {"the outside world", true}} {
		title := row{name: kind.title}
		for _, a := range o.s.Actions {
			if a.Environment != kind.environment {
				continue
			}
			if title.name != "" {
				o.rows, title.name = append(o.rows, title), ""
			}
			o.rows = append(o.rows, row{shortCall(a), a.Doc, touchesOfAction(a)})
		}
	}
	if len(o.s.Reactions) > 0 {
		o.rows = append(o.rows, row{name: "reactions, by themselves"})
	}
	for _, r := range o.s.Reactions {
		o.rows = append(o.rows, row{r.Name, r.Doc, touchesOfReaction(r)})
	}
}

// mostCall is how many letters of a call are written.
const mostCall = 36

// shortCall is an action with its parameters, where there is room for them.
func shortCall(a *load.Action) string {
	var params []string
	for _, p := range a.Params {
		params = append(params, p.Name)
	}
	switch call := a.Name + "(" + strings.Join(params, ", ") + ")"; {
	case len(params) == 0:
		return a.Name
	case len(call) > mostCall:
		return a.Name + "(…)"
	default:
		return call
	}
}

// frame places the columns and finds the size of the picture.
func (o *overview) frame() {
	label, header, right := 0.0, 0.0, 0.0
	for _, r := range o.rows {
		label = math.Max(label, textWidth(r.name, noteSize))
	}
	o.left = margin + label + 16
	x := o.left + cellWide/2
	sin, cos := math.Sincos(slant * math.Pi / 180)
	for _, g := range o.groups {
		for i := g.first; i <= g.last; i++ {
			c := &o.columns[i]
			c.x = x
			w := textWidth(c.name, noteSize)
			header = math.Max(header, w*sin)
			right = math.Max(right, x+w*cos+12)
			x += cellWide
		}
		// The name of a group stands below it, and needs room there.
		x = math.Max(x, o.columns[g.first].x+textWidth(g.name, noteSize)) + groupGap
	}
	o.top = margin/2 + math.Max(header, 26) + 18
	o.width = math.Max(math.Max(right, x-groupGap)+margin/2, o.legendWidth()+2*margin)
	o.height = o.top + o.rowsHigh() + 34 + 36 + margin/2
}

func (o *overview) rowsHigh() float64 {
	h := 0.0
	for _, r := range o.rows {
		h += r.high()
	}
	return h
}

func (r row) high() float64 {
	if r.touches == nil {
		return titleHigh
	}
	return rowHigh
}

func (o *overview) printf(format string, args ...any) { fmt.Fprintf(&o.b, format+"\n", args...) }

func (o *overview) render() []byte {
	o.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-labelledby="title desc">`,
		o.width, o.height, o.width, o.height)
	o.printf(`<title id="title">System %s: who asks, changes and emits what</title>`, escape(o.s.Name))
	o.printf(`<desc id="desc">%s</desc>`, escape(o.s.Doc))
	o.printf("<style>\n%s</style>", overviewStyle())
	o.printf(`<rect class="page" x="0.5" y="0.5" width="%.0f" height="%.0f" rx="12"/>`, o.width-1, o.height-1)
	o.printf(`<text class="name left" x="%.1f" y="%.1f">%s</text>`, margin/2+8, margin+6, escape(o.s.Name))
	y := o.top
	for i, r := range o.rows {
		o.band(r, y, i)
		y += r.high()
	}
	o.headers()
	y = o.top
	for _, r := range o.rows {
		o.row(r, y)
		y += r.high()
	}
	o.groupNames(y)
	o.legend()
	o.printf(`</svg>`)
	return []byte(o.b.String())
}

// headers writes the names of the columns, slanted, and a thin line below each.
func (o *overview) headers() {
	bottom := o.top + o.rowsHigh()
	for _, c := range o.columns {
		o.printf(`<path class="grid" d="M%.1f %.1fV%.1f"/>`, c.x, o.top-2, bottom)
		o.printf(`<g><title>%s</title><text class="event left" transform="translate(%.1f %.1f) rotate(-%.0f)">%s</text></g>`,
			escape(c.name+": "+c.doc), c.x+3, o.top-9, slant, escape(c.name))
	}
}

// band lies behind every other row.
func (o *overview) band(r row, y float64, i int) {
	if n := len(o.columns); n > 0 && r.touches != nil && i%2 == 0 {
		o.printf(`<rect class="band" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6"/>`,
			margin/2, y, o.columns[n-1].x+(cellWide-margin)/2, rowHigh)
	}
}

// row writes one row and its marks.
func (o *overview) row(r row, y float64) {
	if r.touches == nil {
		o.printf(`<text class="group right" x="%.1f" y="%.1f">%s</text>`, o.left-10, y+titleHigh-9, escape(r.name))
		return
	}
	o.printf(`<g><title>%s</title><text class="event right" x="%.1f" y="%.1f">%s</text></g>`,
		escape(r.name+": "+r.doc), o.left-10, y+rowHigh/2+4, escape(r.name))
	for _, c := range o.columns {
		o.mark(r, c, y+rowHigh/2)
	}
}

// mark shows what a row has to do with a column: a ring where it asks, a dot where it
// changes, a diamond where it emits.
func (o *overview) mark(r row, c column, y float64) {
	switch t := r.touches; {
	case c.v == nil && t.emits[c.name]:
		o.printf(`<g><title>%s</title>%s</g>`, escape(r.name+" may emit "+c.name), diamond(c.x, y))
	case c.v == nil:
	case t.changes[c.v]:
		class, what := "dot", " may change "
		if c.v.Hidden {
			class = "truth"
		}
		if t.asks[c.v] {
			what = " asks and may change "
			o.printf(`<circle class="ring" cx="%.1f" cy="%.1f" r="7.5"/>`, c.x, y)
		}
		o.printf(`<g><title>%s</title><circle class="%s" cx="%.1f" cy="%.1f" r="5"/></g>`, escape(r.name+what+c.name), class, c.x, y)
	case t.asks[c.v]:
		o.printf(`<g><title>%s</title><circle class="ring" cx="%.1f" cy="%.1f" r="7.5"/></g>`, escape(r.name+" asks "+c.name), c.x, y)
	}
}

func diamond(x, y float64) string {
	return fmt.Sprintf(`<path class="effect" d="M%.1f %.1fl6 6-6 6-6-6z"/>`, x, y-6)
}

// groupNames writes the name of each group of columns below it, with a brace.
func (o *overview) groupNames(y float64) {
	for _, g := range o.groups {
		from, to := o.columns[g.first].x-cellWide/2+3, o.columns[g.last].x+cellWide/2-3
		o.printf(`<path class="brace" d="M%.1f %.1fv5H%.1fv-5"/>`, from, y+6, to)
		o.printf(`<text class="group left" x="%.1f" y="%.1f">%s</text>`, from, y+27, escape(g.name))
	}
}

// legendTexts explain the marks.
var legendTexts = []string{"asks", "may change", "may change the truth", "may emit"}

func (o *overview) legendWidth() float64 {
	w := 0.0
	for _, t := range legendTexts {
		w += 42 + textWidth(t, noteSize)
	}
	return w
}

func (o *overview) legend() {
	x, y := (o.width-o.legendWidth())/2+12, o.height-margin
	for i, text := range legendTexts {
		switch i {
		case 0:
			o.printf(`<circle class="ring" cx="%.1f" cy="%.1f" r="7.5"/>`, x, y)
		case 1, 2:
			o.printf(`<circle class="%s" cx="%.1f" cy="%.1f" r="5"/>`, []string{"", "dot", "truth"}[i], x, y)
		default:
			o.printf(`%s`, diamond(x, y))
		}
		o.printf(`<text class="event left" x="%.1f" y="%.1f">%s</text>`, x+14, y+4, text)
		x += 42 + textWidth(text, noteSize)
	}
}

// overviewStyle is the sheet of an overview, for light and for dark pages.
func overviewStyle() string {
	var b strings.Builder
	b.WriteString(fonts + `.event{font-size:11px}.group{font-size:11px;font-weight:600}.left{text-anchor:start}.right{text-anchor:end}
.grid{stroke-width:1}.name{font-size:15px;font-weight:600}.ring{stroke-width:1.3}.brace{fill:none;stroke-width:1}
`)
	sheet := func(i int) {
		base := pages[i]
		pick := func(h hue) string { return [2][3]string{h.light, h.dark}[i][1] }
		fmt.Fprintf(&b, ".page{fill:%s;stroke:%s}.name{fill:%s}.ring{fill:%s}.band{fill:%s}.grid{stroke:%s}.event{fill:%s}.group{fill:%s}.ring,.brace{stroke:%s}.dot{fill:%s}.truth{fill:%s}.effect{fill:%s}\n",
			base["page"], base["rim"], base["text"], base["page"], base["box"], base["rim"], base["text"], base["soft"], base["line"], pick(blue), pick(amber), pick(violet))
	}
	sheet(0)
	b.WriteString("@media (prefers-color-scheme:dark){\n")
	sheet(1)
	b.WriteString("}\n")
	return b.String()
}
