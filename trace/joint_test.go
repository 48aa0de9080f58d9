// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/trace"
)

// party is one of two registries that talk to each other by hand: what is carried
// between them, the test decides.
type party struct {
	rig
	ownership.Member
	claims map[uint64]ownership.ClaimName // by session
}

// pair is the owner of memory and the accessor who posts operations on it.
type pair struct {
	*testing.T
	owner, accessor *party
}

func newPair(t *testing.T) *pair {
	return &pair{t, newParty(t, "decode", 7), newParty(t, "prefill", 8)}
}

func newParty(t *testing.T, name string, life byte) *party {
	p := &party{Member: ownership.Member{Accessor: ownership.Accessor(name), Incarnation: ownership.Incarnation{life}}, claims: map[uint64]ownership.ClaimName{}}
	p.t = t
	var err error
	p.w, err = trace.NewWriter(&p.out, name, p.Incarnation, time.Unix(0, 0))
	p.ok(err)
	p.Registry, err = ownership.New(ownership.Config{
		Name: p.Accessor, Incarnation: p.Incarnation, Trace: p.w.Step, Quarantine: ownership.QuarantineOff,
		Contain: func(ownership.Containment) error { return nil },
	})
	p.ok(err)
	for id := range 8 {
		p.ok(p.AddRegion(ownership.RegionSpec{ID: fmt.Sprint(id), Len: 64, Addr: uint64(id+1) << 12}))
	}
	return p
}

// open roots a piece of session n, for the cohort, and seals it.
func (p *party) open(n uint64, side ownership.Side, count int, cohort ...ownership.Member) ownership.PieceName {
	p.t.Helper()
	name := ownership.PieceName{Session: session(n), Piece: "kv"}
	p.did(p.Admit(p.now(), ownership.SessionSpec{Name: name.Session, Side: side}))
	claims, _, err := p.AddPiece(p.now(), ownership.PieceSpec{Name: name, Region: fmt.Sprint(n), Cohort: cohort, Count: count})
	p.ok(err)
	p.claims[n] = claims[0]
	p.did(p.Seal(p.now(), name))
	return name
}

// publish shows the owner's memory to the accessor, and to others.
func (x *pair) publish(n uint64, count int, others ...ownership.Member) {
	x.Helper()
	o := x.owner
	name := o.open(n, ownership.Receive, count, append([]ownership.Member{x.accessor.Member}, others...)...)
	x.accessor.did(x.accessor.Requested(x.accessor.now(), name.Session, o.Member))
	o.did(o.Finish(o.now(), name))
	o.did(o.Complete(o.now(), name.Session))
}

// answer roots the accessor's side of session n, without a post.
func (x *pair) answer(n uint64) {
	x.Helper()
	to := x.owner.Member
	to.Sequence = x.owner.claims[n].Sequence
	name := x.accessor.open(n, ownership.Send, 0, to)
	x.accessor.did(x.accessor.Finish(x.accessor.now(), name))
	x.accessor.did(x.accessor.Complete(x.accessor.now(), name.Session))
}

// says tells the accessor what its backend answers.
func (x *pair) says(n uint64, list ...operation.Status) {
	x.Helper()
	for _, status := range list {
		x.accessor.did(x.accessor.Operation(x.accessor.now(), ownership.OperationReport{Claim: x.accessor.claims[n], Status: status}))
	}
}

func (x *pair) post(n uint64) {
	x.Helper()
	x.says(n, operation.StatusSubmitting, operation.StatusSubmitted)
}

// hear tells the owner evidence, whoever has said it.
func (x *pair) hear(n uint64, e ownership.Evidence) {
	_, _ = x.owner.Report(x.owner.now(), ownership.PeerReport{Claim: x.owner.claims[n], From: x.accessor.Accessor, Evidence: e})
}

