// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
)

// refusal is a step that ends before the registry hears of it.
func refusal(k ownership.Kind, what, why string) error {
	return &ownership.Error{Kind: k, What: what, Why: why}
}

// act does what a step says and returns its error.
func (r *runner) act(a action) error {
	switch a := a.(type) {
	case sessionStep:
		return r.session(a)
	case pieceStep:
		return r.piece(a)
	case gateStep:
		return r.gate(a)
	case sendFailedStep:
		published := make([]ownership.Accessor, len(a.published))
		for i, p := range a.published {
			published[i] = ownership.Accessor(p)
		}
		return r.did(r.reg.FailSend(r.now, r.names.piece(a.piece), published))
	case cancelStep:
		return r.cancel(a)
	case failStep:
		return r.failed(a)
	case reportStep:
		return r.report(a)
	case ackStep:
		session := r.names.session(a.session)
		return r.did(r.reg.Ack(r.now, session, r.names.acknowledger(session, a.from)))
	case requestStep:
		return r.request(a)
	case operationStep:
		return r.did(r.reg.Operation(r.now, ownership.OperationReport{Claim: r.names.claim(a.piece, a.to), Status: a.status}))
	case localStep:
		return r.did(r.reg.Local(r.now, r.names.claim(a.piece, string(ownership.Local)), a.event))
	case completeStep:
		return r.did(r.reg.Complete(r.now, r.names.session(a.session)))
	case closeStep:
		return r.did(r.reg.Close(r.now, r.names.session(a.session)))
	}
	return r.actOutside(a)
}

// actOutside does the steps that belong to no session.
func (r *runner) actOutside(a action) error {
	switch a := a.(type) {
	case fenceStep:
		r.names.lives[a.accessor]++
		return r.did(r.reg.Fence(r.now, ownership.FenceSpec{Accessor: ownership.Accessor(a.accessor), Scope: a.scope}))
	case goneStep:
		r.names.lives[a.accessor]++
		return r.did(r.reg.Gone(r.now, ownership.Accessor(a.accessor), ownership.Incarnation{}))
	case advanceStep:
		return r.advance(a.by)
	case reuseStep:
		r.region(a.region)
		return r.did(r.reg.Reuse(r.now, a.region))
	case stopStep:
		return r.stop()
	case reopenStep:
		return r.did(r.reg.Reopen(r.now))
	case watermarkStep:
		id := requestOf(a.below)
		return r.did(r.reg.Watermark(r.now, id.Endpoint, id.Number))
	case deliverStep:
		return r.deliverStep(a)
	case callStep:
		return r.call(a)
	}
	return nil // expect, and expire: time forgets nothing that this registry holds
}

// did takes in what a call did.
func (r *runner) did(effects ownership.Effects, err error) error { return r.saw(effects, err, false) }

func (r *runner) session(a sessionStep) error {
	spec := ownership.SessionSpec{
		Name: ownership.SessionName{Request: requestOf(a.id.id), Attempt: attemptOf(a.attempt)}, Side: a.side,
		RequestTimeout: min(r.file.Config.RequestTimeout, 0), Grace: min(r.file.Config.Grace, 0),
	}
	err := r.did(r.reg.Admit(r.now, spec))
	if err == nil {
		r.names.admitted(a.id.id, spec.Name.Attempt)
	}
	return err
}

// region declares a region the first time that a file names it.
func (r *runner) region(id string) {
	if _, known := r.reg.Region(id); known {
		return
	}
	r.reg.AddRegion(ownership.RegionSpec{ID: id}) // cannot fail: it is not known
	if r.file.Config.RegisterFails {
		r.did(r.reg.Deregister(r.now, id)) // refused under FATAL, where every piece is too
	}
}

func (r *runner) piece(a pieceStep) error {
	r.region(a.region)
	session := r.names.session(a.session)
	spec := ownership.PieceSpec{
		Name: ownership.PieceName{Session: session, Piece: a.id}, Region: a.region, Count: a.count, Local: a.local, Access: a.access, Kind: a.kind,
	}
	sender := false
	if s, owned := r.reg.Session(session); owned {
		sender = s.Side == ownership.Send
	}
	for i, name := range a.cohort {
		m := r.names.member(name)
		if sender {
			m.Sequence = uint64(i + 1)
		}
		spec.Cohort = append(spec.Cohort, m)
	}
	claims, effects, err := r.reg.AddPiece(r.now, spec)
	if r.did(effects, err) == nil {
		r.names.added(a.id, a.session.id, claims)
	}
	return err
}

