// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/report"
	"github.com/kvxfer/kvxfer/gen/send"
)

// Each call of an owner's system: the generated method decides, and its effects
// are carried out before the call returns.

func (c *core) sealOwner(o *owner, closed bool) error {
	if o.receive != nil {
		return c.receiving(o).done(o.receive.Seal(c.fatal(), closed, c.received))
	}
	return c.sending(o).done(o.send.rules.Seal(c.fatal(), closed, c.sent))
}

// maySeal asks a copy, where several pieces are sealed together or not at all.
func (c *core) maySeal(o *owner, closed bool) error {
	if o.receive != nil {
		rules := *o.receive
		_, err := rules.Seal(c.fatal(), closed, c.received)
		return err
	}
	rules := o.send.rules
	_, err := rules.Seal(c.fatal(), closed, c.sent)
	return err
}

func (c *core) finishOwner(o *owner) error {
	if o.receive != nil {
		return c.receiving(o).done(o.receive.Finish(c.received))
	}
	return c.sending(o).done(o.send.rules.Finish(c.sent))
}

func (c *core) mayFinish(o *owner) error {
	if o.receive != nil {
		rules := *o.receive
		_, err := rules.Finish(c.received)
		return err
	}
	rules := o.send.rules
	_, err := rules.Finish(c.sent)
	return err
}

func (c *core) failSendOwner(o *owner, published uint64) error {
	if o.receive != nil {
		return c.receiving(o).done(o.receive.FailSend(published, c.received))
	}
	return c.sending(o).done(o.send.rules.FailSend(published, c.sent))
}

// endOwner brings the session's end to the owner.
func (c *core) endOwner(o *owner, how outcome.Event) {
	if o.receive != nil {
		c.receiving(o).done(o.receive.End(how, c.received))
		return
	}
	c.sending(o).done(o.send.rules.End(how, c.sent))
}

func (c *core) failOwner(o *owner) error {
	if o.receive != nil {
		return c.receiving(o).done(o.receive.Fail(c.received))
	}
	return c.sending(o).done(o.send.rules.Fail(c.sent))
}

func (c *core) hear(o *owner, i int, says Evidence) error {
	return c.receiving(o).done(o.receive.Hear(i, report.Evidence(says), c.received))
}

func (c *core) acknowledgeClaim(o *owner, i int) error {
	return c.receiving(o).done(o.receive.Acknowledge(i, c.received))
}

// hearOutsider is evidence from outside of the cohort on the receive side.
func (c *core) hearOutsider(o *owner) error {
	return c.receiving(o).done(o.receive.Outsider(c.received))
}

func (c *core) operate(o *owner, i int, status operation.Status) error {
	if i == outsider {
		return c.sending(o).done(o.send.rules.Outsider(status, c.fatal(), c.sent))
	}
	return c.sending(o).done(o.send.rules.Operate(i, status, c.fatal(), c.sent))
}

func (c *core) localEvent(o *owner, e LocalEvent) error {
	if o.receive != nil {
		run := c.receiving(o)
		switch e {
		case LocalStart:
			return run.done(o.receive.LocalStart(c.fatal(), c.received))
		case LocalDone:
			return run.done(o.receive.LocalDone(c.received))
		}
		return run.done(o.receive.LocalDoubt(c.received))
	}
	run := c.sending(o)
	switch e {
	case LocalStart:
		return run.done(o.send.rules.LocalStart(c.fatal(), c.sent))
	case LocalDone:
		return run.done(o.send.rules.LocalDone(c.sent))
	}
	return run.done(o.send.rules.LocalDoubt(c.sent))
}

func (c *core) fenceClaim(o *owner, i int) {
	local := i == o.size()
	switch {
	case o.receive != nil && local:
		c.receiving(o).done(o.receive.LocalFence(c.received))
	case o.receive != nil:
		c.receiving(o).done(o.receive.Fence(i, c.received))
	case local:
		c.sending(o).done(o.send.rules.LocalFence(c.sent))
	default:
		c.sending(o).done(o.send.rules.Fence(i, c.sent))
	}
}