// carry brings everything that waits to the other side.
func (x *pair) carry() {
	x.Helper()
	for _, m := range x.drop() {
		switch m := m.(type) {
		case *ownership.Result:
			x.hear(m.Claim.Piece.Session.Request.Number, m.Evidence)
		case *ownership.CancelSession:
			_, _, err := x.owner.Cancel(x.owner.now(), ownership.CancelSpec{Session: m.Name, Origin: ownership.FromPeer, From: x.accessor.Member, FromSide: ownership.Send})
			x.owner.ok(err)
		case *ownership.SessionQuiesced:
			_, _ = x.owner.Ack(x.owner.now(), m.Name, x.accessor.Member)
		}
	}
	for out, ok := x.owner.Peek(x.accessor.Accessor); ok; out, ok = x.owner.Peek(x.accessor.Accessor) {
		x.owner.Delivered(x.accessor.Accessor, out.Number)
		_, _, err := x.accessor.Cancel(x.accessor.now(), ownership.CancelSpec{Session: out.Message.Session(), Origin: ownership.FromPeer, From: x.owner.Member, FromSide: ownership.Receive})
		x.accessor.ok(err)
	}
}

// drop takes what waits at the accessor.
func (x *pair) drop() (list []ownership.Message) {
	for out, ok := x.accessor.Peek(x.owner.Accessor); ok; out, ok = x.accessor.Peek(x.owner.Accessor) {
		x.accessor.Delivered(x.owner.Accessor, out.Number)
		list = append(list, out.Message)
	}
	return list
}

func (p *party) close(n uint64) {
	p.t.Helper()
	p.did(p.Close(p.now(), session(n)))
}

// end ends both traces and returns their lines, the owner's first. Each must be right
// by itself.
func (x *pair) end() (owner, accessor []string) {
	x.Helper()
	for _, p := range []*party{x.owner, x.accessor} {
		x.owner.ok(p.w.Close(p.Counters()))
		if r := check(x, string(p.Accessor), p.out.Bytes()); r.Found() > 0 {
			x.Fatalf("the trace of %s alone: %+v", p.Accessor, r.Findings)
		}
	}
	split := func(p *party) []string { return strings.Split(strings.TrimSuffix(p.out.String(), "\n"), "\n") }
	return split(x.owner), split(x.accessor)
}

// together judges two traces.
func together(t testing.TB, owner, accessor []string) *trace.JointReport {
	t.Helper()
	j := trace.NewJoint()
	for i, lines := range [][]string{owner, accessor} {
		text := strings.NewReader(strings.Join(lines, "\n") + "\n")
		if _, err := trace.Check("", j.Add([]string{"owner", "accessor"}[i], trace.NewReader(text))); err != nil {
			t.Fatal(err)
		}
	}
	return j.Judge()
}

// good is what the two may have to do with each other: a success, a doubt with its late
// proof, a failure before a post, a cancel that is acknowledged, and one of a session in
// which the accessor has no part.
func (x *pair) good() {
	x.publish(1, 0)
	x.answer(1)
	x.post(1)
	x.says(1, operation.StatusDone)
	x.carry()
	x.publish(2, 0)
	x.answer(2)
	x.post(2)
	x.says(2, operation.StatusOverdue)
	x.carry()
	x.says(2, operation.StatusDone)
	x.carry()
	x.publish(3, 0)
	x.answer(3)
	x.says(3, operation.StatusSubmitting, operation.StatusNotSubmitted)
	x.carry()
	for _, n := range []uint64{4, 5} {
		x.publish(n, 0)
		if n == 4 {
			x.answer(n)
		}
		_, _, err := x.owner.Cancel(x.owner.now(), ownership.CancelSpec{Session: session(n), Origin: ownership.FromLocal})
		x.owner.ok(err)
		x.carry() // the cancel
		if n == 4 {
			x.says(n, operation.StatusNotSubmitted)
		}
		x.carry() // its answer
	}
	for _, n := range []uint64{1, 2, 3, 4} {
		x.owner.close(n)
		x.accessor.close(n)
	}
	x.owner.close(5)
}

func TestTheTwoSidesAgree(t *testing.T) {
	x := newPair(t)
	x.good()
	owner, accessor := x.end()
	r := together(t, owner, accessor)
	if r.Found() > 0 || r.Unknown > 0 || len(r.NotJudged) > 0 || r.Pairs != 1 || r.Operations != 4 || r.Messages < 6 {
		t.Errorf("%+v", r)
	}
}

