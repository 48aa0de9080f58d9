// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package interpret_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/fsm/interpret"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// gateway is a registry with small tables, the system admission beside it, and the
// tables that the system leaves to its caller.
type gateway struct {
	t       *testing.T
	rng     *rand.Rand
	reg     *ownership.Registry
	spec    *interpret.State
	now     time.Duration
	used    map[ownership.SessionName]bool // closed
	newest  map[uint64]uint32              // attempt, by request
	tomb    map[uint64]uint32              // first attempt that a tombstone covers
	below   uint64                         // watermark
	known   map[ownership.Accessor]bool    // remembered by the quarantine
	subject ownership.SessionName
	log     []string
}

var guests = []ownership.Member{
	{Accessor: "peer0", Incarnation: ownership.Incarnation{2, 0}},
	{Accessor: "peer1", Incarnation: ownership.Incarnation{2, 1}},
}

// TestAdmissionAgrees: on random walks, the registry admits, remembers and refuses
// as the system admission does.
func TestAdmissionAgrees(t *testing.T) {
	walks := 1500
	if testing.Short() || underRace {
		walks = 300
	}
	seen := map[string]int{}
	for seed := range walks {
		g := newGateway(t, rand.New(rand.NewPCG(uint64(seed), 11)))
		for range 40 {
			g.step(seen)
			if t.Failed() {
				t.Fatalf("seed %d: %s", seed, strings.Join(g.log, "; "))
			}
		}
	}
	t.Log(seen)
	for _, what := range []string{"OPEN", "QUARANTINED", "CLOSED", "FATAL", "admit: capacity", "admit: closed", "admit: reject", "admit: refused",
		"piece: capacity", "piece: closed", "piece: refused", "piece: reject", "cancel: capacity", "stop: refused", "stop: ", "reopen: closed"} {
		if seen[what] == 0 {
			t.Errorf("no walk comes to %q", what)
		}
	}
}

func newGateway(t *testing.T, rng *rand.Rand) *gateway {
	t.Helper()
	g := &gateway{t: t, rng: rng, used: map[ownership.SessionName]bool{}, newest: map[uint64]uint32{}, tomb: map[uint64]uint32{}, known: map[ownership.Accessor]bool{}}
	scope := ownership.Quarantine(rng.IntN(3))
	var err error
	g.reg, err = ownership.New(ownership.Config{Name: "self", Incarnation: ownership.Incarnation{1}, RequestTimeout: 3 * time.Second, Grace: 3 * time.Second,
		Quarantine: scope, Sessions: 3, Owners: 2, Tombstones: 1, Outbox: 2, PeerOutbox: 1, Contain: func(ownership.Containment) error { return nil }})
	g.must(err)
	for i := range 3 {
		g.must(g.reg.AddRegion(ownership.RegionSpec{ID: fmt.Sprint("region", i), Len: 1}))
	}
	g.spec = interpret.New(system(t, "admission"), 2)
	for name, v := range map[string]string{"scope": strings.ToUpper(scope.String()), "max_sessions": "3", "max_owners": "2", "max_tombstones": "1"} {
		g.must(g.spec.Set(name, 0, v))
	}
	return g
}

func (g *gateway) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gateway) call(action string, args ...string) interpret.Answer {
	g.t.Helper()
	ans, err := g.spec.Call(action, args...)
	if err != nil {
		g.t.Errorf("%s: %v", action, err)
	}
	return ans
}

// same compares the kinds of a call's two answers.
func (g *gateway) same(seen map[string]int, what, kind string, err error) {
	g.t.Helper()
	got := ""
	if err != nil {
		got = ownership.KindOf(err).String()
	}
	seen[what+": "+got]++
	g.log = append(g.log, fmt.Sprint(g.now, " ", what, " ", g.subject, " = ", got))
	if got != kind {
		g.t.Errorf("%s: the registry answers %q, the system %q: %v", what, got, kind, err)
	}
}

func (g *gateway) owned(name ownership.SessionName) (ownership.SessionState, bool) {
	return g.reg.Session(name)
}

func (g *gateway) step(seen map[string]int) {
	g.t.Helper()
	id, attempt := uint64(1+g.rng.IntN(3)), uint32(1+g.rng.IntN(2))
	name := ownership.SessionName{Request: ownership.RequestID{Endpoint: "origin", Number: id}, Attempt: attempt}
	g.subject = name
	switch g.rng.IntN(15) {
	case 0, 1, 2:
		g.admit(seen, name)
	case 3, 4, 5:
		g.addPiece(seen, name)
	case 6, 12, 13:
		g.doubt(name)
	case 7:
		g.fence()
	case 8:
		g.cancel(seen, name)
	case 9:
		g.close(seen, name)
	case 10:
		g.rare(seen)
	case 11:
		if m, waits := g.reg.Peek(guests[g.rng.IntN(2)].Accessor); waits {
			g.reg.Delivered(m.To.Accessor, m.Number)
		}
	default:
		g.now += time.Duration(g.rng.IntN(4)) * time.Second
		_, err := g.reg.Tick(g.now)
		g.must(err)
	}
	if g.reg.Snapshot().Fatal && g.get("fatal") == "false" {
		g.call("latch")
	}
	g.compare(seen)
}

