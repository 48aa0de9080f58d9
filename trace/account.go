// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"io"
	"slices"

	"github.com/kvxfer/kvxfer/gen/claim"
)

// account is what one trace says that another one can confirm or deny.
type account struct {
	joint    *Joint
	file     string
	endpoint string
	lives    []string // all of them, the oldest first
	imported bool
	ended    bool // it has its last line
	lost     bool
	broken   bool
	unnamed  bool   // it does not say which claims it answers
	current  string // step, whose effects follow

	claims     map[claimName]*published
	operations map[claimName]*posted // by the name of the other side's claim
	parts      map[part]bool
	sent       map[member][]*sent  // to whom
	heard      map[string][]*heard // in which of our lives
	edges      []edge
	sealed     map[string]int // session: the line of its first publication
	over       map[string]int // session: the line of its end

	owned map[string]*owned
}

func newAccount(j *Joint, file string) *account {
	return &account{
		joint: j, file: file, claims: map[claimName]*published{}, operations: map[claimName]*posted{}, parts: map[part]bool{},
		sent: map[member][]*sent{}, heard: map[string][]*heard{}, sealed: map[string]int{}, over: map[string]int{}, owned: map[string]*owned{},
	}
}

func (a *account) lived(life string) bool { return slices.Contains(a.lives, life) }

// life is the present one.
func (a *account) life() string { return a.lives[len(a.lives)-1] }

// read takes the end of the trace in.
func (a *account) read(err error) { a.broken = a.broken || err != io.EOF }

// take takes one record in. Check has seen that it is one of a trace, or ends at it.
func (a *account) take(r *Record, line int) {
	switch {
	case r.Header != nil:
		a.endpoint, a.imported = r.Header.Endpoint, r.Header.Imported
		a.lives = append(a.lives[:0], r.Header.Incarnation)
	case len(a.lives) == 0 || a.imported || a.lost:
	case r.Step != "":
		a.step(r, line)
	default:
		a.effect(r, line)
	}
}

func (a *account) step(r *Record, line int) {
	a.current = r.Step
	switch r.Step {
	case stepLost:
		a.lost = true
	case stepEnd:
		a.ended = true
	case "report":
		if r.Sender == r.Accessor { // anything else is no evidence
			a.hear(&heard{line: line, label: labels[r.Evidence], life: r.Incarnation, about: a.name(r, r.Piece, r.Accessor, r.Incarnation, r.Owner, r.Claim)})
		}
	case "ack":
		a.hear(&heard{line: line, label: "SESSION_QUIESCED", life: r.Incarnation, about: claimName{session: r.Session, accessor: r.Accessor}})
	}
	if r.Answer == "" {
		a.granted(r, line)
	}
}

// labels are the words of a queued result.
var labels = map[string]string{"ok": "OK", "failed": "FAILED", "in_doubt": "IN_DOUBT", "failed_quiesced": "FAILED_QUIESCED"}

// granted takes in a step that was not refused.
func (a *account) granted(r *Record, line int) {
	switch r.Step {
	case "admit":
		a.owned[r.Session] = &owned{r.Side, map[string]*roots{}}
	case "add_pieces":
		a.add(r, line)
	case "seal":
		first(a.sealed, a.joint.one(r.Session), line)
	case "operation":
		p := a.piece(r).theirs[r.Accessor]
		switch {
		case p == nil:
		case r.Status == "submitting" && p.granted == 0:
			p.granted = line
		case r.Status == "not_submitted":
			p.refused = line
		case r.Status == "done" && p.done == 0:
			p.done = line
		}
	case "requested":
		a.edges = append(a.edges, edge{line, member{r.Accessor, r.Incarnation}, "REQUEST_DATA", a.joint.one(r.Session)})
	case "cancel":
		if r.Accessor != "" && r.Side == "receive" {
			a.edges = append(a.edges, edge{line, member{r.Accessor, r.Incarnation}, "CANCEL_SESSION", a.joint.one(r.Session)})
		}
	case "reincarnate":
		a.lives = append(a.lives, r.Incarnation)
	}
}

