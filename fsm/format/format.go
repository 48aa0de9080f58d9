// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// Source returns the canonical layout of a spec file. A file that is no YAML the
// language allows gives the loader's mistakes.
func Source(file string, data []byte) ([]byte, error) {
	doc, err := load.Parse(load.NewSource(file, data))
	if err != nil {
		return nil, err
	}
	p := &printer{lines: strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")}
	reorder(doc.Content[0])
	p.document(doc)
	out := p.b.Bytes()
	again, err := load.Parse(load.NewSource(file, out))
	if err != nil {
		return nil, fmt.Errorf("format: %s: the result does not parse (a bug in fsmgen): %w", file, err)
	}
	reorder(again.Content[0])
	if !same(doc.Content[0], again.Content[0]) {
		return nil, fmt.Errorf("format: %s: the result would say something else (a bug in fsmgen)", file)
	}
	if a, b := comments(doc), comments(again); !slices.Equal(a, b) {
		return nil, fmt.Errorf("format: %s: a comment would be lost; move it to a line of its own above a key", file)
	}
	return out, nil
}

// same reports whether two nodes say the same, apart from their layout.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Tag != b.Tag || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.ScalarNode && words(a.Value) != words(b.Value) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// words is a text as the language reads it.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// comments lists the lines of all comments, sorted.
func comments(n *yaml.Node) []string {
	var out []string
	for _, c := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for line := range strings.Lines(c) {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
	}
	for _, c := range n.Content {
		out = append(out, comments(c)...)
	}
	slices.Sort(out)
	return out
}

// printer writes nodes. Lines are those of the source, to find blank ones.
type printer struct {
	b     bytes.Buffer
	lines []string
}

func (p *printer) line(indent int, text string) {
	p.b.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+text, " ") + "\n")
}

func (p *printer) comment(indent int, text string) {
	for line := range strings.Lines(text) {
		p.line(indent, strings.TrimSpace(line))
	}
}

func (p *printer) document(doc *yaml.Node) {
	top := doc.Content[0]
	if doc.HeadComment != "" {
		p.comment(0, doc.HeadComment)
		p.b.WriteString("\n")
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		k, v := top.Content[i], top.Content[i+1]
		if i > 0 && (isBlock(v) || p.blankAbove(k)) && !bytes.HasSuffix(p.b.Bytes(), []byte("\n\n")) {
			p.b.WriteString("\n")
		}
		p.entry(0, "", k, v)
	}
	if doc.FootComment != "" {
		p.b.WriteString("\n")
		p.comment(0, doc.FootComment)
	}
}

// isBlock reports whether a value has lines of its own below its key.
func isBlock(v *yaml.Node) bool {
	return v.Kind != yaml.ScalarNode && v.Style&yaml.FlowStyle == 0
}

// blankAbove reports whether the source has a blank line above a node and its
// comment.
func (p *printer) blankAbove(n *yaml.Node) bool {
	at := n.Line - 2
	if n.HeadComment != "" {
		at -= strings.Count(n.HeadComment, "\n") + 1
	}
	return at >= 0 && at < len(p.lines) && strings.TrimSpace(p.lines[at]) == ""
}