func (g *gateway) rare(seen map[string]int) {
	switch g.rng.IntN(8) {
	case 0:
		before := g.reg.Snapshot().Sessions
		_, err := g.reg.Stop(g.now)
		for _, s := range before {
			if _, owned := g.owned(s.Name); !owned {
				g.used[s.Name] = true
			}
		}
		kind := g.call("stop").Refused
		if kind == "" {
			retained := false
			for _, s := range g.reg.Snapshot().Sessions {
				for _, p := range s.Pieces {
					retained = retained || !p.Drained
				}
			}
			kind = g.call("finish_stop", fmt.Sprint(retained), fmt.Sprint(g.reg.Pending() > 0)).Refused
		}
		g.same(seen, "stop", kind, err)
	case 1, 2:
		_, err := g.reg.Reopen(g.now)
		kind := g.call("reopen").Refused
		if kind == "" {
			clear(g.known)
		}
		g.same(seen, "reopen", kind, err)
	case 3:
		below := uint64(g.rng.IntN(4))
		_, err := g.reg.Watermark(g.now, "origin", below)
		kind := g.call("watermark", fmt.Sprint(below > g.below)).Refused
		if kind == "" && below > g.below {
			g.below = below
			for id := range g.tomb {
				if id < below {
					delete(g.tomb, id)
					g.call("drop_tombstone")
				}
			}
		}
		g.same(seen, "watermark", kind, err)
	}
}

// lookup is what the caller's tables say of an attempt.
func (g *gateway) lookup(name ownership.SessionName) (known string, covered bool) {
	id := name.Request.Number
	covered = g.tomb[id] != 0 && name.Attempt >= g.tomb[id]
	switch _, owned := g.owned(name); {
	case owned:
		return "OWNED", covered
	case g.used[name]:
		return "USED", covered
	case name.Attempt < g.newest[id]:
		return "OLDER", covered
	}
	return "NEW", covered
}

func (g *gateway) admit(seen map[string]int, name ownership.SessionName) {
	known, covered := g.lookup(name)
	active := false
	for attempt := range uint32(3) {
		s, owned := g.owned(ownership.SessionName{Request: name.Request, Attempt: attempt})
		active = active || owned && s.Outcome == outcome.Active
	}
	crowded := g.crowded()
	_, err := g.reg.Admit(g.now, ownership.SessionSpec{Name: name, Side: ownership.Receive})
	ans := g.call("admit_session", known, fmt.Sprint(covered), fmt.Sprint(active), fmt.Sprint(name.Request.Number < g.below), crowded)
	g.same(seen, "admit", ans.Refused, err)
	if err == nil {
		g.newest[name.Request.Number] = max(g.newest[name.Request.Number], name.Attempt)
		delete(g.used, name)
		s, _ := g.owned(name)
		if born := slices.Contains(ans.Effects, "born_cancelled()"); born != (s.Outcome == outcome.Cancelled) {
			g.t.Errorf("admitted as %v, born cancelled: %v", s.Outcome, born)
		}
	}
}

func (g *gateway) addPiece(seen map[string]int, name ownership.SessionName) {
	s, owned := g.owned(name)
	if !owned {
		return
	}
	piece := ownership.PieceName{Session: name, Piece: fmt.Sprint("piece", g.rng.IntN(2))}
	region, guest := fmt.Sprint("region", g.rng.IntN(3)), guests[g.rng.IntN(2)]
	r, _ := g.reg.Region(region)
	exists := slices.ContainsFunc(s.Pieces, func(p ownership.PieceState) bool { return p.Name == piece })
	crowded, full := g.crowded(), fmt.Sprint(g.waits(guest.Accessor) > 0)
	_, _, err := g.reg.AddPiece(g.now, ownership.PieceSpec{Name: piece, Region: region, Cohort: []ownership.Member{guest}})
	ans := g.call("add_piece", "1", fmt.Sprint(s.Outcome != outcome.Active || s.Complete), fmt.Sprint(g.known[guest.Accessor]),
		fmt.Sprint(exists), fmt.Sprint(len(r.Owners) > 0), crowded, full)
	g.same(seen, "piece", ans.Refused, err)
}

// doubt publishes what a session has and has one accessor report a doubt.
func (g *gateway) doubt(name ownership.SessionName) {
	s, owned := g.owned(name)
	if !owned || len(s.Pieces) == 0 {
		return
	}
	p := s.Pieces[g.rng.IntN(len(s.Pieces))]
	if _, err := g.reg.Seal(g.now, p.Name); err != nil {
		return
	}
	_, err := g.reg.Finish(g.now, p.Name)
	g.must(err)
	c := p.Claims[0]
	evidence := []ownership.Evidence{ownership.InDoubt, ownership.OK}[g.rng.IntN(2)]
	_, err = g.reg.Report(g.now, ownership.PeerReport{Claim: c.Name, From: c.Name.Accessor, Evidence: evidence})
	g.log = append(g.log, fmt.Sprint(evidence, " of ", c.Name, " = ", err))
	if err != nil || evidence == ownership.OK {
		return
	}
	for _, e := range g.call("doubt", g.replica(c.Name.Accessor), fmt.Sprint(g.known[c.Name.Accessor])).Effects {
		if e == "remember()" {
			g.known[c.Name.Accessor] = true
		}
	}
}