func (c *core) goneClaim(o *owner, i int) {
	if o.receive != nil {
		c.receiving(o).done(o.receive.Gone(i, c.received))
		return
	}
	c.sending(o).done(o.send.rules.Gone(i, c.sent))
}

func (c *core) releaseOwner(o *owner) error {
	if o.receive != nil {
		return c.receiving(o).done(o.receive.Release(c.fatal(), c.received))
	}
	return c.sending(o).done(o.send.rules.Release(c.fatal(), c.sent))
}

// receiving and sending are one call of an owner's system, to carry its effects out.
type (
	receiving struct {
		*core
		o *owner
	}
	sending struct {
		*core
		o *owner
	}
)

func (c *core) receiving(o *owner) receiving { return receiving{c, o} }
func (c *core) sending(o *owner) sending     { return sending{c, o} }

// done carries the effects of the call out. None of them makes another call of an
// owner's system: those of the other pieces follow when this one is through.
func (r receiving) done(out []receive.Effect, err error) error {
	for k := range out {
		r.carryOut(r.o, &out[k])
	}
	r.received = out[:0]
	return r.ran(r.o, err)
}

func (r sending) done(out []send.Effect, err error) error {
	for k := range out {
		switch e := &out[k]; e.Kind {
		case send.TellEffect:
			r.result(r.o, e.A, Evidence(e.Says))
		default:
			r.carryOut(r.o, &receive.Effect{
				Kind: asReceived[e.Kind], A: e.A, Event: e.Event, Was: e.Was, Action: e.Action, Before: e.Before, How: e.How, Why: e.Why, Who: e.Who,
			})
		}
	}
	r.sent = out[:0]
	return r.ran(r.o, err)
}

// asReceived are the effects that both sides have.
var asReceived = [...]receive.Kind{
	send.ClaimMovedEffect: receive.ClaimMovedEffect, send.LocalMovedEffect: receive.LocalMovedEffect, send.GateMovedEffect: receive.GateMovedEffect,
	send.EndedEffect: receive.EndedEffect, send.SessionFailedEffect: receive.SessionFailedEffect, send.InvalidatedEffect: receive.InvalidatedEffect,
	send.RepeatedEffect: receive.RepeatedEffect, send.IgnoredOneEffect: receive.IgnoredOneEffect, send.LaterCauseEffect: receive.LaterCauseEffect,
	send.GiveBackEffect: receive.GiveBackEffect,
}

// carryOut carries one effect of an owner's system out.
func (c *core) carryOut(o *owner, e *receive.Effect) {
	switch e.Kind {
	case receive.ClaimMovedEffect:
		c.claimMoved(o, e.A, e.Event, e.Was)
	case receive.LocalMovedEffect:
		c.claimMoved(o, o.size(), e.Event, e.Was)
	case receive.GateMovedEffect:
		c.gateMoved(o, e.Action, e.Before)
	case receive.EndedEffect:
		c.pieceEnded(o, e.How)
	case receive.SessionFailedEffect:
		c.sessionFailed(o, e.Why, e.Who)
	case receive.InvalidatedEffect:
		c.invalidated(o)
	case receive.RepeatedEffect:
		c.counters.Duplicates++
	case receive.IgnoredOneEffect:
		c.counters.Ignored++
	case receive.LaterCauseEffect:
		c.counters.LaterCauses++
	case receive.GiveBackEffect:
		c.giveBack(o)
	}
}

// ran brings the end of a session, which the call may have caused, to its other pieces.
func (c *core) ran(o *owner, err error) error {
	c.spread(o.session)
	if err != nil && err.(*fsm.CallError).Kind == fsm.Contradiction {
		c.counters.Conflicts++
	}
	return err
}

// refusal is what a caller hears of a call that a system refused.
func (c *core) refusal(err error, what, detail string) error {
	if err == nil {
		return nil
	}
	call := err.(*fsm.CallError)
	if call.Kind == fsm.Fatal {
		return c.fatalError(what)
	}
	return fail(Kind(call.Kind), what, call.Reason+detail)
}
