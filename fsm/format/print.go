// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
)

// width is the longest line that values are put on.
const width = 100

// entry prints "key: value". The lead stands in front of the key on its line: "- "
// for the first key of a list's element.
func (p *printer) entry(indent int, lead string, k, v *yaml.Node) {
	inner := indent + len(lead)
	if k.HeadComment != "" {
		p.comment(indent, k.HeadComment)
	}
	head := lead + scalar(k, false) + ":"
	note := ""
	for _, c := range []string{k.LineComment, v.LineComment} {
		if c != "" {
			note += " " + c
		}
	}
	text, ok := inline(v, false)
	switch {
	case ok && (v.Kind == yaml.ScalarNode && !long(v) || isFlow(v)) && indent+len(head)+1+len([]rune(text)) <= width:
		if text != "" {
			text = " " + text
		}
		p.line(indent, head+text+note)
	case isLiteral(v) && k.Value != "doc" && k.Value != "why":
		p.line(indent, head+" |"+note)
		for _, line := range strings.Split(strings.TrimRight(v.Value, "\n"), "\n") {
			p.line(inner+2, line)
		}
	case v.Kind == yaml.ScalarNode && long(v) && v.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 && len(strings.Fields(v.Value)) > 1:
		p.line(indent, head+" >-"+note)
		p.fold(inner+2, v.Value)
	case v.Kind == yaml.ScalarNode:
		p.line(indent, head+" "+text+note)
	default:
		p.line(indent, head+note)
		p.block(inner+2, v)
	}
	if v.FootComment != "" {
		p.comment(inner, v.FootComment)
	}
	if k.FootComment != "" {
		p.comment(indent, k.FootComment)
	}
}

// block prints a mapping or a list on lines of its own.
func (p *printer) block(indent int, n *yaml.Node) {
	if n.HeadComment != "" {
		p.comment(indent, n.HeadComment)
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 && n.Content[i].Line > n.Content[i-2].Line && p.blankAbove(n.Content[i]) {
				p.b.WriteString("\n")
			}
			p.entry(indent, "", n.Content[i], n.Content[i+1])
		}
		return
	}
	for i, item := range n.Content {
		first := item
		if item.Kind == yaml.MappingNode && len(item.Content) > 0 && item.HeadComment == "" {
			first = item.Content[0]
		}
		if i > 0 && first.Line > n.Content[i-1].Line && p.blankAbove(first) {
			p.b.WriteString("\n")
		}
		p.item(indent, item)
	}
}

// item prints an element of a list.
func (p *printer) item(indent int, n *yaml.Node) {
	if n.HeadComment != "" {
		p.comment(indent, n.HeadComment)
	}
	text, ok := inline(n, false)
	fits := ok && indent+2+len([]rune(text)) <= width
	if n.Kind == yaml.ScalarNode || isFlow(n) && fits || n.Kind == yaml.SequenceNode && fits {
		note := ""
		if n.LineComment != "" {
			note = " " + n.LineComment
		}
		p.line(indent, "- "+text+note)
	} else {
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			lead := "- "
			if i > 0 {
				lead = "  "
			} else if k.HeadComment != "" {
				p.comment(indent, k.HeadComment)
				k.HeadComment = ""
				defer func(c string) { k.HeadComment = c }(n.Content[i].HeadComment)
			}
			p.entry(indent, lead, k, n.Content[i+1])
		}
	}
	if n.FootComment != "" {
		p.comment(indent, n.FootComment)
	}
}

// fold prints a long text over several lines.
func (p *printer) fold(indent int, text string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && indent+len([]rune(line))+1+len([]rune(word)) > width {
			p.line(indent, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	p.line(indent, line)
}

func isFlow(n *yaml.Node) bool {
	return n.Kind != yaml.ScalarNode && (n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0)
}

// isLiteral reports whether a text keeps its lines: those of statements are for their
// reader. A first line that is indented by itself would need a mark of its own.
func isLiteral(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&yaml.LiteralStyle != 0 && n.Value != "" &&
		!strings.ContainsAny(n.Value[:1], " \n\t") && !strings.ContainsAny(n.Value, "\r\u0085\u2028\u2029")
}

// long reports whether a text was written over several lines, or is too long for one.
func long(n *yaml.Node) bool {
	return n.Style&(yaml.FoldedStyle|yaml.LiteralStyle) != 0 || len([]rune(words(n.Value))) > width-20
}

// inline is a node on one line; ok is false where comments would be lost.
func inline(n *yaml.Node, flow bool) (text string, ok bool) {
	if n.Kind == yaml.ScalarNode {
		return scalar(n, flow), true
	}
	var parts []string
	ok = true
	for i := 0; i < len(n.Content); i++ {
		c := n.Content[i]
		if len(comments(c)) > 0 {
			ok = false
		}
		part, _ := inline(c, true)
		if n.Kind == yaml.MappingNode {
			i++
			if len(comments(n.Content[i])) > 0 {
				ok = false
			}
			if value, _ := inline(n.Content[i], true); value != "" {
				part += ": " + value
			} else {
				part += ":"
			}
		}
		parts = append(parts, part)
	}
	list := strings.Join(parts, ", ")
	if n.Kind == yaml.MappingNode {
		return "{" + list + "}", ok
	}
	return "[" + list + "]", ok
}

// scalar is a scalar on one line: as it was, if that reads the same, else quoted.
func scalar(n *yaml.Node, flow bool) string {
	value := n.Value
	if n.Tag == "!!str" {
		value = words(value)
	}
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
	if !quoted && readsAs(value, n.Tag, flow) {
		return value
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if quoted {
		value = n.Value
	}
	if err := enc.Encode(value); err != nil {
		return value
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readsAs reports whether a plain text would be read as itself.
func readsAs(value, tag string, flow bool) bool {
	text := "k: " + value + "\n"
	if flow {
		text = "{k: " + value + ", l: m}\n"
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		return false
	}
	m := doc.Content[0]
	return m.Kind == yaml.MappingNode && len(m.Content) >= 2 && m.Content[1].Kind == yaml.ScalarNode &&
		m.Content[1].Value == value && m.Content[1].Tag == tag && m.Content[1].LineComment == "" &&
		(!flow || len(m.Content) == 4)
}