// gate is seal, sent, or both one after the other.
func (r *runner) gate(a gateStep) error {
	list := make([]ownership.PieceName, len(a.pieces))
	for i, p := range a.pieces {
		list[i] = r.names.piece(p)
	}
	kind := r.step.Step.Kind
	if kind != "sent" {
		if err := r.did(r.reg.Seal(r.now, list...)); err != nil {
			return err
		}
	}
	if kind == "seal" {
		return nil
	}
	return r.did(r.reg.Finish(r.now, list...))
}

func (r *runner) cancel(a cancelStep) error {
	what := "session " + a.session.String()
	switch {
	case a.given && attemptOf(a.attempt) == 0:
		return refusal(ownership.KindInvalid, what, "attempts count from 1")
	case a.from != "" && a.by != ownership.FromPeer:
		return refusal(ownership.KindInvalid, what, "only a peer's cancel has from")
	}
	spec := ownership.CancelSpec{
		Session: ownership.SessionName{Request: requestOf(a.session.id), Attempt: attemptOf(a.attempt)}, Origin: a.by,
	}
	if a.from != "" {
		spec.From = r.names.member(a.from)
	}
	result, effects, err := r.reg.Cancel(r.now, spec)
	if err == nil {
		r.cancelled = &result
	}
	return r.did(effects, err)
}

func (r *runner) failed(a failStep) error {
	session, piece := a.session.id != "", a.piece.id != ""
	switch {
	case session && piece:
		name := r.names.session(a.session)
		if _, owned := r.reg.Session(name); !owned {
			return r.did(r.reg.Fail(r.now, name, ownership.Cause(a.reason)))
		}
		return refusal(ownership.KindInvalid, "fail", "names a session and a piece")
	case session:
		return r.did(r.reg.Fail(r.now, r.names.session(a.session), ownership.Cause(a.reason)))
	case piece:
		return r.did(r.reg.FailPiece(r.now, r.names.piece(a.piece), ownership.Cause(a.reason)))
	}
	return refusal(ownership.KindInvalid, "fail", "names no session and no piece")
}

func (r *runner) report(a reportStep) error {
	claim := r.names.claim(a.piece, a.from)
	if a.stale {
		claim.Sequence = 0
	}
	if a.oldLife {
		claim.Owner = life("", 1)
	}
	return r.did(r.reg.Report(r.now, ownership.PeerReport{Claim: claim, From: claim.Accessor, Evidence: a.evidence}))
}

func (r *runner) request(a requestStep) error {
	name := ownership.SessionName{Request: requestOf(a.session.id), Attempt: attemptOf(a.session.attempt)}
	if !a.session.given {
		name.Attempt = max(1, r.names.sessions[a.session.id])
	}
	return r.did(r.reg.Requested(r.now, name, r.names.member(a.from)))
}

func (r *runner) advance(by time.Duration) error {
	if by < 0 || r.now+by < r.now {
		return refusal(ownership.KindInvalid, "advance", "time goes forward, and ends")
	}
	r.now += by
	effects, err := r.reg.Tick(r.now)
	return r.saw(effects, err, true)
}

// stop calls again once the messages that it queued itself have left: with
// transport auto they leave at once.
func (r *runner) stop() error {
	err := r.did(r.reg.Stop(r.now))
	if errors.Is(err, ownership.ErrRefused) && !r.file.Config.Manual && r.deliverAll() {
		return r.did(r.reg.Stop(r.now))
	}
	return err
}

func (r *runner) deliverStep(a deliverStep) error {
	if _, waits := r.reg.Peek(ownership.Accessor(a.to)); !waits {
		return refusal(ownership.KindReject, "outbox "+a.to, "nothing waits")
	}
	if a.ok {
		r.deliver(a.to)
	}
	return nil
}

func (r *runner) call(a callStep) error {
	key := a
	key.end = false
	if r.calls[key] != a.end {
		return refusal(ownership.KindReject, "call "+a.call, "is open twice, or not open")
	}
	r.calls[key] = !a.end
	return nil
}