func (a *account) hear(h *heard) { a.heard[a.life()] = append(a.heard[a.life()], h) }

func (a *account) name(r *Record, piece, accessor, incarnation, owner string, sequence uint64) claimName {
	one := a.joint.one
	return claimName{one(r.Session), one(piece), one(accessor), one(incarnation), one(owner), sequence}
}

// piece returns the claims of the piece of a record; none where it is not known.
func (a *account) piece(r *Record) roots {
	if s := a.owned[r.Session]; s != nil && s.pieces[r.Piece] != nil {
		return *s.pieces[r.Piece]
	}
	return roots{}
}

// add takes the pieces of an add_pieces in, each with its claims.
func (a *account) add(r *Record, line int) {
	s := a.owned[r.Session]
	if s == nil {
		return
	}
	sequence := r.First
	for i := range r.Pieces {
		spec := &r.Pieces[i]
		p := &roots{map[string]*published{}, map[string]*posted{}}
		s.pieces[spec.Name] = p
		for k, m := range spec.Cohort {
			switch {
			case s.side == "receive":
				c := &published{line: line}
				a.claims[a.name(r, spec.Name, m.Accessor, m.Incarnation, r.Owner, sequence+uint64(k))] = c
				p.ours[m.Accessor] = c
			case m.Sequence == 0:
				a.unnamed = true
			default: // it answers the other side's claim, and there we are the accessor
				o := &posted{line: line}
				a.operations[a.name(r, spec.Name, a.endpoint, r.Owner, m.Incarnation, m.Sequence)] = o
				a.parts[part{a.joint.one(r.Session), a.joint.one(m.Incarnation)}] = true
				p.theirs[m.Accessor] = o
			}
		}
		sequence += uint64(len(spec.Cohort))
		if spec.Local {
			sequence++
		}
	}
}

func (a *account) effect(r *Record, line int) {
	switch r.Effect {
	case effectClaim:
		a.moved(r, line)
	case effectReleased:
		for _, c := range a.piece(r).ours {
			c.released = line
		}
	case effectSession:
		first(a.over, a.joint.one(r.Session), line)
	case effectClosed:
		delete(a.owned, r.Session) // effects speak of it no more
	case effectQueued:
		to := member{r.Accessor, r.Incarnation}
		a.sent[to] = append(a.sent[to], &sent{line, r.Number, a.joint.one(r.Message), a.joint.one(r.Session), a.piece(r).theirs[r.Accessor]})
	case effectTakenBack:
		a.takeBack(member{r.Accessor, r.Incarnation}, r.Number)
	}
}

func (a *account) moved(r *Record, line int) {
	var to claim.State
	if to.UnmarshalText([]byte(r.To)) != nil {
		return // the check of the trace by itself says so
	}
	p := a.piece(r)
	if c := p.ours[r.Accessor]; c != nil {
		switch {
		case r.Event == claim.Fence.String():
			c.fenced = line
		case r.Event == claim.Settle.String():
			c.settled = line
		case to == claim.Published:
			c.shown = line
		case to == claim.SafeUnpublished:
			c.unexposed = line
			if a.current == "fail_send" {
				c.unsent = line
			}
		}
	}
	if o := p.theirs[r.Accessor]; o != nil {
		if o.ended == 0 && to.Reusable() { // a later dispute is another matter
			o.ended = line
		}
	}
}

func (a *account) takeBack(to member, number uint64) {
	list := a.sent[to]
	for i := len(list) - 1; i >= 0; i-- { // most often it is a late one
		if list[i].number == number {
			a.sent[to] = slices.Delete(list, i, i+1)
			return
		}
	}
}

func first(of map[string]int, name string, line int) {
	if of[name] == 0 {
		of[name] = line
	}
}
