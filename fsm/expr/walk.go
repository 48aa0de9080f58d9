// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

// Hidden reports whether the statements read or change a hidden variable.
func Hidden(list []*Stmt) bool {
	hidden := false
	look := func(n *Node) {
		hidden = hidden || n.Op == ReadVar && n.Var.Hidden || n.Op == Call && n.Def.Hidden
	}
	for _, s := range list {
		Walk(s.Target, look)
		Walk(s.Value, look)
		for _, a := range s.Args {
			Walk(a, look)
		}
		hidden = hidden || s.Op == CallProc && s.Proc.Hidden || Hidden(s.Body) || Hidden(s.Else)
	}
	return hidden
}

// Walk calls f for n and every node below it; bodies of definitions are not entered.
func Walk(n *Node, f func(*Node)) {
	if n == nil {
		return
	}
	f(n)
	for _, a := range n.Args {
		Walk(a, f)
	}
}
