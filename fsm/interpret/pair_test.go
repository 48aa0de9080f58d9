// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package interpret_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/fsm/interpret"
	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/ownership"
)

// pair is a registry with one session, and the systems that describe the same.
type pair struct {
	t           *testing.T
	rng         *rand.Rand
	side        ownership.Side
	reg         *ownership.Registry
	accessors   []ownership.Member
	goneNow     []bool
	sessionName ownership.SessionName
	names       []ownership.PieceName
	hasLocal    []bool
	claims      [][]ownership.ClaimName
	closed      bool
	now         time.Duration

	clock     *interpret.State
	triggered bool
	fatal     bool

	session *interpret.State
	pieces  []*interpret.State
	settled []bool // as the session was told
	members []*interpret.State
	queues  [][]string
	counts  map[interpret.Effect]uint64
	log     []string
}

var evidenceOf = map[string]ownership.Evidence{
	"OK": ownership.OK, "FAILED": ownership.Failed, "IN_DOUBT": ownership.InDoubt, "FAILED_QUIESCED": ownership.FailedQuiesced,
}

var contract = sync.OnceValues(func() (*load.Set, error) {
	var list []*load.Source
	for _, dir := range []string{"../../spec"} {
		names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			data = bytes.Replace(data, []byte("horizon: 12"), []byte("horizon: 1000"), 1) // the checker's time is short
			list = append(list, load.NewSource(filepath.Base(name), data))
		}
	}
	return load.NewSet(list...)
})

func system(t *testing.T, name string) *load.System {
	t.Helper()
	set, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	return set.Lookup(name).(*load.System)
}

// limit is the request timeout and the grace, in seconds.
const limit = 6

// replica is how an argument names the member with this index.
func replica(i int) string { return strconv.Itoa(i + 1) }

func newPair(t *testing.T, side ownership.Side, rng *rand.Rand) *pair {
	t.Helper()
	w := &pair{t: t, counts: map[interpret.Effect]uint64{}, rng: rng, side: side, sessionName: ownership.SessionName{Request: ownership.RequestID{Endpoint: "origin", Number: 1}, Attempt: 1}}
	reg, err := ownership.New(ownership.Config{Name: "self", Incarnation: ownership.Incarnation{1}, RequestTimeout: limit * time.Second, Grace: limit * time.Second,
		Contain: func(ownership.Containment) error { return nil }})
	w.reg = reg
	w.must(err)
	_, err = reg.Admit(w.now, ownership.SessionSpec{Name: w.sessionName, Side: side})
	w.must(err)
	w.session = interpret.New(system(t, "session"), 2)
	w.clock = interpret.New(system(t, "retirement"), 1)
	w.must(w.clock.Set("timeout", 0, strconv.Itoa(limit)))
	w.must(w.clock.Set("grace", 0, strconv.Itoa(limit)))
	for a := range 1 + rng.IntN(3) {
		w.accessors = append(w.accessors, ownership.Member{Accessor: ownership.Accessor(fmt.Sprint("peer", a)), Incarnation: ownership.Incarnation{2, byte(a)}})
		w.goneNow = append(w.goneNow, false)
		m := interpret.New(system(t, "member"), 1)
		w.must(m.Set("side", 0, strings.ToUpper(side.String())))
		w.members, w.queues = append(w.members, m), append(w.queues, nil)
	}
	for i := range 1 + rng.IntN(2) {
		w.addPiece(i)
	}
	return w
}

func (w *pair) addPiece(i int) {
	region := fmt.Sprint("region", i)
	w.must(w.reg.AddRegion(ownership.RegionSpec{ID: region, Len: 1}))
	spec := ownership.PieceSpec{Name: ownership.PieceName{Session: w.sessionName, Piece: fmt.Sprint("piece", i)}, Region: region, Cohort: w.accessors, Local: w.rng.IntN(2) == 0}
	p := interpret.New(system(w.t, w.side.String()), len(w.accessors))
	w.must(p.Set("has_local", 0, fmt.Sprint(spec.Local)))
	if w.side == ownership.Receive {
		if w.rng.IntN(2) == 0 {
			spec.Count = 1 + w.rng.IntN(len(w.accessors))
		}
		need := spec.Count
		if need == 0 {
			need = len(w.accessors)
		}
		w.must(p.Set("need", 0, strconv.Itoa(need)))
	}
	claims, _, err := w.reg.AddPiece(w.now, spec)
	w.must(err)
	w.pieces, w.names, w.claims = append(w.pieces, p), append(w.names, spec.Name), append(w.claims, claims)
	w.hasLocal, w.settled = append(w.hasLocal, spec.Local), append(w.settled, false)
	w.call(w.session, "add", replica(i))
}

func (w *pair) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *pair) note(args ...any) { w.log = append(w.log, fmt.Sprint(args...)) }

