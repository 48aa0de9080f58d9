// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"strconv"
	"strings"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/proptest/model"
)

// tellSession tells a step that is about one session. It returns how the step must
// end, and whether it could be told.
func (t *teller) tellSession(s *ownership.Step) (want string, told bool) {
	n := modelName(s.Session)
	known := t.script.requests[n.Request]
	switch s.Call {
	case ownership.CallAdmit:
		t.script.requests[n.Request] = true
		t.script.step("session: {id: %s, side: %v}", sessionText(n), s.Side)
		return t.model.Admit(s.At, n, s.Side.String()), true
	case ownership.CallAddPieces:
		return t.add(s)
	case ownership.CallSeal, ownership.CallFinish, ownership.CallFailSend, ownership.CallFailPiece:
		return t.pieces(s)
	case ownership.CallOperation, ownership.CallReport, ownership.CallLocal:
		return t.evidence(s)
	case ownership.CallAck:
		m := lifeOf(s.From)
		if t.acknowledger(n, m.Accessor) != m.Life {
			t.name(m)
		}
		t.odd = t.odd || !known
		t.script.step("ack: {session: %s, from: %s}", sessionText(n), m.Accessor)
		return t.model.Ack(s.At, n, m), true
	case ownership.CallRequested:
		t.name(lifeOf(s.From))
		t.script.step("request: {session: %s, from: %s}", sessionText(n), s.From.Accessor)
		return t.model.Requested(s.At, n, lifeOf(s.From)), true
	case ownership.CallCancel:
		return t.cancelled(s, n)
	case ownership.CallFail, ownership.CallComplete, ownership.CallClose:
		if !known {
			return "", false
		}
	}
	switch s.Call {
	case ownership.CallFail:
		t.script.step("fail: {session: %s, reason: %q}", sessionText(n), string(s.Reason))
		return t.model.Fail(s.At, n, string(s.Reason)), true
	case ownership.CallComplete:
		t.script.step("complete: %s", sessionText(n))
		return t.model.Complete(s.At, n), true
	case ownership.CallClose:
		t.script.step("close: %s", sessionText(n))
		return t.model.Close(s.At, n), true
	}
	return "", false
}

// add tells pieces one by one, which a file has no other way for. Refused together
// they leave nothing, and are not told.
func (t *teller) add(s *ownership.Step) (string, bool) {
	if s.Err != nil && len(s.Added) > 1 {
		t.script.comment("%d pieces of %v: %v", len(s.Added), s.Added[0].Name.Session, s.Err)
		return kindOf(s.Err), true
	}
	if !t.script.requests[modelName(s.Added[0].Name.Session).Request] {
		return "", false
	}
	want := ""
	for i := range s.Added {
		p := &s.Added[i]
		spec := model.PieceSpec{Name: modelPiece(p.Name), Region: regionText(p.Region), Count: p.Count, Local: p.Local}
		if p.Access != 0 {
			spec.Access = p.Access.String()
		}
		for _, m := range p.Cohort {
			t.name(lifeOf(m))
			spec.Cohort = append(spec.Cohort, lifeOf(m))
		}
		if i > 0 {
			t.script.end(want)
		}
		t.model.AddRegion(spec.Region) // which changes nothing where it is known
		t.script.piece(spec)
		if want = t.model.AddPiece(s.At, spec); want == "" {
			t.claims[spec.Name] = s
		}
	}
	return want, true
}

// acknowledger is the life that an accessor's newest claim of a session names.
func (t *teller) acknowledger(n model.Name, accessor string) int {
	life := 0
	for p, s := range t.claims {
		if p.Session != n {
			continue
		}
		for i := range s.Added {
			for _, m := range s.Added[i].Cohort {
				if string(m.Accessor) == accessor {
					life = max(life, lifeOf(m).Life)
				}
			}
		}
	}
	return life
}

func (t *teller) pieces(s *ownership.Step) (string, bool) {
	var list []model.PieceName
	for _, p := range s.Pieces {
		n := modelPiece(p)
		if !t.script.pieces[n.Piece] {
			return "", false
		}
		list = append(list, n)
	}
	switch s.Call {
	case ownership.CallSeal:
		t.script.step("seal: %s", pieceTexts(list))
		return t.model.Seal(s.At, list...), true
	case ownership.CallFinish:
		t.script.step("sent: %s", pieceTexts(list))
		return t.model.Finish(s.At, list...), true
	case ownership.CallFailPiece:
		t.script.step("fail: {piece: %s, reason: %q}", pieceText(list[0]), string(s.Reason))
		return t.model.FailPiece(s.At, list[0], string(s.Reason)), true
	}
	published := make([]string, len(s.Published))
	for i, a := range s.Published {
		published[i] = string(a)
	}
	t.script.step("send_failed: {piece: %s, published: [%s]}", pieceText(list[0]), strings.Join(published, ", "))
	return t.model.FailSend(s.At, list[0], published), true
}

