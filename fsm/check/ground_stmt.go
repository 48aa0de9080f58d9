// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/kvxfer/kvxfer/fsm/expr"

// sop is the operation of a ground statement.
type sop uint8

const (
	sAssign sop = iota // slot = value
	sLocal             // local = value
	sOffer             // offer value to the machine in slot; its result goes to local, unless -1
	sIf
)

// gstmt is a statement without names; loops and calls are unrolled.
type gstmt struct {
	op         sop
	slot       int
	local      int
	value      *gnode
	body, rest []*gstmt
}

// stmts grounds a list of statements. b is changed: results are bound for the
// statements after them.
func (gr *grounder) stmts(list []*expr.Stmt, b binding) []*gstmt {
	var out []*gstmt
	for _, s := range list {
		switch s.Op {
		case expr.Assign:
			if gr.m.slotOf[s.Target.Var] == nil {
				continue
			}
			out = append(out, &gstmt{op: sAssign, slot: gr.expr(s.Target, b, false).val, value: gr.expr(s.Value, b, false)})
		case expr.Offer:
			g := &gstmt{op: sOffer, slot: gr.expr(s.Target, b, false).val, value: gr.expr(s.Value, b, false), local: -1}
			if s.Local != nil {
				g.local = gr.newLocal()
				b[s.Local] = &gnode{op: gLocal, val: g.local}
			}
			out = append(out, g)
		case expr.If:
			out = append(out, gr.ifStmt(s, b)...)
		case expr.For:
			for rep := range gr.m.counts[s.Over] {
				inner := b.with(s.Local, constant(rep))
				out = append(out, gr.filtered(s, inner)...)
			}
		case expr.CallProc:
			out = append(out, gr.call(s, b)...)
		}
	}
	return out
}

func (gr *grounder) newLocal() int {
	gr.locals++
	gr.m.locals = max(gr.m.locals, gr.locals)
	return gr.locals - 1
}

func (gr *grounder) ifStmt(s *expr.Stmt, b binding) []*gstmt {
	cond := gr.expr(s.Value, b, false)
	if cond.op == gConst {
		if cond.val != 0 {
			return gr.stmts(s.Body, copyOf(b))
		}
		return gr.stmts(s.Else, copyOf(b))
	}
	return []*gstmt{{op: sIf, value: cond, body: gr.stmts(s.Body, copyOf(b)), rest: gr.stmts(s.Else, copyOf(b))}}
}

func copyOf(b binding) binding { return b.with(nil, nil) }

// filtered is the body of a loop for one replica.
func (gr *grounder) filtered(s *expr.Stmt, b binding) []*gstmt {
	if s.Value == nil {
		return gr.stmts(s.Body, b)
	}
	cond := gr.expr(s.Value, b, false)
	if cond.op == gConst {
		if cond.val == 0 {
			return nil
		}
		return gr.stmts(s.Body, b)
	}
	return []*gstmt{{op: sIf, value: cond, body: gr.stmts(s.Body, b)}}
}

// call passes arguments by value: what is no constant is kept in a local first.
func (gr *grounder) call(s *expr.Stmt, b binding) []*gstmt {
	var out []*gstmt
	inner := binding{}
	for i, p := range s.Proc.Params {
		g := gr.expr(s.Args[i], b, false)
		if g.op != gConst {
			l := gr.newLocal()
			out = append(out, &gstmt{op: sLocal, local: l, value: g})
			g = &gnode{op: gLocal, val: l}
		}
		inner[p] = g
	}
	return append(out, gr.stmts(s.Proc.Body, inner)...)
}
