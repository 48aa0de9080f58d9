// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package interpret_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
)

// TestOwnershipAgrees: on random walks, the registry and the systems of the contract
// give the same answers, the same states and the same messages.
func TestOwnershipAgrees(t *testing.T) {
	for _, side := range []ownership.Side{ownership.Receive, ownership.Send} {
		t.Run(side.String(), func(t *testing.T) {
			walks := 1500
			if testing.Short() || underRace {
				walks = 300
			}
			seen := map[string]int{}
			for seed := range walks {
				w := newPair(t, side, rand.New(rand.NewPCG(uint64(seed), 7)))
				for range 40 {
					w.advance()
					if seed%2 == 0 && w.rng.IntN(10) > 0 {
						w.goOn()
					} else {
						w.step()
					}
					if t.Failed() {
						t.Fatalf("seed %d: %s", seed, strings.Join(w.log, "; "))
					}
				}
				w.count(seen)
			}
			t.Log(seen)
			for _, what := range []string{"SUCCEEDED", "FAILED", "CANCELLED", "invalid", "released", "local DRAINED", "IN_DOUBT", "FAILED_QUIESCED", "fatal", "timeout"} {
				if seen[what] == 0 {
					t.Errorf("no walk comes to %s", what)
				}
			}
		})
	}
}

// count notes what a walk came to.
func (w *pair) count(seen map[string]int) {
	seen[w.get(w.session, "outcome", 0)]++
	if w.fatal {
		seen["fatal"]++
	}
	if w.get(w.session, "cause", 0) == "TIMEOUT" {
		seen["timeout"]++
	}
	for _, p := range w.pieces {
		for _, what := range []string{"invalid", "released"} {
			if w.get(p, what, 0) == "true" {
				seen[what]++
			}
		}
		seen["local "+w.get(p, "local", 0)]++
		for a := range w.accessors {
			seen[w.get(p, "claims", a)]++
		}
	}
}

// step makes one random call on both sides and compares.
func (w *pair) step() {
	i, a := w.rng.IntN(len(w.pieces)), w.rng.IntN(len(w.accessors))
	switch w.rng.IntN(20) {
	case 0, 1, 2:
		w.seal(i)
	case 3:
		w.same(w.both("finish", i))
	case 4:
		w.failSend(i)
	case 5:
		if w.rng.IntN(3) == 0 {
			w.cancel(a)
		}
	case 6:
		if w.rng.IntN(3) == 0 {
			w.failSession()
		}
	case 7:
		if w.rng.IntN(3) == 0 {
			w.same(w.both("fail", i))
		}
	case 8, 9:
		w.complete()
	case 10:
		if w.rng.IntN(4) == 0 {
			w.fence(a)
		}
	case 11:
		if w.rng.IntN(4) == 0 {
			w.gone(a)
		}
	case 12:
		w.local(i)
	case 13:
		w.close()
	case 14:
		if w.side == ownership.Receive {
			w.acknowledge(a)
		} else {
			w.request(a)
		}
	case 15:
		w.left(a)
	case 16:
		if w.rng.IntN(10) == 0 {
			w.outsider(i)
		}
	default:
		w.evidence(i, a)
	}
	w.compare()
}

// goOn makes a call that a caller makes in the ordinary course: random calls alone
// hardly ever come to a success.
func (w *pair) goOn() {
	i, a := w.rng.IntN(len(w.pieces)), w.rng.IntN(len(w.accessors))
	gate, claim, local := w.get(w.pieces[i], "gate", 0), w.get(w.pieces[i], "claims", a), w.get(w.pieces[i], "local", 0)
	send := w.side == ownership.Send
	settled, err := w.session.Holds("settled")
	w.must(err)
	switch {
	case w.closed:
		return
	case w.hasLocal[i] && local == "UNPUBLISHED" && (send || gate == "SEALED") && w.rng.IntN(2) == 0:
		w.localEvent(i, ownership.LocalStart)
	case w.hasLocal[i] && (local == "PUBLISHED" || local == "IN_DOUBT") && w.rng.IntN(2) == 0:
		w.localEvent(i, ownership.LocalDone)
	case gate == "OPEN":
		w.seal(i)
	case gate == "PUBLISHING" && w.rng.IntN(3) == 0:
		w.same(w.both("finish", i))
	case send && (claim == "PUBLISHED" || claim == "IN_DOUBT"):
		next := map[string]operation.Status{"IDLE": operation.StatusSubmitting, "SUBMITTING": operation.StatusSubmitted}[w.get(w.pieces[i], "phases", a)]
		if next == 0 || claim == "IN_DOUBT" {
			next = operation.StatusDone
		}
		w.operate(i, a, next)
	case claim == "PUBLISHED" && w.get(w.session, "outcome", 0) != "ACTIVE" && w.rng.IntN(2) == 0:
		w.acknowledge(a)
	case claim == "PUBLISHED":
		w.hear(i, a, "OK")
	case claim == "IN_DOUBT":
		w.hear(i, a, "FAILED_QUIESCED")
	case settled && w.rng.IntN(3) == 0:
		w.close()
	case w.rng.IntN(4) == 0:
		w.complete()
	}
	w.compare()
}

