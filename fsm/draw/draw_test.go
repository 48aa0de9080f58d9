// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/draw"
	"github.com/kvxfer/kvxfer/fsm/load"
)

func machines(t *testing.T) []*load.Machine {
	t.Helper()
	set, err := load.Dir("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	var out []*load.Machine
	for _, sp := range set.Specs {
		if m, ok := sp.(*load.Machine); ok {
			out = append(out, m)
		}
	}
	return out
}

// TestSVG: well-formed, self-contained, for both kinds of page, and every state and
// every moving event is written in it.
func TestSVG(t *testing.T) {
	for _, m := range machines(t) {
		data := draw.SVG(m)
		texts := map[string]int{}
		dec := xml.NewDecoder(bytes.NewReader(data))
		for {
			tok, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", m.Name, err)
			}
			if c, ok := tok.(xml.CharData); ok {
				texts[strings.TrimSpace(string(c))]++
			}
		}
		for i, s := range m.States {
			if texts[s.Name] != 1 {
				t.Errorf("%s: state %s is written %d times", m.Name, s.Name, texts[s.Name])
			}
			for j, c := range m.Cells[i] {
				if c.Result == fsm.Moved && texts[m.Events[j].Name] == 0 {
					t.Errorf("%s: event %s is not written", m.Name, m.Events[j].Name)
				}
			}
		}
		if !bytes.Contains(data, []byte("prefers-color-scheme:dark")) || bytes.Contains(data, []byte("http://www.w3.org/1999/xlink")) {
			t.Errorf("%s: not for dark pages, or not self-contained", m.Name)
		}
		if !bytes.Equal(data, draw.SVG(m)) {
			t.Errorf("%s: drawn differently again", m.Name)
		}
	}
}

// TestEscaping: docs cannot break out of a picture, a page or a table.
func TestEscaping(t *testing.T) {
	sp, err := load.Bytes("door.yaml", []byte(`machine: door
doc: "<script>alert(1)</script> & | more"
states:
  SHUT: {code: 1, initial: true, final: true, doc: "a | b <i>"}
events:
  pull: {code: 1, doc: "\" onload=\"x"}
cells:
  SHUT: {pull: {reject: "<b>|</b>"}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"svg": draw.SVG(sp.(*load.Machine)), "html": draw.HTML(sp)} {
		if bytes.Contains(data, []byte("<script>")) || bytes.Contains(data, []byte("<b>")) || bytes.Contains(data, []byte(`" onload`)) {
			t.Errorf("%s is not escaped:\n%s", name, data)
		}
	}
	for line := range strings.Lines(string(draw.Page(sp, "spec/door.yaml", ""))) {
		if strings.HasPrefix(line, "| SHUT | 1 |") && !strings.Contains(line, `a \| b`) {
			t.Errorf("a bar splits the cell: %s", line)
		}
	}
}

// TestText: Mermaid and DOT name every arrow once.
func TestText(t *testing.T) {
	for _, m := range machines(t) {
		mermaid, dot := string(draw.Mermaid(m)), string(draw.DOT(m))
		for i, s := range m.States {
			seen := map[int]bool{}
			for _, c := range m.Cells[i] {
				if c.Result != fsm.Moved || seen[c.To] {
					continue
				}
				seen[c.To] = true
				to := m.States[c.To].Name
				if n := strings.Count(mermaid, fmt.Sprintf("    %s --> %s : ", s.Name, to)); n != 1 {
					t.Errorf("%s: Mermaid has %s to %s %d times", m.Name, s.Name, to, n)
				}
				if n := strings.Count(dot, fmt.Sprintf("    %q -> %q [", s.Name, to)); n != 1 {
					t.Errorf("%s: DOT has %s to %s %d times", m.Name, s.Name, to, n)
				}
			}
		}
	}
}