func (g *gateway) replica(a ownership.Accessor) string { return replica(int(a[len(a)-1] - '0')) }

// fence proves one accessor's end; an own fence does not reach what it writes here.
func (g *gateway) fence() {
	if g.rng.IntN(2) == 0 {
		return
	}
	a, scope := guests[g.rng.IntN(2)], []ownership.Scope{ownership.Own, ownership.All}[g.rng.IntN(2)]
	_, err := g.reg.Fence(g.now, ownership.FenceSpec{Accessor: a.Accessor, Scope: scope})
	g.must(err)
	still := false
	for _, s := range g.reg.Snapshot().Sessions {
		for _, p := range s.Pieces {
			still = still || p.Claims[0].Name.Accessor == a.Accessor && p.Claims[0].State.String() == "IN_DOUBT"
		}
	}
	g.log = append(g.log, fmt.Sprint("fence ", a.Accessor, " ", scope))
	for _, e := range g.call("fence", g.replica(a.Accessor), fmt.Sprint(g.known[a.Accessor]), fmt.Sprint(still)).Effects {
		if e == "forget()" {
			delete(g.known, a.Accessor)
		}
	}
}

func (g *gateway) cancel(seen map[string]int, name ownership.SessionName) {
	known, covered := g.lookup(name)
	id := name.Request.Number
	spec := ownership.CancelSpec{Session: name}
	if g.rng.IntN(2) == 0 {
		spec.Origin, spec.From, spec.FromSide = ownership.FromPeer, guests[g.rng.IntN(2)], ownership.Receive
	}
	unanswered := g.unanswered(spec, known)
	_, _, err := g.reg.Cancel(g.now, spec)
	ans := g.call("cancel", known, fmt.Sprint(covered), fmt.Sprint(g.tomb[id] != 0), fmt.Sprint(id < g.below), "false", fmt.Sprint(unanswered))
	g.same(seen, "cancel", ans.Refused, err)
	if slices.Contains(ans.Effects, "bury()") && ans.Refused == "" {
		if g.tomb[id] == 0 || name.Attempt < g.tomb[id] {
			g.tomb[id] = name.Attempt
		}
	}
}

// unanswered reports whether a cancel has to be answered, and the one message that may
// wait for its peer is another.
func (g *gateway) unanswered(spec ownership.CancelSpec, known string) bool {
	remembered := known == "USED" && spec.Session.Request.Number >= g.below // as a receive side
	if spec.From.Accessor == "" || known == "OWNED" || remembered {
		return false
	}
	m, waits := g.reg.Peek(spec.From.Accessor)
	_, quiet := m.Message.(*ownership.SessionQuiesced)
	return waits && (!quiet || m.Message.Session() != spec.Session)
}

// waits counts what waits for an accessor.
func (g *gateway) waits(a ownership.Accessor) (n int) {
	for _, m := range g.reg.Snapshot().Waiting {
		if m.To.Accessor == a {
			n++
		}
	}
	return n
}

// crowded says whether both accessors have their share of the outbox.
func (g *gateway) crowded() string {
	return fmt.Sprint(g.waits(guests[0].Accessor) > 0 && g.waits(guests[1].Accessor) > 0)
}

func (g *gateway) close(seen map[string]int, name ownership.SessionName) {
	s, owned := g.owned(name)
	if !owned {
		return
	}
	_, err := g.reg.Close(g.now, name)
	if ownership.KindOf(err) == ownership.KindRefused {
		return // the session's own decision
	}
	for range s.Pieces {
		g.call("release_piece", "1")
	}
	kind := g.call("close_session").Refused
	g.same(seen, "close", kind, err)
	if err == nil {
		g.used[name] = true
	}
}

func (g *gateway) get(name string) string {
	g.t.Helper()
	v, err := g.spec.Get(name, 0)
	g.must(err)
	return v
}

func (g *gateway) compare(seen map[string]int) {
	g.t.Helper()
	s := g.reg.Snapshot()
	seen[s.Admission.String()]++
	for what, pair := range map[string][2]string{
		"admission":  {s.Admission.String(), g.get("admission")},
		"sessions":   {strconv.Itoa(s.Counters.Sessions), g.get("sessions")},
		"owners":     {strconv.Itoa(s.Counters.Owners), g.get("owners")},
		"tombstones": {strconv.Itoa(s.Counters.Tombstones), g.get("tombstones")},
		"doubted":    {strconv.Itoa(len(s.Doubted)), g.get("doubted")},
	} {
		if pair[0] != pair[1] {
			g.t.Errorf("%s: the registry has %s, the system %s", what, pair[0], pair[1])
		}
	}
}
