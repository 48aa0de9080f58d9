// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/draw"
	"github.com/kvxfer/kvxfer/fsm/load"
)

const shop = `system: shop
doc: a shop that sells "one" & <more>
replicas:
  clerks: {max: 3, doc: who sells}
variables:
  open: {type: bool, doc: whether it is open}
  sold: {type: "0..3[clerks]", doc: how much}
  thief: {type: bool, hidden: true, doc: somebody steals}
effects:
  ring(): the bell
define:
  busy: "any(c, clerks, sold[c] > 0)"
procedures:
  note(c clerks): |
    emit(ring)
    if sold[c] < 3 { sold[c] = sold[c] + 1 }
actions:
  begin:
    when: "!open"
    do: "open = true"
  sell(c clerks):
    refuse:
      - {kind: closed, when: "!open", why: not yet}
    do: "note(c)"
  finish:
    when: busy
    do: "open = false"
  steal:
    environment: true
    world: "thief = true"
invariants:
  honest: {doc: holds, state: "!thief || thief"}
`

// TestOverview: each mark stands where the spec has a reason for it, through
// definitions and procedures too, and nowhere else.
func TestOverview(t *testing.T) {
	sp, err := load.Bytes("shop.yaml", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	got := titles(t, draw.Overview(sp.(*load.System)))
	want := []string{
		"begin asks and may change open", "sell(c) asks open", "sell(c) may change sold", "sell(c) may emit ring",
		"finish may change open", "finish asks sold", "steal may change thief",
	}
	for _, w := range want {
		if got[w] != 1 {
			t.Errorf("%q stands there %d times", w, got[w])
		}
		delete(got, w)
	}
	for title := range got {
		if strings.Contains(title, " asks ") || strings.Contains(title, " may ") {
			t.Errorf("unexpected: %q", title)
		}
	}
}

// TestOverviews: well-formed, the same each time, for both kinds of page, and everything
// that a system of the project has is named.
func TestOverviews(t *testing.T) {
	set, err := load.Dir("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	for _, sp := range set.Specs {
		s, ok := sp.(*load.System)
		if !ok {
			continue
		}
		data := draw.Overview(s)
		got := titles(t, data)
		names := func(kind, name, doc string) {
			if got[name+": "+doc] == 0 {
				t.Errorf("%s: no %s %s", s.Name, kind, name)
			}
		}
		for _, v := range s.Vars {
			names("variable", v.Name, v.Doc)
		}
		for _, e := range s.Effects {
			names("effect", e.Name, e.Doc)
		}
		if !bytes.Equal(data, draw.Overview(s)) || !bytes.Contains(data, []byte("prefers-color-scheme:dark")) {
			t.Errorf("%s: drawn differently again, or not for dark pages", s.Name)
		}
	}
}

// titles counts the texts of all title elements.
func titles(t *testing.T, svg []byte) map[string]int {
	t.Helper()
	out := map[string]int{}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	inside := false
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			inside = tok.Name.Local == "title"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				out[string(tok)]++
			}
		}
	}
}
