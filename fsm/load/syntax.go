// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

var (
	yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	// looksTagged matches a value that starts with ! without quotes.
	looksTagged = regexp.MustCompile(`[:,\[]\s*!|-\s+!`)
)

// syntax notes an error of the YAML parser. That knows about in which line it gave up,
// and no column, so the place is found by trying: it is where the longest part of the
// text ends that can still become a document.
func (s *Source) syntax(errs *Errors, err error) {
	line, msg := 1, err.Error()
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		msg = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = max(n, 1)
		}
	}
	at := s.firstWrong(line)
	start := bytes.LastIndexByte(s.Data[:at], '\n') + 1
	pos := Pos{1 + bytes.Count(s.Data[:at], []byte("\n")), 1 + utf8.RuneCount(s.Data[start:at])}
	end := len(s.Data)
	if n := bytes.IndexByte(s.Data[start:], '\n'); n >= 0 {
		end = start + n
	}
	if m := looksTagged.FindIndex(s.Data[start:end]); m != nil {
		pos.Col = 1 + utf8.RuneCount(s.Data[start:start+m[1]-1])
		msg += " (quote a text that starts with !)"
	}
	errs.Add(s.File, pos, "YAML syntax: %s", msg)
}

// mostTried bounds the bytes that are parsed to find a column.
const mostTried = 8 << 20

// firstWrong is the offset of the first character with which the text can no longer
// become a document. line is about where the parser gave up.
func (s *Source) firstWrong(line int) int {
	from, to := lineStart(s.Data, line-1), lineStart(s.Data, line+3)
	// What stands before the part at hand seldom matters, and takes long to parse.
	for _, base := range []int{s.partStart(line - 1), 0} {
		if at, ok := wrongIn(s.Data[base:to], from-base); ok {
			return base + at
		}
	}
	if open := openings(s.Data[:to]); to == len(s.Data) && len(open) > 0 {
		return open[len(open)-1]
	}
	return min(lineStart(s.Data, line), len(s.Data))
}

// partStart is the offset of the last line before another one that is a key of the
// spec or of a part of it: one that is indented by two or less.
func (s *Source) partStart(line int) int {
	for ; line > 1; line-- {
		text := s.Data[lineStart(s.Data, line):]
		if indent := len(text) - len(bytes.TrimLeft(text, " ")); indent <= 2 && indent < len(text) && text[indent] >= '0' {
			return lineStart(s.Data, line)
		}
	}
	return 0
}

// wrongIn looks for the first wrong character of a text, from an offset on. ok is false
// if there is none, or if it is too much to try.
func wrongIn(text []byte, from int) (at int, ok bool) {
	for at := len(text); at >= from && (len(text)-at)*at <= mostTried; at-- {
		if at < len(text) && !utf8.RuneStart(text[at]) || !completes(text[:at]) {
			continue
		}
		if at == len(text) {
			return 0, false
		}
		if open := openings(text[:at]); len(open) > 0 && bytes.IndexByte(text[open[len(open)-1]:at], '\n') >= 0 {
			return open[len(open)-1], true // it should have been closed in its line
		}
		for at < len(text)-1 && text[at] == ' ' {
			at++ // the next word is what is wrong
		}
		return at, true
	}
	return 0, false
}

// lineStart is the offset of a line, counted from 1; the end of the text if there is
// none.
func lineStart(data []byte, line int) int {
	at := 0
	for range line - 1 {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return len(data)
		}
		at += n + 1
	}
	return at
}

// completes reports whether a text is YAML, as it is or after what is open is closed.
func completes(part []byte) bool {
	if parses(part) {
		return true
	}
	open := openings(part)
	if len(open) == 0 {
		return false
	}
	text := append([]byte{}, part...)
	for i := len(open) - 1; i >= 0; i-- {
		text = append(text, closers[part[open[i]]]...)
	}
	return parses(text)
}

// closers close what is open. The space keeps a colon before it from being text.
var closers = map[byte]string{'{': " }", '[': " ]", '"': `"`, '\'': "'"}

func parses(text []byte) bool {
	var n yaml.Node
	return yaml.Unmarshal(text, &n) == nil
}

// openings are the offsets of the quotes and brackets that are open at the end of a
// text. What stands in block scalars is taken for YAML: it seldom matters here.
func openings(text []byte) []int {
	var open []int
	quote, fresh := byte(0), true // fresh: a value may begin here
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			switch {
			case c == '\\' && quote == '"':
				i++
			case c == quote:
				quote, open = 0, open[:len(open)-1]
			}
			continue
		case c == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\n'):
			if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
				i += n
				fresh = true
				continue
			}
			return open
		case fresh && (c == '"' || c == '\''):
			quote, open = c, append(open, i)
		case fresh && (c == '{' || c == '['):
			open = append(open, i)
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
		fresh = strings.IndexByte(":,[{-\n", c) >= 0 || fresh && c == ' '
	}
	return open
}