func (w *pair) evidence(i, a int) {
	if w.side == ownership.Receive {
		w.hear(i, a, []string{"OK", "OK", "OK", "FAILED", "IN_DOUBT", "FAILED_QUIESCED"}[w.rng.IntN(6)])
		return
	}
	all := operation.AllStatuses()
	status := all[w.rng.IntN(len(all))]
	if w.rng.IntN(2) == 0 {
		status = []operation.Status{operation.StatusSubmitting, operation.StatusSubmitted, operation.StatusDone}[w.rng.IntN(3)]
	}
	w.operate(i, a, status)
}

func (w *pair) hear(i, a int, says string) {
	w.note("hear", i, a, says)
	_, err := w.reg.Report(w.now, ownership.PeerReport{Claim: w.claims[i][a], From: w.accessors[a].Accessor, Evidence: evidenceOf[says]})
	kind := "stale"
	if !w.goneNow[a] {
		kind = w.piece(i, "hear", replica(a), says)
	}
	w.same(kind, err)
}

func (w *pair) operate(i, a int, status operation.Status) {
	w.note("operate", i, a, status)
	_, err := w.reg.Operation(w.now, ownership.OperationReport{Claim: w.claims[i][a], Status: status})
	w.same(w.piece(i, "operate", replica(a), status.String(), w.fatalArg()), err)
}

func (w *pair) outsider(i int) {
	name := w.claims[i][0]
	name.Accessor = "stranger"
	w.note("outsider", i)
	if w.side == ownership.Receive {
		_, err := w.reg.Report(w.now, ownership.PeerReport{Claim: name, From: "stranger", Evidence: ownership.OK})
		w.same(w.piece(i, "outsider"), err)
		return
	}
	status := []operation.Status{operation.StatusSubmitting, operation.StatusDone}[w.rng.IntN(2)]
	_, err := w.reg.Operation(w.now, ownership.OperationReport{Claim: name, Status: status})
	w.same(w.piece(i, "outsider", status.String(), w.fatalArg()), err)
}

func (w *pair) seal(i int) {
	w.note("seal", i)
	closed := w.get(w.session, "outcome", 0) != "ACTIVE" || w.get(w.session, "complete", 0) == "true"
	_, err := w.reg.Seal(w.now, w.names[i])
	kind := w.piece(i, "seal", w.fatalArg(), fmt.Sprint(closed))
	if kind == "" {
		w.call(w.session, "publish", replica(i))
	}
	w.same(kind, err)
}

func (w *pair) failSend(i int) {
	var published []ownership.Accessor
	var in []string
	for a := range w.accessors {
		if w.rng.IntN(2) == 0 {
			published, in = append(published, w.accessors[a].Accessor), append(in, replica(a))
		}
	}
	w.note("fail_send", i, in)
	_, err := w.reg.FailSend(w.now, w.names[i], published)
	w.same(w.piece(i, "fail_send", "{"+strings.Join(in, ",")+"}"), err)
}

// both makes a call that has the same form on both sides.
func (w *pair) both(action string, i int) (kind string, err error) {
	w.note(action, i)
	if action == "finish" {
		_, err = w.reg.Finish(w.now, w.names[i])
	} else {
		_, err = w.reg.FailPiece(w.now, w.names[i], "reason")
	}
	return w.piece(i, action), err
}

func (w *pair) local(i int) {
	w.localEvent(i, []ownership.LocalEvent{ownership.LocalStart, ownership.LocalStart, ownership.LocalDone, ownership.LocalDoubt}[w.rng.IntN(4)])
}

