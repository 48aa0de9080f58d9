// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
)

//go:embed picture.svg.tmpl
var pictureText string

var pictureTemplate = template.Must(template.New("picture").Funcs(template.FuncMap{
	"text": escaped,
	"add":  func(a, b int) int { return a + b },
}).Parse(pictureText))

// Measures of the picture, in its own units.
const (
	pictureWidth = 1240
	margin       = 32
	panelGap     = 24
	panelWidth   = (pictureWidth - 2*margin - panelGap) / 2
	panelTop     = 104
	inset        = 22 // of what a panel holds
	rowTop       = panelTop + 96
	rowHeight    = 26
	mapColumns   = 16
	cellGap      = 3
	cellHeight   = 22
)

// WriteSVG draws the first pair of a report: what happened, beside each other,
// and the peer's buffer, one cell for each descriptor. The picture needs no
// other file and follows the viewer's light or dark scheme.
func (r *Report) WriteSVG(w io.Writer) error {
	if len(r.Pairs) == 0 {
		return fmt.Errorf("hazard: nothing to draw: no runs")
	}
	return pictureTemplate.Execute(w, r.picture())
}

type picture struct {
	Width, Height, Panel, PanelTop, PanelHeight int
	Subtitle, Footer                            string
	Words                                       Words
	Halves                                      []picturedHalf
}

type picturedHalf struct {
	X, Inner, Right, Width    int
	Class, Title, Note        string
	Rows                      []picturedRow
	MapTitle, NumberY, NoteY  int
	LegendY                   int
	Cells                     []cell
	Number, Of, Says, Outcome string
}

type picturedRow struct {
	Y, Line         int
	At, Phase, Text string
	Strong          bool
}

// cell is one descriptor of the peer's buffer; the widths add up to its own.
type cell struct {
	X, Y, Width, Height     float64
	Own, Foreign, ForeignAt float64
}

func (r *Report) picture() picture {
	pair := r.Pairs[0]
	rows := pair.Rows()
	mapTop := rowTop + len(rows)*rowHeight + 40
	lines := (len(pair.Today.Map) + mapColumns - 1) / mapColumns
	numberY := mapTop + lines*(cellHeight+cellGap) + 46
	height := numberY + 62 - panelTop
	p := picture{
		Width: pictureWidth, Panel: panelWidth, PanelTop: panelTop, PanelHeight: height,
		Height: panelTop + height + 72,
		Subtitle: fmt.Sprintf("One %v of %s bytes over %s, cancelled while the peer's process is stopped. Times count from the post.",
			r.Op, Grouped(r.Bytes), strings.ToUpper(r.Transport)),
		Footer: r.footer(), Words: r.Op.Words(),
	}
	p.Halves = []picturedHalf{
		r.half(pair.Today, rows, 0, mapTop, numberY, "As engines do today", "cancel, release the handle, reuse the memory"),
		r.half(pair.Owned, rows, 1, mapTop, numberY, "Owned", "cancel, keep the memory until there is proof"),
	}
	return p
}

func (r *Report) half(h Half, rows []Row, column, mapTop, numberY int, title, note string) picturedHalf {
	x := margin + column*(panelWidth+panelGap)
	out := picturedHalf{
		X: x, Inner: x + inset, Right: x + panelWidth - inset, Width: panelWidth - 2*inset,
		Class: "good", Title: title, Note: note,
		MapTitle: mapTop - 14, NumberY: numberY, NoteY: numberY + 24, LegendY: numberY + 24,
		Number: Grouped(h.Arrived.Foreign), Of: "of " + Grouped(r.Bytes) + " bytes",
		Says:    r.Op.Words().Says,
		Outcome: "outcome: " + h.Outcome,
	}
	if h.Arrived.Foreign > 0 {
		out.Class = "bad"
	}
	for i, row := range rows {
		at, text := row.TodayAt, row.TodayText
		if column == 1 {
			at, text = row.OwnedAt, row.OwnText
		}
		y := rowTop + i*rowHeight
		out.Rows = append(out.Rows, picturedRow{
			Y: y, Line: y + 9, At: at, Phase: string(row.Phase), Text: text,
			Strong: row.Phase == Reused || row.Phase == Ended,
		})
	}
	out.Cells = cells(h.Map, float64(out.Inner), float64(mapTop), float64(out.Width))
	return out
}

func cells(m []blocks.Origins, left, top, width float64) []cell {
	each := (width - (mapColumns-1)*cellGap) / mapColumns
	var out []cell
	for i, o := range m {
		total := float64(max(o.Own+o.Foreign+o.Other, 1))
		c := cell{
			X: left + float64(i%mapColumns)*(each+cellGap), Y: top + float64(i/mapColumns)*(cellHeight+cellGap),
			Width: each, Height: cellHeight,
			Own: each * float64(o.Own) / total, Foreign: each * float64(o.Foreign) / total,
		}
		c.ForeignAt = c.X + each - c.Foreign
		out = append(out, c)
	}
	return out
}

func (r *Report) footer() string {
	s := fmt.Sprintf("Measured with NIXL %s, two processes of one host, DRAM.", r.Version)
	if len(r.Pairs) > 1 {
		w, today, owned := r.Op.Words().Foreign, r.TallyOf(Today), r.TallyOf(Owned)
		s += fmt.Sprintf(" %s%s: in %d of %d runs today (median %s), in %d of %d owned.",
			strings.ToUpper(w[:1]), w[1:], today.Showed, today.Runs, Grouped(today.Median), owned.Showed, owned.Runs)
	}
	return s
}

func escaped(s string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}
