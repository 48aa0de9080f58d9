// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"strings"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// htmlStyle serves light and dark pages; the classes are the words of cells.
const htmlStyle = `:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:light-dark(#1c2430,#e8edf3);background:light-dark(#fff,#0f141b)}
table{border-collapse:collapse;font:13px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.wide{overflow-x:auto}th,td{border:1px solid light-dark(#d9dee5,#2b3440);padding:.4em .6em;text-align:left}
th{background:light-dark(#f4f6f9,#1b232d)}
td.moved{font-weight:600;background:light-dark(#dfebff,#14284d)}
td.duplicate,td.ignored{color:light-dark(#556070,#a3afbd)}
td.rejected{background:light-dark(#fff0cf,#3a2a08)}td.conflict{background:light-dark(#ffe1e6,#431722)}
`

// HTML writes the matrix of a machine, or the rules of a table, as a page of its
// own without scripts or outside files. The reason of a cell shows on hover.
func HTML(sp load.Spec) []byte {
	var b strings.Builder
	h := sp.Header()
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>%s</h1>\n<p>%s</p>\n<div class=\"wide\">\n<table>\n",
		escape(h.Name), htmlStyle, escape(h.Name), escape(h.Doc))
	switch sp := sp.(type) {
	case *load.Machine:
		htmlMatrix(&b, sp)
	case *load.Table:
		for i, row := range rulesOf(sp) {
			tag := "td"
			if i == 0 {
				tag = "th"
			}
			b.WriteString("<tr>")
			for _, cell := range row {
				fmt.Fprintf(&b, "<%s>%s</%s>", tag, escape(cell), tag)
			}
			b.WriteString("</tr>\n")
		}
	}
	b.WriteString("</table>\n</div>\n</body>\n</html>\n")
	return []byte(b.String())
}

func htmlMatrix(b *strings.Builder, m *load.Machine) {
	b.WriteString("<tr><th>state \\ event</th>")
	for _, e := range m.Events {
		fmt.Fprintf(b, `<th scope="col" title="%s">%s</th>`, escape(e.Doc), escape(e.Name))
	}
	b.WriteString("</tr>\n")
	for i, s := range m.States {
		fmt.Fprintf(b, `<tr><th scope="row" title="%s">%s</th>`, escape(s.Doc), escape(s.Name))
		for _, c := range m.Cells[i] {
			class := c.Result.String()
			if c.Result == fsm.Moved {
				class = "moved"
			}
			title := ""
			if c.Why != "" {
				title = ` title="` + escape(c.Why) + `"`
			}
			fmt.Fprintf(b, `<td class="%s"%s>%s</td>`, class, title, escape(m.Word(c)))
		}
		b.WriteString("</tr>\n")
	}
}
