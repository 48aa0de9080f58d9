// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/send"
)

// answer is what the spec answers to a step.
type answer struct {
	known  bool // the systems say what it is
	kind   string
	reason string
}

var good = answer{known: true}

func refused(err error) answer {
	return answer{true, kindOf(err), reasonOf(err)}
}

func stale(why string) answer { return answer{true, "stale", why} }

// steps says for each step how it is made again.
var steps = map[string]func(*prediction, *group) answer{
	"admit": (*prediction).admit, "add_pieces": (*prediction).addPieces, "seal": (*prediction).seal, "finish": (*prediction).finish,
	"fail_send": (*prediction).failSend, "operation": (*prediction).operation, "report": (*prediction).report, "ack": (*prediction).ack,
	"local": (*prediction).localEvent, "fence": (*prediction).fence, "gone": (*prediction).goneLife, "cancel": (*prediction).cancel,
	"fail": (*prediction).fail, "fail_piece": (*prediction).failPiece, "complete": (*prediction).complete, "close": (*prediction).close,
	"stop": (*prediction).stop, "reincarnate": (*prediction).reincarnate, "add_region": (*prediction).addRegion,
	"reuse": (*prediction).reuse, "deregister": (*prediction).deregister, "remove_region": (*prediction).removeRegion,
	"reopen": nil, "watermark": nil, "requested": nil, "tick": nil, "delivered": nil, "deadline": nil,
}

// untimed are the steps that judge no deadline.
var untimed = []string{"add_region", "delivered"}

// predict makes a step again and returns what the spec wants.
func (d *prediction) predict(g *group) answer {
	r := &g.step
	if !slices.Contains(untimed, r.Step) {
		d.judge(time.Duration(r.At))
		d.now = time.Duration(r.At)
	}
	if r.Step == "deadline" {
		return good
	}
	if len(d.wants) > 0 {
		d.findSpec(g.line, "I10", "a deadline that lies before this step had no effect", d.wants[0].text)
		d.wants = d.wants[:0]
	}
	do := steps[r.Step]
	if do == nil || r.Answer == "invalid_argument" {
		return answer{}
	}
	a := do(d, g)
	d.flush()
	return a
}

// together finds the pieces of one gate action.
func (d *prediction) together(r *Record) ([]*piece, answer) {
	s := d.owned[r.Session]
	if s == nil {
		return nil, stale("the session is not owned")
	}
	var list []*piece
	for _, name := range r.Names {
		p := s.piece(name)
		if p == nil {
			return nil, stale("the piece is not owned")
		}
		list = append(list, p)
	}
	return list, good
}

// allOrNone makes a gate action on several pieces, or on none if one refuses.
func (d *prediction) allOrNone(r *Record, rx func(*receive.System) ([]receive.Effect, error), tx func(*send.System) ([]send.Effect, error)) answer {
	list, a := d.together(r)
	if a.kind != "" || len(list) == 0 {
		return a
	}
	for _, p := range list {
		if err := ask(p, rx, tx); err != nil && len(list) > 1 {
			return refused(err)
		}
	}
	for _, p := range list {
		if err := d.on(p, rx, tx); err != nil {
			return refused(err)
		}
	}
	return good
}

// ask makes the call on a copy.
func ask(p *piece, rx func(*receive.System) ([]receive.Effect, error), tx func(*send.System) ([]send.Effect, error)) error {
	if p.rx != nil {
		rules := *p.rx
		_, err := rx(&rules)
		return err
	}
	rules := *p.tx
	_, err := tx(&rules)
	return err
}

func (d *prediction) seal(g *group) answer {
	s := d.owned[g.step.Session]
	closed := s != nil && s.takesNothing()
	return d.allOrNone(&g.step, func(r *receive.System) ([]receive.Effect, error) { return r.Seal(d.fatalRules, closed, nil) },
		func(r *send.System) ([]send.Effect, error) { return r.Seal(d.fatalRules, closed, nil) })
}

func (d *prediction) finish(g *group) answer {
	return d.allOrNone(&g.step, func(r *receive.System) ([]receive.Effect, error) { return r.Finish(nil) },
		func(r *send.System) ([]send.Effect, error) { return r.Finish(nil) })
}

func (d *prediction) failSend(g *group) answer {
	list, a := d.together(&g.step)
	if a.kind != "" || len(list) != 1 {
		return a
	}
	var exposed uint64
	for _, name := range g.step.Published {
		i := list[0].find(name)
		if i < 0 || i >= list[0].size() {
			return answer{true, "invalid_argument", "it names an accessor that is not in the cohort"}
		}
		exposed |= 1 << i
	}
	return refused(d.on(list[0], func(r *receive.System) ([]receive.Effect, error) { return r.FailSend(exposed, nil) },
		func(r *send.System) ([]send.Effect, error) { return r.FailSend(exposed, nil) }))
}

func (d *prediction) failPiece(g *group) answer {
	list, a := d.together(&g.step)
	if a.kind != "" || len(list) != 1 {
		return a
	}
	d.reason = g.step.Cause
	return refused(d.on(list[0], func(s *receive.System) ([]receive.Effect, error) { return s.Fail(nil) },
		func(s *send.System) ([]send.Effect, error) { return s.Fail(nil) }))
}
