// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"encoding"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/verdict"
)

// claimMatrix is the table of contract §2, cell by cell.
const claimMatrix = `
| state \ event | publish | withdraw | unexposed | done_ok | done_failed | doubt | settle | acked | fence |
| UNPUBLISHED | PUBLISHED | SAFE_UNPUBLISHED | SAFE_UNPUBLISHED | conflict | conflict | conflict | conflict | ignore | SAFE_UNPUBLISHED |
| SAFE_UNPUBLISHED | reject | duplicate | duplicate | conflict | conflict | conflict | conflict | ignore | duplicate |
| PUBLISHED | duplicate | reject | SAFE_UNPUBLISHED | DRAINED | DRAINED | IN_DOUBT | conflict | FAILED_QUIESCED | FAILED_QUIESCED |
| IN_DOUBT | reject | reject | conflict | conflict | ignore | duplicate | FAILED_QUIESCED | ignore | FAILED_QUIESCED |
| FAILED_QUIESCED | reject | reject | conflict | conflict | ignore | ignore | duplicate | duplicate | duplicate |
| DRAINED | reject | reject | conflict | duplicate | duplicate | IN_DOUBT | conflict | ignore | ignore |
`

// verdictMatrix: contract §2, "done_ok: NONE to OK, OK duplicate, FAILED conflict", and its mirror.
const verdictMatrix = `
| | done_ok | done_failed |
| NONE | OK | FAILED |
| OK | duplicate | conflict |
| FAILED | conflict | duplicate |
`

// outcomeMatrix: contract §4, "First wins; later causes are counted" (I3).
const outcomeMatrix = `
| | succeed | fail | cancel |
| ACTIVE | SUCCEEDED | FAILED | CANCELLED |
| SUCCEEDED | ignore | ignore | ignore |
| FAILED | ignore | ignore | ignore |
| CANCELLED | ignore | ignore | ignore |
`

// gateMatrix: contract §4, "seal needs OPEN, finish and fail_send need PUBLISHING;
// anything else is reject"; a cancel after the seal leaves the gate alone.
const gateMatrix = `
| | seal | finish | fail_send | cancel |
| OPEN | PUBLISHING | reject | reject | ABORTED |
| PUBLISHING | reject | SEALED | SEALED | ignore |
| SEALED | reject | reject | reject | ignore |
| ABORTED | reject | reject | reject | duplicate |
`

// value is what states and events of every generated machine are.
type value interface {
	comparable
	fmt.Stringer
	encoding.TextMarshaler
	IsValid() bool
}

// machine is one generated package, for tests that treat all alike.
type machine[S, E value] struct {
	name    string
	states  []S
	events  []E
	next    func(S, E) (S, fsm.Result)
	refusal func(S, E) error
	offer   func(S, E) (S, fsm.Result) // through the atomic form
}

func TestClaim(t *testing.T) {
	m := machine[claim.State, claim.Event]{"claim", claim.AllStates(), claim.AllEvents(), claim.Next, claim.Refusal,
		func(s claim.State, e claim.Event) (claim.State, fsm.Result) {
			a, err := claim.Restore(s)
			if err != nil {
				t.Fatal(err)
			}
			n, r := a.Offer(e)
			if a.State() != n {
				t.Errorf("machine is in %v, offer said %v", a.State(), n)
			}
			return n, r
		}}
	m.check(t, claimMatrix)
}

func TestVerdict(t *testing.T) {
	m := machine[verdict.State, verdict.Event]{"verdict", verdict.AllStates(), verdict.AllEvents(), verdict.Next, verdict.Refusal,
		func(s verdict.State, e verdict.Event) (verdict.State, fsm.Result) {
			a, err := verdict.Restore(s)
			if err != nil {
				t.Fatal(err)
			}
			return a.Offer(e)
		}}
	m.check(t, verdictMatrix)
}

func TestOutcome(t *testing.T) {
	m := machine[outcome.State, outcome.Event]{"outcome", outcome.AllStates(), outcome.AllEvents(), outcome.Next, outcome.Refusal,
		func(s outcome.State, e outcome.Event) (outcome.State, fsm.Result) {
			a, err := outcome.Restore(s)
			if err != nil {
				t.Fatal(err)
			}
			return a.Offer(e)
		}}
	m.check(t, outcomeMatrix)
}

func TestGate(t *testing.T) {
	m := machine[gate.State, gate.Event]{"gate", gate.AllStates(), gate.AllEvents(), gate.Next, gate.Refusal,
		func(s gate.State, e gate.Event) (gate.State, fsm.Result) {
			a, err := gate.Restore(s)
			if err != nil {
				t.Fatal(err)
			}
			return a.Offer(e)
		}}
	m.check(t, gateMatrix)
}

