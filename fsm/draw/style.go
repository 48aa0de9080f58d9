// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"strings"
)

// hue is the colour of a tag: fill, frame and text on light and on dark pages.
type hue struct{ light, dark [3]string }

// Hues by name. Tags whose word says whether a state is safe get a hue that says
// the same; others get the neutral hues in the order of first use, then again.
var (
	green  = hue{[3]string{"#dcf5e3", "#1a7f43", "#0d4d27"}, [3]string{"#12331f", "#3fb567", "#b4efc6"}}
	amber  = hue{[3]string{"#fff0cf", "#b36b00", "#6b4000"}, [3]string{"#3a2a08", "#dd9a2c", "#ffdfa6"}}
	blue   = hue{[3]string{"#dfebff", "#2f66c4", "#173a78"}, [3]string{"#14284d", "#6a9df0", "#cfe0ff"}}
	violet = hue{[3]string{"#f1e4ff", "#7d45b8", "#48246f"}, [3]string{"#2e1b45", "#b488e6", "#ead8ff"}}
	red    = hue{[3]string{"#ffe1e6", "#bf3654", "#75182f"}, [3]string{"#431722", "#ee7690", "#ffd3dc"}}
	teal   = hue{[3]string{"#d8f3f4", "#137f86", "#084a4e"}, [3]string{"#0d3336", "#3fb3ba", "#b5ecef"}}

	neutral = []hue{blue, violet, teal}
	meaning = map[string]hue{
		"reusable": green, "safe": green, "free": green, "ready": green,
		"live": amber, "busy": amber, "unsafe": amber, "held": amber,
		"fatal": red, "broken": red, "error": red,
	}
)

// hueOf is the hue of the tag with index i of all.
func hueOf(tags []string, i int) hue {
	if h, ok := meaning[tags[i]]; ok {
		return h
	}
	n := 0
	for _, t := range tags[:i] {
		if _, ok := meaning[t]; !ok {
			n++
		}
	}
	return neutral[n%len(neutral)]
}

// fonts is how every text of a picture is set: monospaced, so that its width is known.
const fonts = `text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;text-anchor:middle}
`

// pages are the colours of everything without a meaning, on light and on dark pages.
var pages = [2]map[string]string{
	{"page": "#ffffff", "rim": "#d9dee5", "box": "#f4f6f9", "line": "#5a6675", "text": "#1c2430", "soft": "#556070"},
	{"page": "#0f141b", "rim": "#2b3440", "box": "#1b232d", "line": "#8b97a6", "text": "#e8edf3", "soft": "#a3afbd"},
}

// style is the sheet of a picture with these tags. Colours are written out, as
// many programs that show SVG know no variables.
func style(tags []string) string {
	var b strings.Builder
	b.WriteString(fonts + `.name{font-size:13px;font-weight:600}.note,.event{font-size:11px}.left{text-anchor:start}
.state{stroke-width:1.6}.inner{fill:none;stroke-width:1}.edge{fill:none;stroke-width:1.4}
`)
	sheet := func(i int) {
		pick := func(h hue) [3]string { return [2][3]string{h.light, h.dark}[i] }
		base := pages[i]
		fmt.Fprintf(&b, ".page{fill:%s;stroke:%s}.gap{fill:%s}.state{fill:%s;stroke:%s}.inner,.edge{stroke:%s}.dot,.head{fill:%s}.name,.event{fill:%s}.note{fill:%s}\n",
			base["page"], base["rim"], base["page"], base["box"], base["line"], base["line"], base["line"], base["text"], base["soft"])
		for t := range tags {
			c := pick(hueOf(tags, t))
			fmt.Fprintf(&b, ".t%d{fill:%s;stroke:%s}.t%d~.inner{stroke:%s}.t%d~.name,.t%d~.note{fill:%s}\n", t, c[0], c[1], t, c[1], t, t, c[2])
		}
	}
	sheet(0)
	b.WriteString("@media (prefers-color-scheme:dark){\n")
	sheet(1)
	b.WriteString("}\n")
	return b.String()
}
