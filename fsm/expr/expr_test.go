// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr_test

import (
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/expr"
)

// scope has a light, a number, a set of guests, and a definition.
func scope() *expr.Scope {
	light := &expr.Type{Kind: expr.Enum, Name: "Light", Values: []string{"RED", "GREEN", "BLUE"}, Tags: map[string]uint64{"warm": 1, "cold": 6}}
	guests := expr.NewIndexSet("guests", 8)
	vars := map[string]*expr.Var{
		"light":  {Name: "light", Type: light},
		"knocks": {Name: "knocks", Type: expr.IntType(0, 3)},
		"inside": {Name: "inside", Type: expr.BoolType, Over: guests, Set: true},
		"tired":  {Name: "tired", Type: expr.BoolType, Over: guests, Hidden: true},
	}
	g := &expr.Local{Name: "g", Type: guests.Elem}
	sc := &expr.Scope{Vars: vars, Sets: map[string]*expr.IndexSet{"guests": guests}, Locals: []*expr.Local{g}}
	body, mistakes := expr.Expression("has(inside, g) && light == RED", expr.BoolType, sc)
	if body == nil {
		panic(mistakes)
	}
	sc.Defs = map[string]*expr.Def{"lit": {Name: "lit", Params: []*expr.Local{g}, Body: body}}
	sc.Locals = nil
	return sc
}

// TestString: what is typed prints as a spec would write it, with no more
// parentheses than Go needs.
func TestString(t *testing.T) {
	for text, want := range map[string]string{
		"((light == RED))":                            "light == RED",
		"RED == light":                                "RED == light",
		"(knocks + 1) - (1 - knocks) < 3":             "knocks + 1 - (1 - knocks) < 3",
		"!(light != RED || knocks > 1) && true":       "!(light != RED || knocks > 1) && true",
		"implies(light.cold, any(x, guests, lit(x)))": "!light.cold || any(x, guests, lit(x))",
		"all(x, inside, x == x)":                      "all(x, inside, x == x)",
		"in(light, BLUE, RED)":                        "in(light, RED, BLUE)",
		"count(i, inside, true) == max(knocks, 0)":    "count(i, inside, true) == max(knocks, 0)",
	} {
		n, mistakes := expr.Expression(text, expr.BoolType, scope())
		if n == nil {
			t.Errorf("%s: %v", text, mistakes)
			continue
		}
		if got := n.String(); got != want {
			t.Errorf("%s prints as %s, want %s", text, got, want)
		}
		again, mistakes := expr.Expression(n.String(), expr.BoolType, scope())
		if again == nil || again.String() != n.String() {
			t.Errorf("%s prints as %s, which is %v, %v", text, n, again, mistakes)
		}
	}
}

// TestOffsets: a mistake points at the word that is wrong, in bytes.
func TestOffsets(t *testing.T) {
	for _, tc := range []struct{ text, at, msg string }{
		{"light == RED && ligth == RED", "ligth", "unknown name ligth"},
		{"light == PINK", "PINK", "expected a value of Light (RED, GREEN, BLUE)"},
		{"knocks == 1 && \n  any(x, guests, tired[x])", "tired", "hidden"},
		{"light == /* ü */ PINK", "PINK", "unknown name PINK"},
		{"lit(light)", "light", "light is Light"},
		{"knocks % 2 == 0", "knocks % 2", "operator %"},
		{"old.light == RED", "old", "only in properties of steps"},
		{"inside == inside", "inside", "one variable for each of guests"},
	} {
		n, mistakes := expr.Expression(tc.text, expr.BoolType, scope())
		if n != nil || len(mistakes) == 0 {
			t.Errorf("%s is accepted", tc.text)
			continue
		}
		m := mistakes[0]
		if !strings.HasPrefix(tc.text[m.Off:], tc.at) || !strings.Contains(m.Msg, tc.msg) {
			t.Errorf("%s: %q at %q", tc.text, m.Msg, tc.text[m.Off:])
		}
	}
}

// TestStatements: the subset of statements, and what is outside of it.
func TestStatements(t *testing.T) {
	list, mistakes := expr.Statements("knocks++\nfor x := range inside { inside[x] = light == RED }\nif knocks > 1 { knocks = 0 } else if light.warm { light = GREEN }", scope())
	if len(list) != 3 {
		t.Fatalf("%v, %v", list, mistakes)
	}
	for i, want := range []string{"knocks = knocks + 1", "for x := range inside { inside[x] = light == RED }",
		"if knocks > 1 { knocks = 0 } else { if in(light, RED) { light = GREEN } }"} {
		if got := list[i].String(); got != want {
			t.Errorf("statement %d prints as %s, want %s", i, got, want)
		}
	}
	for _, text := range []string{"", "return", "x := 1", "go f()", "knocks = light", "tired[1] = true", "}; func f() {", "knocks, light = 1, RED", "defer knocks++"} {
		if list, mistakes := expr.Statements(text, scope()); list != nil || len(mistakes) == 0 {
			t.Errorf("%q is accepted as %v", text, list)
		}
	}
}
