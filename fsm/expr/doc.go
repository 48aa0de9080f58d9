// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package expr is the expression and statement language of system specs: a small
// subset of Go's own syntax, parsed by go/parser, typed, and kept as a tree.
//
// The promise: a tree without mistakes is fully typed. Every name is resolved,
// every enum value belongs to the enum that its place demands, no definition is
// cyclic, and what runs inside the system never reads what only the outside world
// knows (a hidden variable). All mistakes of a text are found in one pass, each
// with its byte offset into the text.
//
// # The subset
//
// Expressions: names, true and false, whole numbers, ! && || == != < <= > >= + -,
// parentheses, v[a] (the variable of accessor a), x.tag (is x one of the states
// with this tag?), old.name (the value before the step), and the calls
//
//	all(a, over, p)   any(a, over, p)   count(a, over, p)
//	has(set, a)   implies(p, q)   in(x, V1, V2, ...)   min(x, y)   max(x, y)
//
// and calls of the spec's own definitions and of decision tables (t.output(inputs)). The second argument of a quantifier is
// an index set (a is the index), a set (a is each member), or a replicated variable
// (a is each element).
//
// Statements: v = x, v++, v--, r := offer(machine, event), if/else if/else,
// for a := range set { }, emit(name, ...), and calls of the spec's procedures.
//
// The package imports the standard library alone.
package expr
