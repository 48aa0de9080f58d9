// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// code is the text of an expression or of statements with the place of every byte.
type code struct {
	text string
	pos  []Pos // of every byte, and of the end
}

// at returns the place of a byte offset.
func (c *code) at(off int) Pos { return c.pos[min(max(off, 0), len(c.pos)-1)] }

// codeText reads a scalar that holds an expression or statements. Only a single
// word may stand unquoted: YAML cuts " # " off, and reads ! & * as its own signs.
func (r *reader) codeText(n *yaml.Node, what string, lines []string) (*code, bool) {
	if n.Kind != yaml.ScalarNode {
		r.errorf(n, "%s: expected a quoted text, found %s", what, describe(n))
		return nil, false
	}
	switch {
	case n.Style&yaml.FoldedStyle != 0:
		r.errorf(n, "%s: folded text (>); expected a quoted text or a block (|)", what)
		return nil, false
	case n.Style == 0 && n.LineComment != "":
		r.errorf(n, "%s: %q ends where YAML sees a comment; quote the text", what, n.Value)
		return nil, false
	case n.Style == 0 && strings.ContainsAny(n.Value, " \t\n!&|<>=()[]"):
		r.errorf(n, "%s: %q is not quoted; expected a quoted text", what, n.Value)
		return nil, false
	}
	c := &code{text: n.Value}
	if n.Style&yaml.LiteralStyle != 0 {
		c.literal(n, lines)
	} else {
		c.flow(n, lines)
	}
	c.pad(n)
	return c, true
}

// pad fills what the walk left out, so that every byte has a place.
func (c *code) pad(n *yaml.Node) {
	last := at(n)
	if len(c.pos) > 0 {
		last = c.pos[len(c.pos)-1]
	}
	for len(c.pos) <= len(c.text) {
		c.pos = append(c.pos, last)
	}
}

// literal maps a block (|): its lines are the file's, less the indentation.
func (c *code) literal(n *yaml.Node, lines []string) {
	indent := -1
	for i, line := range strings.SplitAfter(c.text, "\n") {
		raw := n.Line + i // index of the line after n's
		if indent < 0 && raw < len(lines) && strings.TrimSpace(line) != "" {
			indent = len(lines[raw]) - len(strings.TrimLeft(lines[raw], " ")) - (len(line) - len(strings.TrimLeft(line, " ")))
		}
		col := max(indent, 0) + 1
		for _, ch := range line {
			for range utf8.RuneLen(ch) {
				c.pos = append(c.pos, Pos{raw + 1, col})
			}
			col++
		}
	}
}

// flow maps a quoted or plain text, escapes and folded lines included.
func (c *code) flow(n *yaml.Node, lines []string) {
	w := &walker{lines: lines, line: n.Line, col: n.Column}
	quote := byte(0)
	if n.Style&yaml.DoubleQuotedStyle != 0 {
		quote = '"'
	} else if n.Style&yaml.SingleQuotedStyle != 0 {
		quote = '\''
	}
	if quote != 0 {
		w.next()
	}
	for _, ch := range c.text {
		p := Pos{w.line, w.col}
		for range utf8.RuneLen(ch) {
			c.pos = append(c.pos, p)
		}
		w.skip(ch, quote)
	}
	c.pos = append(c.pos, Pos{w.line, w.col})
}

// walker is a place in the file's text.
type walker struct {
	lines     []string
	line, col int
}

func (w *walker) peek() rune {
	if w.line > len(w.lines) {
		return 0
	}
	runes := []rune(w.lines[w.line-1])
	if w.col > len(runes) {
		return '\n'
	}
	return runes[w.col-1]
}

func (w *walker) next() { w.col++ }

// skip moves behind the text that gave the character ch of the value.
func (w *walker) skip(ch rune, quote byte) {
	switch r := w.peek(); {
	case r == '\\' && quote == '"':
		w.next()
		n := map[rune]int{'x': 2, 'u': 4, 'U': 8}[w.peek()]
		for range n + 1 {
			w.next()
		}
	case r == '\'' && quote == '\'':
		w.next()
		w.next()
	case ch == ' ' && w.onlyBlanks() || ch == '\n':
		w.line, w.col = w.line+1, 1
		for w.peek() == ' ' {
			w.next()
		}
	default:
		w.next()
	}
}

// onlyBlanks reports whether the rest of the line folds into one space.
func (w *walker) onlyBlanks() bool {
	if w.line > len(w.lines) {
		return false
	}
	runes := []rune(w.lines[w.line-1])
	return w.col > len(runes) || strings.TrimSpace(string(runes[w.col-1:])) == ""
}
