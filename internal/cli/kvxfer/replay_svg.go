// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"bytes"
	"fmt"
	"html"
	"os"

	"github.com/kvxfer/kvxfer/scenario"
)

// The drawing has one column a step and one lane for each session, gate and
// claim; sizes are pixels.
const (
	laneLabel  = 150
	laneHeight = 24
	stepWidth  = 74
	headHeight = 62
	footHeight = 80
)

// laneColours are those of the states: what may still be touched is warm, what
// is proven is green or grey.
var laneColours = map[string]string{
	"UNPUBLISHED": "#e8e8e8", "SAFE_UNPUBLISHED": "#c9d6c9", "PUBLISHED": "#f4c95d", "IN_DOUBT": "#e4572e",
	"FAILED_QUIESCED": "#9bc1a3", "DRAINED": "#5aa469",
	"OPEN": "#e8e8e8", "PUBLISHING": "#f4c95d", "SEALED": "#b8c4d6", "ABORTED": "#c9c9c9",
	"ACTIVE": "#dfe7f5", "SUCCEEDED": "#5aa469", "FAILED": "#d98d8d", "CANCELLED": "#c9b6d9",
	"QUARANTINED": "#f4a261", "CLOSED": "#c9c9c9", "FATAL": "#f08080",
}

// writeSVG draws the timeline of a run into a file.
func writeSVG(path string, r *scenario.Report) error {
	if err := os.WriteFile(path, drawReplay(r), 0o644); err != nil {
		return usagef("name a file that can be written", "%w", err)
	}
	return nil
}

func drawReplay(r *scenario.Report) []byte {
	lanes := scenario.Lanes(r)
	w := laneLabel + stepWidth*len(r.Steps) + 20
	h := headHeight + laneHeight*len(lanes) + footHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<title>%s</title>`+"\n", html.EscapeString(r.File.Name))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", w, h)
	fmt.Fprintf(&b, `<text x="10" y="18" font-size="14" font-weight="bold">%s</text>`+"\n", html.EscapeString(r.File.Name))
	fmt.Fprintf(&b, `<text x="10" y="34" fill="#555555">%s</text>`+"\n", html.EscapeString(r.File.About))
	drawSteps(&b, r, headHeight+laneHeight*len(lanes))
	for i, l := range lanes {
		drawLane(&b, l, headHeight+laneHeight*i)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// drawSteps draws a line and a name for each step, and the time where it moves.
func drawSteps(b *bytes.Buffer, r *scenario.Report, bottom int) {
	for i, s := range r.Steps {
		x := laneLabel + stepWidth*i
		colour, name := "#dddddd", s.Step.Kind
		if s.Err != nil {
			name += " ✗"
		}
		if len(s.Failures) > 0 {
			colour = "#d00000"
		}
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s"/>`+"\n", x, headHeight-8, x, bottom, colour)
		if i == 0 || s.At != r.Steps[i-1].At {
			fmt.Fprintf(b, `<text x="%d" y="%d" fill="#0050a0">%s</text>`+"\n", x+2, headHeight-12, html.EscapeString(s.At.String()))
		}
		fmt.Fprintf(b, `<text x="%d" y="%d" transform="rotate(40 %d %d)">%s<title>%s</title></text>`+"\n",
			x+4, bottom+14, x+4, bottom+14, html.EscapeString(name), html.EscapeString(s.Step.Kind+" "+s.Step.Text))
	}
}

func drawLane(b *bytes.Buffer, l scenario.Lane, y int) {
	fmt.Fprintf(b, `<text x="10" y="%d">%s</text>`+"\n", y+laneHeight-8, html.EscapeString(l.Name))
	for _, s := range l.Spans {
		x, w := laneLabel+stepWidth*s.From, stepWidth*(s.To-s.From)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"><title>%s</title></rect>`+"\n",
			x, y+3, w, laneHeight-6, laneColours[s.State], html.EscapeString(l.Name+": "+s.State))
		if 7*len(s.State) < w {
			fmt.Fprintf(b, `<text x="%d" y="%d" font-size="9">%s</text>`+"\n", x+3, y+laneHeight-9, html.EscapeString(s.State))
		}
	}
}