func (t *teller) evidence(s *ownership.Step) (string, bool) {
	n := modelPiece(s.Claim.Piece)
	at, current := t.find(s.Claim)
	if at < 0 || s.Call == ownership.CallReport && s.From.Accessor != s.Claim.Accessor {
		return "", false
	}
	m := lifeOf(ownership.Member{Accessor: s.Claim.Accessor, Incarnation: s.Claim.Incarnation})
	claim := model.ClaimName{Piece: n, Of: m, Old: !current}
	switch {
	case s.Call == ownership.CallReport:
		stale := ""
		if !current {
			stale = ", as: stale"
		}
		t.script.step("report: {piece: %s, from: %s, evidence: %v%s}", pieceText(n), m.Accessor, s.Evidence, stale)
		return t.model.Report(s.At, claim, m.Accessor, s.Evidence.String()), true
	case !current:
		return "", false
	case s.Call == ownership.CallLocal:
		t.script.step("local: {piece: %s, event: %v}", pieceText(n), s.Local)
		return t.model.Local(s.At, n, s.Local.String()), true
	}
	t.script.step("operation: {piece: %s, to: %s, status: %v}", pieceText(n), m.Accessor, s.Status)
	return t.model.Operation(s.At, claim, s.Status.String()), true
}

func (t *teller) cancelled(s *ownership.Step, n model.Name) (string, bool) {
	origin, suffix, from := "local", "", model.Member{}
	if s.Origin == ownership.FromPeer {
		origin = "peer"
		if owned := t.model.Find(n); owned == nil && s.Side == ownership.Send {
			// Only a receiver is answered: nobody is.
		} else if from = lifeOf(s.From); from.Accessor != "" {
			t.name(from)
			suffix = ", from: " + from.Accessor
		}
	}
	if n.Attempt > 0 {
		suffix = ", attempt: " + strconv.Itoa(n.Attempt) + suffix
	}
	t.script.step("cancel: {session: %s%d, by: %s%s}", n.Request.Endpoint, n.Request.Number, origin, suffix)
	_, want := t.model.Cancel(s.At, n, origin, from)
	return want, true
}

// tear tells the model alone: a file has no step for it, and needs none.
func (t *teller) tear(s *ownership.Step) string {
	t.script.comment("%v %s", s.Call, s.Region)
	id := regionText(s.Region)
	t.model.AddRegion(id)
	if s.Call == ownership.CallDeregister {
		return t.model.Deregister(s.At, id)
	}
	return t.model.RemoveRegion(s.At, id)
}

// tellOther tells a step that is about no session.
func (t *teller) tellOther(s *ownership.Step) (want string, told bool) {
	a := string(s.From.Accessor)
	switch s.Call {
	case ownership.CallTick, ownership.CallAddRegion:
		return "", true // told with the time, and with the region's first piece
	case ownership.CallDeregister, ownership.CallRemoveRegion:
		return t.tear(s), true
	case ownership.CallStop:
		t.script.step("stop: registry")
		return t.model.Stop(s.At), true
	case ownership.CallReopen:
		t.script.step("reopen: registry")
		return t.model.Reopen(s.At), true
	case ownership.CallReuse:
		id := regionText(s.Region)
		t.model.AddRegion(id)
		t.script.step("reuse: %s", id)
		return t.model.Reuse(s.At, id), true
	case ownership.CallWatermark:
		t.script.step("watermark: {below: %s%d}", s.Endpoint, s.Number)
		return t.model.Watermark(s.At, s.Endpoint, int(s.Number)), true
	case ownership.CallDelivered:
		t.script.step("deliver: {to: %s, result: ok}", a)
		if !t.model.Delivered(t.sent[s.Number]) {
			t.differ("a message left that the contract does not want: %+v", t.sent[s.Number])
		}
		return "", true
	case ownership.CallFence:
		m := lifeOf(s.From)
		if a != model.Local {
			m = t.end(m, true)
		}
		t.script.step("fence: {accessor: %s, scope: %v}", a, s.Scope)
		return t.model.Fence(s.At, m, s.Scope.String()), true
	case ownership.CallGone:
		m := t.end(lifeOf(s.From), false)
		t.script.step("gone: %s", a)
		return t.model.Gone(s.At, m), true
	}
	return "", false
}