func (w *pair) get(s *interpret.State, name string, rep int) string {
	w.t.Helper()
	v, err := s.Get(name, rep)
	w.must(err)
	return v
}

func (w *pair) call(s *interpret.State, action string, args ...string) interpret.Answer {
	w.t.Helper()
	ans, err := s.Call(action, args...)
	if err != nil {
		w.t.Errorf("%s: %v", action, err)
	}
	for _, e := range ans.Effects {
		w.counts[e]++
		w.triggered = w.triggered || e == "trigger_drain()"
		if strings.Contains(string(e), "_moved(") && strings.Contains(string(e), "publish,") {
			w.call(w.clock, "arm", w.at(w.now))
		}
	}
	return ans
}

// piece makes a call on piece i and carries its effects on; it returns the kind of
// the refusal.
func (w *pair) piece(i int, action string, args ...string) string {
	w.t.Helper()
	ans := w.call(w.pieces[i], action, args...)
	for _, e := range ans.Effects {
		name, list, _ := strings.Cut(strings.TrimSuffix(string(e), ")"), "(")
		arg := strings.Split(list, ",")
		switch {
		case name == "session_failed":
			upset := w.settled[i] && !w.isSettled(i)
			if upset {
				w.settled[i] = false
			}
			w.sessionCall("fail", replica(i), arg[0], arg[1], fmt.Sprint(upset))
		case name == "ended" && arg[0] == "SUCCEEDED":
			w.sessionCall("succeed_piece", replica(i))
		case name == "tell":
			a, _ := strconv.Atoi(arg[0])
			w.queues[a-1] = append(w.queues[a-1], arg[1])
		}
	}
	w.settle(i)
	return ans.Refused
}

// sessionCall makes a call on the session and brings its end to the pieces.
func (w *pair) sessionCall(action string, args ...string) string {
	w.t.Helper()
	ans := w.call(w.session, action, args...)
	for _, e := range ans.Effects {
		if how, ok := strings.CutPrefix(string(e), "end_pieces("); ok {
			for j := range w.pieces {
				w.piece(j, "end", strings.TrimSuffix(how, ")"))
			}
		}
	}
	return ans.Refused
}

func (w *pair) isSettled(i int) bool {
	yes, err := w.pieces[i].Holds("settled")
	w.must(err)
	return yes
}

// settle tells the session that a piece is settled now.
func (w *pair) settle(i int) {
	if now := w.isSettled(i); now != w.settled[i] {
		w.settled[i] = now
		if !now {
			w.t.Errorf("piece %d is unsettled without a failure", i)
		}
		w.call(w.session, "settle_piece", replica(i))
	}
}

// same compares the answers of one call, and then lets the members speak.
func (w *pair) same(kind string, err error) {
	w.t.Helper()
	got := ""
	if err != nil {
		got = ownership.KindOf(err).String()
	}
	w.note(" = ", got)
	if got != kind {
		w.t.Errorf("the registry answers %q, the systems %q: %v", got, kind, err)
	}
	w.flush(w.now)
}

// flush is what follows a step: the clock hears of it, and the members speak.
func (w *pair) flush(at time.Duration) {
	if w.closed {
		return
	}
	settled, err := w.session.Holds("settled")
	w.must(err)
	w.call(w.clock, "update", w.at(at), fmt.Sprint(w.get(w.session, "outcome", 0) != "ACTIVE"), fmt.Sprint(settled), fmt.Sprint(w.triggered))
	w.triggered = false
	w.tell()
}

