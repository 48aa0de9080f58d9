// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/gen/admission"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// cancel ends an attempt, whether it was admitted yet or not (contract §7).
func (c *core) cancel(spec CancelSpec) (CancelResult, error) {
	if err := spec.validate(); err != nil {
		return CancelResult{}, err
	}
	name := spec.Session
	r := c.knownRequest(name.Request)
	if name.Attempt == 0 {
		name.Attempt = max(1, r.newest())
	}
	buried, by := r.tombstone() != nil, spec.by()
	full := by != "" && c.buried[by] >= c.cfg.PeerTombstones
	known, a := r.known(name.Attempt), r.find(name.Attempt)
	unanswered := known != admission.KnownOwned && spec.answered(a) && c.outbox.noAnswer(name, spec.From)
	out, err := c.admits.Cancel(known, r.covers(name.Attempt), buried, c.passed(name.Request), full, unanswered, c.admitting[:0])
	switch {
	case err != nil:
		return CancelResult{}, c.refusal(err, name.what(), "")
	case askedFor(out, admission.CancelOwnedEffect):
		return c.cancelOwned(c.owned(name), &spec), nil
	case askedFor(out, admission.BuryEffect):
		return c.bury(name, &spec), nil
	}
	result := CancelResult{Session: name, Physical: PhysicalRetired}
	if a != nil {
		result.Outcome, result.Cause, result.Origin = a.outcome, a.why(), origins[a.origin]
	}
	c.answerCancel(name, &spec, a)
	return result, nil
}

func (spec *CancelSpec) validate() error {
	bad := func(why string) error { return fail(KindInvalid, spec.Session.what(), why) }
	switch {
	case spec.Session.Request.Endpoint == "":
		return bad("its request has no endpoint")
	case spec.Origin > FromPeer:
		return bad("a cancel has origin local or peer")
	case spec.From != (Member{}) && spec.Origin != FromPeer:
		return bad("only a peer's cancel comes from a peer")
	case spec.From != (Member{}) && (spec.From.Accessor == "" || spec.From.Accessor == Local):
		return bad("it comes from no accessor")
	case spec.Refused != "" && (spec.Origin == FromPeer || spec.Refused == Local):
		return bad("only a local cancel refuses, and only a peer")
	case spec.FromSide != 0 && !spec.FromSide.IsValid():
		return bad(spec.FromSide.String())
	}
	if spec.Origin == NoOrigin {
		spec.Origin = FromLocal
	}
	spec.From.Sequence = 0
	return nil
}

// by returns in whose share a tombstone is, empty for nobody's.
func (spec *CancelSpec) by() Accessor {
	if spec.Origin == FromPeer {
		return spec.From.Accessor
	}
	return spec.Refused
}

// fromReceiver reports whether the cancel is a receiver's, which is answered;
// side is that of the session it names, 0 where there is none.
func (spec *CancelSpec) fromReceiver(side Side) bool {
	if spec.FromSide != 0 {
		return spec.FromSide == Receive && side != Receive
	}
	return side != Receive
}

// answered reports whether the cancel of an attempt that is not owned is one that is
// answered; a is its record, nil if it was not admitted.
func (spec *CancelSpec) answered(a *attempt) bool {
	side := Side(0)
	if a != nil {
		side = a.side
	}
	return spec.From != (Member{}) && spec.fromReceiver(side)
}

func (c *core) cancelOwned(s *session, spec *CancelSpec) CancelResult {
	if spec.From != (Member{}) && s.side == Send && spec.fromReceiver(Send) {
		c.visit(s, spec.From).rules.Cancel(nil)
	}
	c.cancelSession(s, spec.Origin)
	return CancelResult{s.name(), s.outcome(), s.cause(), s.origin(), s.physical(c.fatal())}
}

// bury leaves a tombstone for an attempt newer than any admitted; it covers all
// later ones too, with the first origin.
func (c *core) bury(name SessionName, spec *CancelSpec) CancelResult {
	r := c.endpoint(name.Request.Endpoint).request(name.Request.Number)
	if r.tombstone() == nil {
		t := &tombstone{from: name.Attempt, origin: spec.Origin, by: spec.by()}
		if t.by != "" {
			c.buried[t.by]++
		}
		if string(spec.From.Accessor) == name.Request.Endpoint {
			t.life = spec.From.Incarnation
		}
		r.further().tombstone = t
	}
	t := r.tombstone()
	t.from = min(t.from, name.Attempt)
	for _, k := range c.kept.take(name.Request, func(k keptRequest) bool { return r.covers(k.session.Attempt) }) {
		c.answerRequest(k.session, k.from)
	}
	c.answerCancel(name, spec, nil)
	return CancelResult{name, outcome.Cancelled, CauseCancel, t.origin, PhysicalRetired}
}

// failSession ends a session on the caller's word.
func (c *core) failSession(name SessionName, reason Cause) error {
	s, err := c.ownedSession(name)
	if err != nil {
		return err
	}
	if reason == "" {
		return fail(KindInvalid, name.what(), "fails without a reason")
	}
	c.failNow(s, trigger.CauseReason, trigger.OriginLocal, reason)
	return nil
}

// failPiece ends a piece, and so its session, on the caller's word.
func (c *core) failPiece(name PieceName, reason Cause) error {
	o, err := c.ownedPiece(name)
	if err != nil {
		return err
	}
	if reason == "" {
		return fail(KindInvalid, name.what(), "fails without a reason")
	}
	c.reason = reason
	return c.refusal(c.failOwner(o), name.what(), "")
}

// complete says that no more pieces come (contract §5).
func (c *core) complete(name SessionName) error {
	s, err := c.ownedSession(name)
	if err != nil {
		return err
	}
	if err := c.deciding(s).done(s.rules.FinishAdding(c.decided[:0])); err != nil {
		return c.refusal(err, name.what(), "") // a name is put together for a refusal only
	}
	return nil
}
