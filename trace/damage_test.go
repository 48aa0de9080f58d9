// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/trace"
)

// rig is a registry with a trace.
type rig struct {
	*ownership.Registry
	t   *testing.T
	out bytes.Buffer
	w   *trace.Writer
	at  time.Duration
}

var (
	self = ownership.Incarnation{1}
	one  = ownership.Member{Accessor: "one", Incarnation: ownership.Incarnation{2}}
	two  = ownership.Member{Accessor: "two", Incarnation: ownership.Incarnation{3}}
)

func newRig(t *testing.T) *rig {
	r := &rig{t: t}
	var err error
	if r.w, err = trace.NewWriter(&r.out, "self", self, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	r.Registry, err = ownership.New(ownership.Config{
		Name: "self", Incarnation: self, Trace: r.w.Step, Quarantine: ownership.QuarantineOff,
		Contain: func(ownership.Containment) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"A", "B", "C"} {
		r.ok(r.AddRegion(ownership.RegionSpec{ID: id, Len: 64, Addr: uint64(id[0]) << 12}))
	}
	return r
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// did fails the test where a call that must work does not.
func (r *rig) did(_ ownership.Effects, err error) {
	r.t.Helper()
	r.ok(err)
}

func (r *rig) now() time.Duration {
	r.at += time.Millisecond
	return r.at
}

func session(n uint64) ownership.SessionName {
	return ownership.SessionName{Request: ownership.RequestID{Endpoint: "self", Number: n}, Attempt: 1}
}

func (r *rig) piece(n uint64, side ownership.Side, region string, local bool, cohort ...ownership.Member) (ownership.PieceName, []ownership.ClaimName) {
	r.t.Helper()
	name := ownership.PieceName{Session: session(n), Piece: "kv"}
	r.did(r.Admit(r.now(), ownership.SessionSpec{Name: name.Session, Side: side}))
	claims, _, err := r.AddPiece(r.now(), ownership.PieceSpec{Name: name, Region: region, Cohort: cohort, Local: local})
	r.ok(err)
	return name, claims
}

func (r *rig) report(c ownership.ClaimName, e ownership.Evidence) {
	r.t.Helper()
	r.did(r.Report(r.now(), ownership.PeerReport{Claim: c, From: c.Accessor, Evidence: e}))
}

func (r *rig) deliver() {
	for _, to := range r.WaitingFor() {
		for out, ok := r.Peek(to); ok; out, ok = r.Peek(to) {
			r.Delivered(to, out.Number)
		}
	}
}

// goodTrace is a success with a scatter, a cancel with a doubt and its late proof, a
// send whose operation is doubted and settled, and an orderly end.
func goodTrace(t *testing.T) []string {
	r := newRig(t)
	name, claims := r.piece(1, ownership.Receive, "A", true, one, two)
	r.did(r.Seal(r.now(), name))
	r.did(r.Finish(r.now(), name))
	r.did(r.Complete(r.now(), name.Session))
	r.report(claims[0], ownership.OK)
	r.report(claims[1], ownership.OK)
	r.did(r.Local(r.now(), claims[2], ownership.LocalStart))
	r.did(r.Local(r.now(), claims[2], ownership.LocalDone))
	r.did(r.Close(r.now(), name.Session))

	name, claims = r.piece(2, ownership.Receive, "A", false, one, two)
	r.did(r.Seal(r.now(), name))
	r.did(r.Finish(r.now(), name))
	r.report(claims[0], ownership.InDoubt)
	_, _, err := r.Cancel(r.now(), ownership.CancelSpec{Session: name.Session})
	r.ok(err)
	if _, err := r.Close(r.now(), name.Session); err == nil {
		t.Fatal("closed in doubt")
	}
	r.deliver()
	r.report(claims[1], ownership.Failed)
	r.report(claims[0], ownership.FailedQuiesced)
	r.did(r.Close(r.now(), name.Session))

	name, claims = r.piece(3, ownership.Send, "B", false, ownership.Member{Accessor: "one", Incarnation: one.Incarnation, Sequence: 9})
	r.did(r.Seal(r.now(), name))
	r.did(r.Finish(r.now(), name))
	for _, s := range []operation.Status{operation.StatusSubmitting, operation.StatusSubmitted, operation.StatusOverdue, operation.StatusDone} {
		r.did(r.Operation(r.now(), ownership.OperationReport{Claim: claims[0], Status: s}))
	}
	r.deliver()
	r.did(r.Close(r.now(), name.Session))
	_, err = r.Report(r.now(), ownership.PeerReport{Claim: claims[0], From: "one", Evidence: ownership.OK})
	if ownership.KindOf(err) != ownership.KindStale {
		t.Fatal(err)
	}
	name, _ = r.piece(4, ownership.Receive, "A", false, one)
	r.did(r.Seal(r.now(), name))
	if _, err := r.Reuse(r.now(), "A"); err == nil {
		t.Fatal("reused while owned")
	}
	r.did(r.Reuse(r.now(), "B"))
	name, _ = r.piece(5, ownership.Receive, "B", false, one)
	_, _, err = r.Cancel(r.now(), ownership.CancelSpec{Session: name.Session})
	r.ok(err)
	r.ok(r.w.Close(r.Counters()))
	return strings.Split(strings.TrimSuffix(r.out.String(), "\n"), "\n")
}

func judged(t testing.TB, lines []string) *trace.Report {
	t.Helper()
	return check(t, "damaged", []byte(strings.Join(lines, "\n")+"\n"))
}

// at returns the index of the n-th line that has all the words.
func at(t *testing.T, lines []string, n int, words ...string) int {
	t.Helper()
	for i, l := range lines {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(l, w) }) {
			if n--; n == 0 {
				return i
			}
		}
	}
	t.Fatalf("no line %d with %q", n, words)
	return 0
}

// renumbered gives steps and effects their numbers again, so that a damage does not
// show by these.
func renumbered(t testing.TB, lines []string) []string {
	t.Helper()
	steps, effects := 0, 0
	out := slices.Clone(lines)
	for i, l := range lines {
		var r map[string]any
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			t.Fatal(err)
		}
		switch {
		case r["step"] != nil && r["step"] != "end":
			steps++
			r["seq"] = steps
		case r["effect"] != nil:
			effects++
			r["seq"] = effects
		default:
			continue
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(b)
	}
	return out
}

func without(lines []string, i int) []string { return slices.Delete(slices.Clone(lines), i, i+1) }

func replaced(lines []string, i int, old, with string) []string {
	out := slices.Clone(lines)
	out[i] = strings.Replace(out[i], old, with, 1)
	return out
}

func swapped(lines []string, i, j int) []string {
	out := slices.Clone(lines)
	out[i], out[j] = out[j], out[i]
	return out
}

// moved puts the lines from i to j before line to.
func moved(lines []string, i, j, to int) []string {
	part := slices.Clone(lines[i:j])
	return slices.Insert(slices.Delete(slices.Clone(lines), i, j), to, part...)
}

func again(lines []string, i, to int) []string {
	return slices.Insert(slices.Clone(lines), to, lines[i])
}

// TestDamageIsFound damages a good trace in each way, and says which rule finds it.
func TestDamageIsFound(t *testing.T) {
	good := goodTrace(t)
	if r := judged(t, good); r.Found() != 0 || !r.Ended {
		t.Fatalf("the good trace: %+v", r.Findings)
	}
	l := func(n int, words ...string) int { return at(t, good, n, words...) }
	const s1, s2, s3, s4, s5 = `"self/1@1"`, `"self/2@1"`, `"self/3@1"`, `"self/4@1"`, `"self/5@1"`
	released := func(s string) int { return l(1, `"released"`, s) }
	end := len(good) - 1
	for _, d := range []struct {
		name  string
		lines []string
		rule  string // of the first finding
		raw   bool   // the numbers stay as they are
	}{
		{"an effect is missing", without(good, l(1, `"done_ok"`)), "step", true},
		{"a step is missing", without(good, l(1, `"step":"report"`)), "step", true},
		{"two effects are exchanged", swapped(good, l(1, `"gate"`), l(1, `"publish"`)), "trace", true},
		{"an effect without its number", without(good, l(1, `"done_ok"`)), "step", false},
		{"a report without its line", without(good, l(2, `"step":"report"`)), "step", false},
		{"a state is another one", replaced(good, l(1, `"done_ok"`), "DRAINED", "FAILED_QUIESCED"), "claim", false},
		{"a state stays live", replaced(good, l(1, `"done_ok"`), "DRAINED", "IN_DOUBT"), "claim", false},
		{"from another state", replaced(good, l(1, `"done_ok"`), "PUBLISHED", "UNPUBLISHED"), "claim", false},
		{"a proof is none", replaced(good, l(1, `"settle"`), `"settle"`, `"withdraw"`), "I6", false},
		{"a doubt ends a claim", replaced(replaced(good, l(1, `"done_ok"`), "done_ok", "doubt"), l(1, `"done_ok"`), "DRAINED", "DRAINED"), "I6", false},
		{"an early release", moved(good, released(s2), released(s2)+2, l(1, `"from":"IN_DOUBT"`)), "I1", false},
		{"a release while PUBLISHING", slices.Insert(slices.Clone(good), end, replaced(good, released(s1), s1, s4)[released(s1)]), "I1", false},
		{"a second release", again(good, released(s1), end), "I8", false},
		{"a release without a piece", replaced(good, released(s1), `"piece":"kv"`, `"piece":"other"`), "I16", false},
		{"an outcome changes", replaced(again(good, l(1, `"session_ended"`, s2), end), end, "FAILED", "SUCCEEDED"), "I16", false},
		{"an outcome is another one", replaced(good, l(1, `"piece_ended"`, s2), "FAILED", "SUCCEEDED"), "I4", false},
		{"a cause is another one", replaced(good, l(1, `"session_ended"`, s2), `"doubt"`, `"cancel"`), "step", false},
		{"success before proof", moved(good, l(1, `"piece_ended"`, s1), l(1, `"piece_ended"`, s1)+1, l(2, `"done_ok"`)), "I4", false},
		{"a failure is a success", replaced(good, l(1, `"session_ended"`, s2), `"FAILED","cause":"doubt","origin":"peer"`, `"SUCCEEDED"`), "I4", false},
		{"published after cancel", replaced(good, l(1, `"withdraw"`, s5), `"withdraw","from":"UNPUBLISHED","to":"SAFE_UNPUBLISHED"`, `"publish","from":"UNPUBLISHED","to":"PUBLISHED"`), "I2", false},
		{"the gate opens again", replaced(good, l(1, `"gate"`, `"SEALED"`), `"to":"SEALED"`, `"to":"OPEN"`), "gate", false},
		{"reused while owned", replaced(good, l(1, `"step":"reuse"`, `"A"`), `,"answer":"refused"`, ""), "I12", false},
		{"a region with two owners", replaced(good, l(3, `"add_pieces"`), `"region":"B"`, `"region":"A"`), "trace", false},
		{"owned twice", replaced(good, l(5, `"add_pieces"`), `"region":"B"`, `"region":"A"`), "I12", false},
		{"stale evidence is taken", replaced(good, l(1, `"step":"report"`, `"stale"`), `,"answer":"stale"`, ""), "I11", false},
		{"evidence is refused", replaced(good, l(1, `"step":"report"`, `"ok"`), `"sender":"one"`, `"sender":"one","answer":"conflict"`), "step", false},
		{"another report", replaced(good, l(1, `"step":"report"`, `"ok"`), `"evidence":"ok"`, `"evidence":"failed"`), "step", false},
		{"another status", replaced(good, l(1, `"status":"overdue"`), "overdue", "in_progress"), "step", false},
		{"closed in doubt", replaced(good, l(1, `"step":"close"`, `"refused"`), `,"answer":"refused"`, ""), "step", false},
		{"reports in another order", swapped(good, l(1, `"step":"delivered"`, `"accessor":"one"`), l(2, `"step":"delivered"`, `"accessor":"one"`)), "I13", false},
		{"a report of a delivery that was none", replaced(good, l(1, `"step":"delivered"`), `"number":1`, `"number":77`), "I13", false},
		{"a report says something else", replaced(good, l(1, `"queued"`, `"IN_DOUBT"`), "IN_DOUBT", "OK"), "step", false},
		{"messages are numbered anew", replaced(good, l(2, `"queued"`), `"number":2`, `"number":1`), "I13", false},
		{"counters do not add up", replaced(good, end, `"released":3`, `"released":2`), "I17", true},
		{"counters are others", replaced(good, end, `"admitted":5,"released":3`, `"admitted":6,"released":4`), "I17", true},
	} {
		t.Run(d.name, func(t *testing.T) {
			if slices.Equal(d.lines, good) {
				t.Fatal("the damage is none")
			}
			if !d.raw {
				d.lines = renumbered(t, d.lines)
			}
			r := judged(t, d.lines)
			if r.Found() == 0 {
				t.Fatal("not found")
			}
			if f := r.Findings[0]; f.Rule != d.rule {
				t.Errorf("found by %s in line %d: %s (%s)", f.Rule, f.Line, f.What, f.Spec)
			}
		})
	}
}

// TestNoEffectCanBeLeftOut drops each effect of each scenario's trace, and gives the
// rest new numbers: the steps alone say what had to be there.
func TestNoEffectCanBeLeftOut(t *testing.T) {
	tried := 0
	for _, path := range sample(t) {
		lines := strings.Split(strings.TrimSpace(string(traced(t, path))), "\n")
		for i, l := range lines {
			if !strings.HasPrefix(l, `{"effect"`) || unpredicted(l) {
				continue
			}
			tried++
			if r := judged(t, renumbered(t, without(lines, i))); r.Found() == 0 {
				t.Errorf("%s: nobody misses line %d: %s", filepath.Base(path), i+1, l)
			}
		}
	}
	t.Logf("%d effects", tried)
}

// TestNoLineCanBeLeftOut drops each line but the last: the numbers show it.
func TestNoLineCanBeLeftOut(t *testing.T) {
	good := goodTrace(t)
	for i := 1; i < len(good)-1; i++ {
		if r := judged(t, without(good, i)); r.Found() == 0 {
			t.Errorf("nobody misses line %d: %s", i+1, good[i])
		}
	}
}

// unpredicted are the effects whose being there follows from more than a trace has.
func unpredicted(l string) bool {
	return strings.Contains(l, `"taken_back"`) || strings.Contains(l, `"admission"`) ||
		strings.Contains(l, `"CANCEL_SESSION"`) || strings.Contains(l, `"SESSION_QUIESCED"`)
}

// sample is each twelfth scenario.
func sample(t testing.TB) (list []string) {
	for i, path := range corpus(t) {
		if i%12 == 0 {
			list = append(list, path)
		}
	}
	return list
}

// TestClockDamageIsFound damages the trace of a registry whose request expires and whose
// grace is over: deadlines that have no effect, or another time, and what comes after FATAL.
func TestClockDamageIsFound(t *testing.T) {
	r := newRig(t)
	name, claims := r.piece(1, ownership.Receive, "A", false, one, two)
	r.did(r.Seal(r.now(), name))
	r.did(r.Finish(r.now(), name))
	other, more := r.piece(2, ownership.Receive, "B", false, one)
	r.did(r.Seal(r.now(), other))
	r.did(r.Finish(r.now(), other))
	r.report(more[0], ownership.Failed)
	r.at += ownership.DefaultRequestTimeout
	r.report(claims[0], ownership.Failed)
	r.at += ownership.DefaultGrace
	r.report(claims[1], ownership.Failed)
	if _, err := r.Close(r.now(), other.Session); ownership.KindOf(err) != ownership.KindFatal {
		t.Fatal(err)
	}
	r.ok(r.w.Close(r.Counters()))
	good := strings.Split(strings.TrimSuffix(r.out.String(), "\n"), "\n")
	if found := judged(t, good); found.Found() != 0 {
		t.Fatalf("the good trace: %+v", found.Findings)
	}
	expiry, fatal := at(t, good, 1, `"step":"deadline"`), at(t, good, 2, `"step":"deadline"`)
	last := len(good) - 1
	released := `{"effect":"released","at_ns":1,"session":"self/2@1","piece":"kv","region":"B"}`
	for _, d := range []struct {
		name  string
		lines []string
		rule  string
	}{
		{"no expiry", slices.Delete(slices.Clone(good), expiry, at(t, good, 2, `"step":"report"`)), "I10"},
		{"no FATAL", slices.Delete(slices.Clone(good), fatal, fatal+2), "I10"},
		{"FATAL at another time", replaced(good, fatal+1, `"deadline_ns":9`, `"deadline_ns":8`), "step"},
		{"another cause", replaced(good, at(t, good, 1, `"timeout"`), `"cause":"timeout"`, `"cause":"failed"`), "step"},
		{"released after FATAL", slices.Insert(slices.Clone(good), last, released), "I9"},
		{"closed after FATAL", replaced(good, at(t, good, 1, `"step":"close"`), `,"answer":"fatal"`, ""), "step"},
		{"FATAL is left", replaced(good, at(t, good, 1, `"admission"`, `"FATAL"`), `"from":"OPEN","to":"FATAL"`, `"from":"FATAL","to":"OPEN"`), "trace"},
	} {
		t.Run(d.name, func(t *testing.T) {
			if slices.Equal(d.lines, good) {
				t.Fatal("the damage is none")
			}
			found := judged(t, renumbered(t, d.lines))
			if found.Found() == 0 {
				t.Fatal("not found")
			}
			if f := found.Findings[0]; f.Rule != d.rule {
				t.Errorf("found by %s in line %d: %s (%s)", f.Rule, f.Line, f.What, f.Spec)
			}
		})
	}
}