func (w *pair) localEvent(i int, event ownership.LocalEvent) {
	name := w.claims[i][0]
	name.Accessor = ownership.Local
	if w.hasLocal[i] {
		name = w.claims[i][len(w.accessors)]
	}
	w.note("local", i, event)
	_, err := w.reg.Local(w.now, name, event)
	switch event {
	case ownership.LocalStart:
		w.same(w.piece(i, "local_start", w.fatalArg()), err)
	case ownership.LocalDone:
		w.same(w.piece(i, "local_done"), err)
	default:
		w.same(w.piece(i, "local_doubt"), err)
	}
}

func (w *pair) complete() {
	w.note("complete")
	_, err := w.reg.Complete(w.now, w.sessionName)
	w.same(w.call(w.session, "finish_adding").Refused, err)
}

func (w *pair) close() {
	w.note("close")
	_, err := w.reg.Close(w.now, w.sessionName)
	ans := w.call(w.session, "close", w.fatalArg())
	if ans.Refused == "" && !w.closed {
		w.closed = true
		for i := range w.pieces {
			if kind := w.piece(i, "release", w.fatalArg()); kind != "" {
				w.t.Errorf("release: %s", kind)
			}
		}
	}
	w.same(ans.Refused, err)
}

func (w *pair) cancel(a int) {
	if w.rng.IntN(2) == 0 {
		w.note("cancel")
		_, _, err := w.reg.Cancel(w.now, ownership.CancelSpec{Session: w.sessionName})
		if !w.closed {
			w.sessionCall("cancel", "LOCAL")
		}
		w.same("", err)
		return
	}
	if w.closed {
		return // answered by the table answer
	}
	w.note("cancel from", a)
	_, _, err := w.reg.Cancel(w.now, ownership.CancelSpec{Session: w.sessionName, Origin: ownership.FromPeer, From: w.accessors[a]})
	w.call(w.members[a], "cancel")
	w.sessionCall("cancel", "PEER")
	w.same("", err)
}

func (w *pair) failSession() {
	w.note("fail session")
	_, err := w.reg.Fail(w.now, w.sessionName, "reason")
	w.same(w.sessionCall("fail", "1", "REASON", "LOCAL", "false"), err)
}

func (w *pair) request(a int) {
	if w.closed {
		return
	}
	w.note("request", a)
	_, err := w.reg.Requested(w.now, w.sessionName, w.accessors[a])
	w.same(w.call(w.members[a], "request").Refused, err)
}

func (w *pair) left(a int) {
	w.note("left", a)
	if len(w.queues[a]) == 0 {
		return
	}
	if w.queues[a][0] == "SESSION_QUIESCED" {
		w.call(w.members[a], "left")
	}
	w.queues[a] = w.queues[a][1:]
	out, _ := w.reg.Peek(w.accessors[a].Accessor)
	w.reg.Delivered(w.accessors[a].Accessor, out.Number)
}

func (w *pair) fence(a int) {
	w.note("fence", a)
	_, err := w.reg.Fence(w.now, ownership.FenceSpec{Accessor: w.accessors[a].Accessor, Scope: ownership.All})
	if !w.closed {
		w.call(w.members[a], "fence")
		for i := range w.pieces {
			w.piece(i, "fence", replica(a))
		}
	}
	w.queues[a] = nil
	w.same("", err)
}

func (w *pair) gone(a int) {
	w.note("gone", a)
	_, err := w.reg.Gone(w.now, w.accessors[a].Accessor, w.accessors[a].Incarnation)
	w.goneNow[a] = true
	if !w.closed {
		for i := range w.pieces {
			w.piece(i, "gone", replica(a))
		}
	}
	w.same("", err)
}

func (w *pair) acknowledge(a int) {
	w.note("acknowledge", a)
	_, err := w.reg.Ack(w.now, w.sessionName, w.accessors[a])
	place := "ENDED"
	for i := range w.pieces {
		if w.get(w.pieces[i], "fenced", a) == "false" {
			place = "MEMBER"
		}
	}
	if w.goneNow[a] {
		w.same("stale", err)
		return
	}
	ans := w.call(w.session, "acknowledge", place)
	for _, e := range ans.Effects {
		if e == "offer_acked()" {
			for i := range w.pieces {
				if w.get(w.pieces[i], "fenced", a) == "false" {
					w.piece(i, "acknowledge", replica(a))
				}
			}
		}
	}
	w.same(ans.Refused, err)
}
