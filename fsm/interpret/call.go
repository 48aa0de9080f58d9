// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package interpret

import (
	"fmt"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// Effect is one effect that a call asked for, as name(argument, …).
type Effect string

// Answer is what a call gave.
type Answer struct {
	Refused string // the kind of the refusal, "" for none
	Why     string // the reason that the spec gives for it
	Effects []Effect
}

// Call runs one action with arguments in the words of the spec. What the action
// assumes of the outside world is not judged; hidden variables change all the same.
// An error is a call that the spec does not know or enable, or a spec that leaves a
// range or has no answer.
func (s *State) Call(action string, args ...string) (Answer, error) {
	for _, a := range s.sys.Actions {
		if a.Name != action {
			continue
		}
		if len(args) != len(a.Params) {
			return Answer{}, fmt.Errorf("interpret: %s takes %d arguments, found %d", action, len(a.Params), len(args))
		}
		r := &run{State: s, locals: map[*expr.Local]int{}}
		for i, p := range a.Params {
			x, err := parse(p.Type, args[i])
			if err != nil {
				return Answer{}, fmt.Errorf("interpret: %s: argument %s: %w", action, p.Name, err)
			}
			r.locals[p] = x
		}
		return r.call(a)
	}
	return Answer{}, fmt.Errorf("interpret: system %s has no action %s", s.sys.Name, action)
}

// run is one call under way.
type run struct {
	*State
	locals  map[*expr.Local]int
	effects []Effect
	err     error
}

func (r *run) call(a *load.Action) (Answer, error) {
	if a.When != nil && r.eval(a.When) == 0 {
		return Answer{}, fmt.Errorf("interpret: %s is not enabled", a.Name)
	}
	for _, ref := range a.Refuse {
		if r.eval(ref.When) != 0 {
			r.do(ref.Do)
			if ref.Do != nil {
				r.do(a.World)
				r.react()
			}
			return Answer{ref.Kind, ref.Why, r.effects}, r.err
		}
	}
	r.do(a.Do)
	r.do(a.World)
	r.react()
	return Answer{"", "", r.effects}, r.err
}

// maxReactions bounds what may follow one call.
const maxReactions = 1000

// react fires the first reaction that can, until none can.
func (r *run) react() {
	for range maxReactions {
		if !r.fire() {
			return
		}
	}
	r.fail("reactions do not end")
}

func (r *run) fire() bool {
	for _, re := range r.sys.Reactions {
		n := 1
		if re.For != nil {
			n = r.counts[re.For.Type.Over]
		}
		for rep := range n {
			if re.For != nil {
				r.locals[re.For] = rep
			}
			if r.eval(re.When) != 0 {
				r.do(re.Do)
				return true
			}
		}
	}
	return false
}

func (r *run) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("interpret: system "+r.sys.Name+": "+format, args...)
	}
}

func (r *run) do(list []*expr.Stmt) {
	for _, s := range list {
		switch s.Op {
		case expr.Assign:
			r.assign(s)
		case expr.Offer:
			r.offer(s)
		case expr.If:
			if r.eval(s.Value) != 0 {
				r.do(s.Body)
			} else {
				r.do(s.Else)
			}
		case expr.For:
			for rep := range r.counts[s.Over] {
				r.locals[s.Local] = rep
				if s.Value == nil || r.eval(s.Value) != 0 {
					r.do(s.Body)
				}
			}
		case expr.CallProc:
			r.proc(s)
		case expr.Emit:
			r.emit(s)
		}
	}
}

func (r *run) assign(s *expr.Stmt) {
	v, x := s.Target.Var, r.eval(s.Value)
	if v.Type.Kind == expr.Int && (x < v.Type.Lo || x > v.Type.Hi) {
		r.fail("%s = %d leaves its range", v.Name, x)
		return
	}
	r.values[v][r.replica(s.Target)] = x
}

func (r *run) offer(s *expr.Stmt) {
	m, at := s.Target.Var.Machine, r.replica(s.Target)
	from, event := r.values[s.Target.Var][at], r.eval(s.Value)
	r.values[s.Target.Var][at] = m.To[from][event]
	if s.Local != nil {
		r.locals[s.Local] = m.Result[from][event]
	}
}

// proc runs a procedure; its parameters are values, so that one may call another
// with its own.
func (r *run) proc(s *expr.Stmt) {
	args := make([]int, len(s.Args))
	for i, a := range s.Args {
		args[i] = r.eval(a)
	}
	for i, p := range s.Proc.Params {
		r.locals[p] = args[i]
	}
	r.do(s.Proc.Body)
}

func (r *run) emit(s *expr.Stmt) {
	var args []string
	for _, a := range s.Args {
		args = append(args, a.Type.Format(r.eval(a)))
	}
	r.effects = append(r.effects, Effect(s.Name+"("+strings.Join(args, ",")+")"))
}
