// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import "strings"

// wrap breaks a text into lines of at most width characters, at spaces.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// sentence starts with a capital-free doc and ends with a full stop.
func sentence(doc string) string {
	if doc == "" || strings.HasSuffix(doc, ".") {
		return doc
	}
	return doc + "."
}

// padded is the smallest power of two above n, and its exponent.
func padded(n int) (size, shift int) {
	for size = 1; size <= n; size *= 2 {
		shift++
	}
	return size, shift
}

// align lays rows out in columns for a preformatted comment.
func align(rows [][]string) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var lines []string
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-len(cell)+2))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}