// check compares every cell with the transcribed matrix, in both forms.
func (m machine[S, E]) check(t *testing.T, matrix string) {
	t.Helper()
	want := parseMatrix(t, matrix)
	if len(want) != len(m.states)*len(m.events) {
		t.Errorf("%s has %d cells, the contract %d", m.name, len(m.states)*len(m.events), len(want))
	}
	for _, s := range m.states {
		for _, e := range m.events {
			next, res := m.next(s, e)
			got := map[fsm.Result]string{fsm.Moved: next.String(), fsm.Duplicate: "duplicate",
				fsm.Ignored: "ignore", fsm.Rejected: "reject", fsm.Conflict: "conflict"}[res]
			if w := want[s.String()+" "+e.String()]; got != w {
				t.Errorf("%s: %v %v gives %q, the contract says %q", m.name, s, e, got, w)
			}
			if (res == fsm.Moved) != (next != s) {
				t.Errorf("%s: %v %v: %v but state %v", m.name, s, e, res, next)
			}
			if n, r := m.offer(s, e); n != next || r != res {
				t.Errorf("%s: %v %v: Machine gives %v %v, Next %v %v", m.name, s, e, n, r, next, res)
			}
			m.checkRefusal(t, s, e, res)
		}
	}
}

func (m machine[S, E]) checkRefusal(t *testing.T, s S, e E, res fsm.Result) {
	t.Helper()
	err := m.refusal(s, e)
	if !res.Refused() {
		if err != nil {
			t.Errorf("%s: %v %v is %v but has the error %v", m.name, s, e, res, err)
		}
		return
	}
	var re *fsm.RefusedError
	if !errors.As(err, &re) || re.Machine != m.name || re.State != s.String() || re.Event != e.String() || re.Result != res {
		t.Errorf("%s: %v %v: wrong refusal %v", m.name, s, e, err)
		return
	}
	if re.Reason == "" {
		t.Errorf("%s: %v %v: a refusal without a reason", m.name, s, e)
	}
	if again := m.refusal(s, e); again != err {
		t.Errorf("%s: %v %v: refusal is not static", m.name, s, e)
	}
	if errors.Is(err, fsm.ErrRejected) != (res == fsm.Rejected) || errors.Is(err, fsm.ErrConflict) != (res == fsm.Conflict) || !errors.Is(err, fsm.ErrRefused) {
		t.Errorf("%s: %v %v: %v matches the wrong sentinels", m.name, s, e, err)
	}
}

// parseMatrix turns a Markdown table into "STATE event" to cell.
func parseMatrix(t *testing.T, matrix string) map[string]string {
	t.Helper()
	var rows [][]string
	for line := range strings.Lines(matrix) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	out := map[string]string{}
	for _, row := range rows[1:] {
		if len(row) != len(rows[0]) {
			t.Fatalf("row %v has %d cells, want %d", row, len(row), len(rows[0]))
		}
		for j := 1; j < len(row); j++ {
			out[row[0]+" "+rows[0][j]] = row[j]
		}
	}
	return out
}

// TestOutOfRange: all 65,536 pairs are answered; those that are not in the spec
// are rejected and leave the state as it was.
func TestOutOfRange(t *testing.T) {
	for s := range 256 {
		for e := range 256 {
			st, ev := claim.State(s), claim.Event(e)
			next, res := claim.Next(st, ev)
			if st.IsValid() && ev.IsValid() {
				continue
			}
			if next != st || res != fsm.Rejected {
				t.Fatalf("Next(%v, %v) = %v, %v", st, ev, next, res)
			}
			if err := claim.Refusal(st, ev); !errors.Is(err, fsm.ErrRejected) {
				t.Fatalf("Refusal(%v, %v) = %v", st, ev, err)
			}
		}
	}
}

// TestSets: contract §2, "Reusable" and "Live"; and the zero Machine is new.
func TestSets(t *testing.T) {
	for s := range 256 {
		st := claim.State(s)
		reusable := st == claim.SafeUnpublished || st == claim.FailedQuiesced || st == claim.Drained
		live := st == claim.Published || st == claim.InDoubt
		if st.Reusable() != reusable || st.Live() != live {
			t.Errorf("%v: Reusable %v, Live %v", st, st.Reusable(), st.Live())
		}
	}
	var m claim.Machine
	if m.State() != claim.Unpublished || claim.Initial != claim.Unpublished {
		t.Errorf("the zero Machine is in %v", m.State())
	}
	if _, err := claim.Restore(0); err == nil {
		t.Error("Restore(0) gave a machine")
	}
}

// TestText: names go through text and back; nothing else does.
func TestText(t *testing.T) {
	for _, s := range claim.AllStates() {
		text, err := s.MarshalText()
		var back claim.State
		if err != nil || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%v came back as %v (%v)", s, back, err)
		}
	}
	for _, bad := range []string{"", "drained", "Drained", "DRAINED ", "State(0)"} {
		s := claim.InDoubt
		if err := s.UnmarshalText([]byte(bad)); err == nil || s != claim.InDoubt {
			t.Errorf("%q became %v (%v)", bad, s, err)
		}
	}
	for _, n := range []claim.State{0, 7, 255} {
		if text, err := n.MarshalText(); err == nil {
			t.Errorf("%v became %q", n, text)
		}
	}
}

// TestNoAllocation: a step, a shared step and a refusal allocate nothing.
func TestNoAllocation(t *testing.T) {
	var m claim.Machine
	var sink error
	if n := testing.AllocsPerRun(100, func() {
		s, _ := claim.Next(claim.Unpublished, claim.Publish)
		m.Offer(claim.Publish)
		sink = claim.Refusal(s, claim.Settle)
	}); n != 0 || sink == nil {
		t.Errorf("%v allocations, refusal %v", n, sink)
	}
}