// A late proof may come by the backend's notification before its message, and before
// what was sent earlier about others.
func TestANotificationMayBeFaster(t *testing.T) {
	x := newPair(t)
	for _, n := range []uint64{1, 2} {
		x.publish(n, 0)
		x.answer(n)
		x.post(n)
	}
	x.says(1, operation.StatusOverdue)
	x.carry()
	x.says(2, operation.StatusDone)
	x.says(1, operation.StatusDone)
	x.hear(1, ownership.FailedQuiesced)
	x.carry()
	// It is also enough for a release of which the accessor knows before its own end.
	x.publish(3, 0)
	x.answer(3)
	x.post(3)
	x.says(3, operation.StatusOverdue)
	x.carry()
	x.hear(3, ownership.FailedQuiesced)
	x.owner.close(3)
	x.publish(4, 0)
	x.says(3, operation.StatusDone)
	owner, accessor := x.end()
	if r := together(t, owner, accessor); r.Found() > 0 || r.Messages != 6 || r.Notified != 1 {
		t.Errorf("%+v", r)
	}
}

// TestLiesAreFound lets something happen between the two that no trace shows by itself.
func TestLiesAreFound(t *testing.T) {
	third := ownership.Member{Accessor: "other", Incarnation: ownership.Incarnation{9}}
	for _, c := range []struct {
		name, rule, what string
		do               func(*pair)
	}{
		{"an OK that nobody said", "sent", "OK of prefill", func(x *pair) {
			x.publish(1, 0)
			x.answer(1)
			x.post(1)
			x.hear(1, ownership.OK)
			x.says(1, operation.StatusError)
		}},
		{"a failure is heard as OK", "sent", "OK of prefill", func(x *pair) {
			x.publish(1, 0)
			x.answer(1)
			x.says(1, operation.StatusNotSubmitted)
			x.drop()
			x.hear(1, ownership.OK)
		}},
		{"an OK of who has no part", "sent", "OK of prefill", func(x *pair) {
			x.publish(1, 0)
			x.hear(1, ownership.OK)
		}},
		{"an acknowledgement that nobody gave", "sent", "SESSION_QUIESCED of prefill", func(x *pair) {
			x.publish(1, 0)
			x.answer(1)
			x.post(1)
			_, _, err := x.owner.Cancel(x.owner.now(), ownership.CancelSpec{Session: session(1), Origin: ownership.FromLocal})
			x.owner.ok(err)
			x.owner.did(x.owner.Ack(x.owner.now(), session(1), x.accessor.Member))
			x.owner.close(1)
		}},
		{"reports in another order", "I13", "or after what was queued later", func(x *pair) {
			for _, n := range []uint64{1, 2} {
				x.publish(n, 0)
				x.answer(n)
				x.post(n)
				x.says(n, operation.StatusDone)
			}
			x.drop()
			x.hear(2, ownership.OK)
			x.hear(1, ownership.OK)
		}},
		{"a report twice", "I13", "is heard again", func(x *pair) {
			x.publish(1, 0)
			x.answer(1)
			x.post(1)
			x.says(1, operation.StatusDone)
			x.carry()
			x.hear(1, ownership.OK)
		}},
		{"a late proof once too often", "I13", "is heard again", func(x *pair) {
			x.publish(1, 0)
			x.answer(1)
			x.post(1)
			x.says(1, operation.StatusOverdue, operation.StatusDone)
			x.carry()
			x.hear(1, ownership.FailedQuiesced) // this may be the notification
			x.hear(1, ownership.FailedQuiesced)
		}},
		{"a late proof of what was never posted", "sent", "FAILED_QUIESCED of prefill", func(x *pair) {
			x.publish(1, 0)
			x.answer(1)
			x.says(1, operation.StatusSubmitting, operation.StatusNotSubmitted)
			x.drop()
			x.hear(1, ownership.FailedQuiesced)
		}},
		{"released in flight", "I1", "had not ended when the memory was released", func(x *pair) {
			x.publish(1, 0)
			x.answer(1)
			x.post(1)
			x.hear(1, ownership.OK)
			x.owner.close(1)
			x.publish(2, 0) // by this message the accessor comes after the release
			x.says(1, operation.StatusDone)
		}},
		{"released in flight, told by a cancel", "I1", "had not ended when the memory was released", func(x *pair) {
			x.publish(1, 0)
			x.publish(2, 0)
			x.answer(1)
			x.post(1)
			x.answer(2)
			x.hear(1, ownership.OK)
			x.owner.close(1)
			_, _, err := x.owner.Cancel(x.owner.now(), ownership.CancelSpec{Session: session(2), Origin: ownership.FromLocal})
			x.owner.ok(err)
			x.carry()
			x.says(1, operation.StatusDone)
		}},
		{"posted after the release", "I1", "is posted after the memory was released", func(x *pair) {
			x.publish(1, 0)
			x.answer(1)
			x.hear(1, ownership.OK)
			x.owner.close(1)
			x.publish(2, 0)
			x.post(1)
			x.says(1, operation.StatusDone)
		}},
		{"posted after a fence", "I1", "is posted after the memory was released", func(x *pair) {
			x.publish(1, 0)
			x.answer(1)
			x.owner.did(x.owner.Fence(x.owner.now(), ownership.FenceSpec{Accessor: x.accessor.Accessor, Incarnation: x.accessor.Incarnation, Scope: ownership.All}))
			x.owner.close(1)
			name := x.owner.open(2, ownership.Receive, 0, third)
			x.accessor.did(x.accessor.Requested(x.accessor.now(), name.Session, x.owner.Member))
			x.post(1)
			x.says(1, operation.StatusDone)
		}},
		{"an answer to what never left", "published", "whose address never left", func(x *pair) {
			name := x.owner.open(1, ownership.Receive, 0, x.accessor.Member)
			x.owner.did(x.owner.FailSend(x.owner.now(), name, nil))
			x.answer(1)
		}},
		{"an answer to what is not there", "published", "answers a claim that is not there", func(x *pair) {
			x.publish(1, 0)
			c := x.owner.claims[1]
			c.Sequence += 100
			x.owner.claims[1] = c
			x.answer(1)
		}},
		{"a post of one that was not selected", "published", "took the claim for one that nobody uses", func(x *pair) {
			x.publish(1, 1, third)
			c := x.owner.claims[1]
			c.Accessor, c.Incarnation, c.Sequence = third.Accessor, third.Incarnation, c.Sequence+1
			x.owner.did(x.owner.Report(x.owner.now(), ownership.PeerReport{Claim: c, From: third.Accessor, Evidence: ownership.OK}))
			x.answer(1)
			x.post(1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newPair(t)
			c.do(x)
			owner, accessor := x.end()
			r := together(t, owner, accessor)
			if r.Found() == 0 {
				t.Fatal("not found")
			}
			if f := r.Findings[0]; f.Rule != c.rule || !strings.Contains(f.What, c.what) || f.Line == 0 || f.Spec == "" {
				t.Errorf("found %+v", f)
			}
		})
	}
}

// TestDamageOfOneSideIsFound damages one trace of a good pair, in each line that the
// other one knows of: numbers are given anew, so that only the two together show it.
func TestDamageOfOneSideIsFound(t *testing.T) {
	x := newPair(t)
	x.good()
	owner, accessor := x.end()
	tried := map[string]int{}
	found := func(what string, line int, owner, accessor []string, rules ...string) {
		t.Helper()
		tried[what]++
		r := together(t, owner, accessor)
		if r.Found() == 0 || !strings.Contains(strings.Join(rules, " "), r.Findings[0].Rule) {
			t.Errorf("%s, line %d: %+v", what, line+1, r.Findings)
		}
	}
	for i, l := range accessor {
		switch {
		case strings.Contains(l, `"effect":"queued"`) && !strings.Contains(l, `"CANCEL_SESSION"`) && !strings.Contains(l, `"FAILED_QUIESCED"`) && !strings.Contains(l, session(5).String()):
			found("a message was never queued", i, owner, renumbered(t, without(accessor, i)), "sent")
			found("a message was for another life", i, owner, replaced(accessor, i, x.owner.Incarnation.String(), ownership.Incarnation{77}.String()), "sent")
		case strings.Contains(l, `"step":"add_pieces"`):
			found("it answers another claim", i, owner, replaced(accessor, i, `"sequence":`, `"sequence":9`), "published sent")
		case strings.Contains(l, `"status":"done"`) && strings.Contains(l, session(1).String()):
			found("an OK without a DONE", i, owner, replaced(accessor, i, `"done"`, `"in_progress"`), "I4")
		}
	}
	for i, l := range owner {
		switch {
		case strings.Contains(l, `"step":"report"`):
			for _, e := range []string{"ok", "failed", "in_doubt", "failed_quiesced"} {
				if e == "failed_quiesced" && !strings.Contains(l, session(3).String()) {
					continue // a notification may have brought it, of an operation that was posted
				}
				if with := fmt.Sprintf(`"evidence":%q`, e); !strings.Contains(l, with) {
					old := l[strings.Index(l, `"evidence":`):strings.Index(l, `,"sender"`)]
					found("another report", i, replaced(owner, i, old, with), accessor, "sent I13")
				}
			}
			if !strings.Contains(l, "failed_quiesced") {
				found("a report is doubled", i, again(owner, i, i), accessor, "I13")
			}
		case strings.Contains(l, `"effect":"claim"`) && strings.Contains(l, `"publish"`) && !strings.Contains(l, session(5).String()):
			found("a claim was never published", i, renumbered(t, without(owner, i)), accessor, "published")
		}
	}
	t.Log(tried)
	if len(tried) != 7 {
		t.Errorf("%d ways were tried", len(tried))
	}
}

// TestACutTraceIsNoLie cuts either trace after each line: what is missing is unknown.
func TestACutTraceIsNoLie(t *testing.T) {
	x := newPair(t)
	x.good()
	owner, accessor := x.end()
	unknown := 0
	for n := 1; n < len(owner); n++ {
		r := together(t, owner[:n], accessor)
		unknown += r.Unknown
		if r.Found() > 0 {
			t.Errorf("the owner's after %d lines: %+v", n, r.Findings)
		}
	}
	for n := 1; n < len(accessor); n++ {
		r := together(t, owner, accessor[:n])
		unknown += r.Unknown
		if r.Found() > 0 {
			t.Errorf("the accessor's after %d lines: %+v", n, r.Findings)
		}
	}
	if unknown == 0 {
		t.Error("nothing was ever unknown")
	}
	// What is missing in the middle is a lie all the same, as what came later is there.
	i := at(t, accessor, 1, `"effect":"queued"`, `"OK"`)
	if r := together(t, owner, renumbered(t, without(accessor, i))[:len(accessor)-2]); r.Found() == 0 || r.Findings[0].Rule != "sent" {
		t.Errorf("missing in the middle: %+v", r.Findings)
	}
}

// TestWhatIsNotCompared says so.
func TestWhatIsNotCompared(t *testing.T) {
	x := newPair(t)
	x.good()
	owner, accessor := x.end()
	if r := together(t, owner, owner); len(r.NotJudged) != 1 || !strings.Contains(r.NotJudged[0], "of the same life") {
		t.Errorf("one trace twice: %+v", r)
	}
	lost := again(accessor, len(accessor)-1, len(accessor)-1)
	lost[len(lost)-2] = `{"step":"lost","at_ns":0,"lost":3}`
	if r := together(t, owner, lost); len(r.NotJudged) != 1 || r.Found() > 0 {
		t.Errorf("steps were lost: %+v", r)
	}
	stranger := newPair(t)
	stranger.publish(1, 0)
	other, _ := stranger.end()
	for i := range other {
		other[i] = strings.ReplaceAll(other[i], x.owner.Incarnation.String(), ownership.Incarnation{55}.String())
	}
	if r := together(t, owner, other); r.Pairs != 0 || len(r.NotJudged) != 1 {
		t.Errorf("strangers: %+v", r)
	}
	var cut bytes.Buffer
	cut.WriteString(strings.Join(accessor[:5], "\n") + "\n" + accessor[5][:9])
	j := trace.NewJoint()
	if r, err := trace.Check("", j.Add("cut", trace.NewReader(&cut))); err != nil || r.Truncated != 6 || j.Judge().Found() > 0 {
		t.Errorf("a line without its end: %v, %v", r, err)
	}
}
