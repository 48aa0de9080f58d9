// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

var opText = map[Op]string{
	And: "&&", Or: "||", Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">=", Add: "+", Sub: "-",
}

// String writes the expression as a spec would.
func (n *Node) String() string {
	if n == nil {
		return "true"
	}
	args := func(nodes []*Node) string {
		var out []string
		for _, a := range nodes {
			out = append(out, a.String())
		}
		return strings.Join(out, ", ")
	}
	switch n.Op {
	case Const:
		return n.Type.name(n.Val)
	case ReadVar:
		return n.readText()
	case ReadLocal:
		return n.Local.Name
	case Not:
		return "!" + n.Args[0].inner()
	case In:
		return n.inText()
	case Min, Max:
		return strings.ToLower(map[Op]string{Min: "min", Max: "max"}[n.Op]) + "(" + args(n.Args) + ")"
	case Has:
		return "has(" + args(n.Args) + ")"
	case Would:
		return "would(" + args(n.Args) + ")"
	case Decide:
		return n.Output.Table + "." + n.Output.Name + "(" + args(n.Args) + ")"
	case All, Any, Count:
		return n.quantifierText()
	case Call:
		prefix := ""
		if n.Old {
			prefix = "old."
		}
		if len(n.Args) == 0 {
			return prefix + n.Def.Name
		}
		return prefix + n.Def.Name + "(" + args(n.Args) + ")"
	}
	if op, ok := opText[n.Op]; ok {
		p := n.precedence()
		return n.Args[0].operand(p) + " " + op + " " + n.Args[1].operand(p+1)
	}
	return "?"
}

// name writes a constant by its name.
func (t *Type) name(v int) string {
	if t.Kind == Enum || t.Kind == Bool {
		return t.Format(v)
	}
	return fmt.Sprint(v)
}

func (n *Node) readText() string {
	s := n.Var.Name
	if n.Old {
		s = "old." + s
	}
	if len(n.Args) > 0 {
		s += "[" + n.Args[0].String() + "]"
	}
	return s
}

// precedence is that of Go's binary operators; 6 for everything else.
func (n *Node) precedence() int {
	switch n.Op {
	case Or:
		return 1
	case And:
		return 2
	case Eq, Ne, Lt, Le, Gt, Ge:
		return 3
	case Add, Sub:
		return 4
	}
	return 6
}

// operand writes n to stand beside an operator of this precedence, in parentheses
// where they are needed.
func (n *Node) operand(precedence int) string {
	if n.precedence() < precedence {
		return "(" + n.String() + ")"
	}
	return n.String()
}

// inner writes what no operator may take apart.
func (n *Node) inner() string { return n.operand(6) }

func (n *Node) inText() string {
	t := n.Args[0].Type
	for _, tag := range slices.Sorted(maps.Keys(t.Tags)) {
		if t.Tags[tag] == n.Mask && bits.OnesCount64(n.Mask) > 1 {
			return n.Args[0].inner() + "." + tag
		}
	}
	out := "in(" + n.Args[0].String()
	for v := range t.Values {
		if n.Mask>>v&1 != 0 {
			out += ", " + t.Values[v]
		}
	}
	return out + ")"
}

func (n *Node) quantifierText() string {
	name := map[Op]string{All: "all", Any: "any", Count: "count"}[n.Op]
	over := n.Over.Name
	if len(n.Args) > 1 {
		switch f := n.Args[1]; f.Op {
		case Has:
			over = f.Args[0].String()
		case ReadVar:
			over = f.Var.Name
		}
	}
	return fmt.Sprintf("%s(%s, %s, %s)", name, n.Local.Name, over, n.Args[0])
}

// String writes the statement as a spec would, on one line.
func (s *Stmt) String() string {
	switch s.Op {
	case Assign:
		return s.Target.String() + " = " + s.Value.String()
	case Offer:
		call := "offer(" + s.Target.String() + ", " + s.Value.String() + ")"
		if s.Local != nil {
			return s.Local.Name + " := " + call
		}
		return call
	case If:
		out := "if " + s.Value.String() + " { " + listText(s.Body) + " }"
		if len(s.Else) > 0 {
			out += " else { " + listText(s.Else) + " }"
		}
		return out
	case For:
		over := s.Over.Name
		if s.Value != nil && s.Value.Op == ReadVar {
			over = s.Value.Var.Name
		} else if s.Value != nil {
			over = s.Value.Args[0].String()
		}
		return "for " + s.Local.Name + " := range " + over + " { " + listText(s.Body) + " }"
	}
	name, parts := "emit", []string{s.Name}
	if s.Op == CallProc {
		name, parts = s.Proc.Name, nil
	}
	for _, a := range s.Args {
		parts = append(parts, a.String())
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}

func listText(list []*Stmt) string {
	var out []string
	for _, s := range list {
		out = append(out, s.String())
	}
	return strings.Join(out, "; ")
}