// at is a time as the clock takes it, in seconds.
func (w *pair) at(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

func (w *pair) fatalArg() string { return fmt.Sprint(w.fatal) }

// advance lets time pass, and then both sides judge their deadlines.
func (w *pair) advance() {
	if w.rng.IntN(3) > 0 {
		return
	}
	w.now += time.Duration(w.rng.IntN(3)) * time.Second
	w.note("at ", w.now)
	_, err := w.reg.Tick(w.now)
	w.must(err)
	if w.closed {
		return
	}
	if ans := w.call(w.clock.Clone(), "expire", w.at(w.now), "false"); ans.Refused == "" {
		w.sessionCall("fail", "1", "TIMEOUT", "TIMEOUT", "false")
		settled, err := w.session.Holds("settled")
		w.must(err)
		w.call(w.clock, "expire", w.at(w.now), fmt.Sprint(settled))
		w.triggered = false
		w.tell()
	}
	if ans := w.call(w.clock, "exceed", w.at(w.now), w.fatalArg()); ans.Refused == "" {
		w.fatal = true
	}
	w.compare()
}

// tell is what follows for the messages after a step.
func (w *pair) tell() {
	stands := map[string]string{"ACTIVE": "ACTIVE", "FAILED": "FAILED", "CANCELLED": "FAILED", "SUCCEEDED": "SUCCEEDED"}[w.get(w.session, "outcome", 0)]
	settled, err := w.session.Holds("settled")
	w.must(err)
	for a := range w.members {
		var live, publishing, unfenced bool
		for _, p := range w.pieces {
			c := w.get(p, "claims", a)
			live = live || c == "PUBLISHED" || c == "IN_DOUBT"
			publishing = publishing || w.get(p, "gate", 0) == "PUBLISHING"
			unfenced = unfenced || w.get(p, "fenced", a) == "false"
		}
		ans := w.call(w.members[a], "tell", stands, fmt.Sprint(settled), fmt.Sprint(live), fmt.Sprint(publishing), fmt.Sprint(unfenced))
		for _, e := range ans.Effects {
			switch e {
			case "cancel_session()":
				w.queues[a] = append(w.queues[a], "CANCEL_SESSION")
			case "session_quiesced()":
				w.queues[a] = append(w.queues[a], "SESSION_QUIESCED")
			case "take_back()":
				w.queues[a] = without(w.queues[a], "SESSION_QUIESCED")
			}
		}
	}
}

func without(list []string, x string) []string {
	var out []string
	for _, v := range list {
		if v != x {
			out = append(out, v)
		}
	}
	return out
}

// compare compares everything that both sides show.
func (w *pair) compare() {
	w.t.Helper()
	for a, m := range w.accessors {
		var waits []string
		for _, out := range w.reg.Waiting(m.Accessor) {
			waits = append(waits, out.Message.Label())
		}
		w.equal("queue of "+string(m.Accessor), fmt.Sprint(waits), fmt.Sprint(w.queues[a]))
	}
	n := w.reg.Counters()
	w.equal("duplicates", fmt.Sprint(n.Duplicates), fmt.Sprint(w.counts["repeated()"]))
	w.equal("ignored", fmt.Sprint(n.Ignored), fmt.Sprint(w.counts["ignored_one()"]))
	w.equal("later causes", fmt.Sprint(n.LaterCauses), fmt.Sprint(w.counts["later_cause()"]))
	s, owned := w.reg.Session(w.sessionName)
	w.equal("closed", fmt.Sprint(!owned), w.get(w.session, "closed", 0))
	if !owned {
		return
	}
	w.equal("outcome", s.Outcome.String(), w.get(w.session, "outcome", 0))
	w.equal("cause", strings.ToUpper(string(s.Cause)), strings.TrimPrefix(w.get(w.session, "cause", 0), "NONE"))
	w.equal("origin", strings.ToUpper(s.Origin.String()), strings.Replace(w.get(w.session, "origin", 0), "NOBODY", "NONE", 1))
	w.equal("complete", fmt.Sprint(s.Complete), w.get(w.session, "complete", 0))
	settled, err := w.session.Holds("settled")
	w.must(err)
	w.equal("settled", fmt.Sprint(s.Settled), fmt.Sprint(settled))
	w.equal("fatal", fmt.Sprint(w.reg.Snapshot().Fatal), fmt.Sprint(w.fatal))
	w.equal("armed", fmt.Sprint(s.Armed), w.get(w.clock, "armed", 0))
	w.equal("draining", fmt.Sprint(s.Draining), w.get(w.clock, "draining", 0))
	if s.Armed {
		w.equal("expires", w.at(s.Expires), w.get(w.clock, "expires", 0))
	}
	if s.Draining {
		w.equal("drain start", w.at(s.DrainStart), w.get(w.clock, "start", 0))
	}
	for i, p := range s.Pieces {
		w.comparePiece(i, &p)
	}
}

func (w *pair) comparePiece(i int, p *ownership.PieceState) {
	w.t.Helper()
	m := w.pieces[i]
	w.equal("gate", p.Gate.String(), w.get(m, "gate", 0))
	w.equal("outcome of the piece", p.Outcome.String(), w.get(m, "outcome", 0))
	w.equal("invalid", fmt.Sprint(p.Invalid), w.get(m, "invalid", 0))
	w.equal("drained", fmt.Sprint(p.Drained), fmt.Sprint(w.isSettled(i) && !w.fatal))
	if p.Local != nil {
		w.equal("local", p.Local.State.String(), w.get(m, "local", 0))
	}
	for a, c := range p.Claims {
		w.equal("claim", c.State.String(), w.get(m, "claims", a))
		w.equal("verdict", c.Verdict.String(), w.get(m, "verdicts", a))
		w.equal("fenced", fmt.Sprint(c.Fenced), w.get(m, "fenced", a))
		if w.side == ownership.Send {
			w.equal("phase", c.Operation.String(), w.get(m, "phases", a))
		}
	}
}

func (w *pair) equal(what, registry, spec string) {
	w.t.Helper()
	if registry != spec {
		w.t.Errorf("%s: the registry has %s, the systems %s", what, registry, spec)
	}
}
