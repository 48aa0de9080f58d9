// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// sequential is the model in the form that the checker takes.
var sequential = porcupine.Model{
	Init: func() any { return model{} },
	Step: func(state, input, output any) (bool, any) {
		m := state.(model)
		answer := m.step(input.(modelCall))
		return answer == output.(modelAnswer), m
	},
}

const (
	linearClients = 4 // one drives each session, the last one interferes
	linearCalls   = 16
)

// TestLinearizable lets several goroutines call one registry, and looks for an
// order of their calls, each between its start and its return, in which the
// sequential model gives the same answers (contract §§2 to 7).
func TestLinearizable(t *testing.T) {
	const histories = 80
	concurrent, answers := 0, make(map[string]int)
	for seed := range uint64(histories) {
		history := recordHistory(t, seed)
		concurrent += overlaps(history)
		for _, op := range history {
			c, a := op.Input.(modelCall), op.Output.(modelAnswer)
			key := c.do + " " + a.err + a.outcome + a.seen.outcome
			if a.delivered {
				key += "delivered"
			}
			answers[key]++
		}
		if got := porcupine.CheckOperationsTimeout(sequential, history, time.Minute); got != porcupine.Ok {
			t.Fatalf("history %d is %s:\n%s", seed, got, describeHistory(history))
		}
	}
	t.Logf("%d histories of %d calls; %d began while another ran; %v", histories, linearClients*linearCalls, concurrent, answers)
	for _, must := range []string{
		"add_piece refused", "seal closed", "finish ", "report conflict", "report stale", "close refused", "close ",
		"reuse refused", "cancel FAILED", "cancel ", "admit closed", "look SUCCEEDED", "stop refused", "stop ", "reopen closed", "deliver delivered", "waiting ",
	} {
		if answers[must] == 0 {
			t.Errorf("no history has %q", must)
		}
	}
}

// planCalls is what one client does: a client with a session leads it through
// its life, with some steps left out and others in between.
func planCalls(rng *rand.Rand, seed uint64, client int) []modelCall {
	var plan []modelCall
	if client < modelSessions {
		life := []modelCall{
			{do: "admit"}, {do: "add_piece"}, {do: "seal"}, {do: "finish"},
			{do: "report", accessor: 0, says: "ok"}, {do: "report", accessor: 1, says: "ok"}, {do: "complete"}, {do: "close"},
		}
		if rng.IntN(6) == 0 {
			life[3] = modelCall{do: "fail_send", exposed: [modelAccessors]bool{rng.IntN(2) == 0, rng.IntN(2) == 0}}
		}
		for _, c := range life {
			if c.session = client; rng.IntN(12) > 0 {
				plan = append(plan, c)
			}
		}
	}
	harmless := seed%3 == 0 || client < modelSessions && rng.IntN(3) > 0 // so that some succeed
	for len(plan) < linearCalls {
		c := interfere(rng)
		if harmless {
			c.do = "look"
		}
		plan = slices.Insert(plan, rng.IntN(len(plan)+1), c)
	}
	if seed%2 == 0 {
		plan[linearCalls-1-rng.IntN(6)] = modelCall{do: "stop"}
	}
	return plan
}

var (
	interference = strings.Fields("look look look look report report report ack cancel watermark close reuse reopen reopen fence fail complete admit add_piece seal deliver deliver deliver waiting")
	statements   = strings.Fields("ok ok ok ok failed in_doubt failed_quiesced")
)

func interfere(rng *rand.Rand) modelCall {
	return modelCall{
		do: interference[rng.IntN(len(interference))], session: rng.IntN(modelSessions),
		accessor: rng.IntN(modelAccessors), region: rng.IntN(modelRegions), says: statements[rng.IntN(len(statements))],
	}
}

// recordHistory runs the clients of one seed and returns what they saw. Calls
// of one round start together, and somebody else takes the registry's lock
// again and again, so that they meet there and in the inbox.
func recordHistory(t *testing.T, seed uint64) []porcupine.Operation {
	t.Helper()
	lane := newLinearLane(t)
	var (
		tick, arrived atomic.Int64
		clients       sync.WaitGroup
		histories     [linearClients][]porcupine.Operation
	)
	var ended atomic.Bool
	var other sync.WaitGroup
	other.Go(func() {
		for !ended.Load() {
			lane.reg.mu.Lock()
			for range linearClients * 2 {
				runtime.Gosched()
			}
			lane.reg.mu.Unlock()
			lane.reg.Tick(time.Duration(tick.Load()))
		}
	})
	for client := range linearClients {
		rng := rand.New(rand.NewPCG(seed, uint64(client)))
		plan, meets := planCalls(rng, seed, client), seed%4 != 0
		clients.Go(func() {
			for round, c := range plan {
				arrived.Add(1)
				for meets && arrived.Load() < int64((round+1)*linearClients) {
					runtime.Gosched()
				}
				lane.prepare(&c)
				op := porcupine.Operation{ClientId: client, Input: c, Call: tick.Add(1)}
				op.Output = lane.call(time.Duration(op.Call), c)
				op.Return = tick.Add(1)
				histories[client] = append(histories[client], op)
			}
		})
	}
	clients.Wait()
	ended.Store(true)
	other.Wait()
	checkInvariants(t, lane.reg)
	return slices.Concat(histories[:]...)
}

// linearLane translates the model's calls for a registry, and its answers back.
type linearLane struct {
	reg    *Registry
	cohort []Member
	claims [modelSessions]atomic.Pointer[[]ClaimName]
}

func newLinearLane(t *testing.T) *linearLane {
	t.Helper()
	reg, err := New(Config{
		Name: "self", Incarnation: Incarnation{1},
		Contain: func(c Containment) error { t.Errorf("contained %+v", c); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range modelRegions {
		if err := reg.AddRegion(RegionSpec{ID: fmt.Sprint("region ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	lane := &linearLane{reg: reg}
	for i := range modelAccessors {
		lane.cohort = append(lane.cohort, Member{Accessor: Accessor(fmt.Sprint("peer ", i)), Incarnation: Incarnation{2}})
	}
	return lane
}

// prepare fills in what a client learns only while the history runs: whether the
// names of claims are known, and which message waits.
func (l *linearLane) prepare(c *modelCall) {
	switch c.do {
	case "report":
		c.unnamed = l.claims[c.session].Load() == nil
	case "deliver":
		m, waits := l.reg.Peek(l.cohort[c.accessor].Accessor)
		if !waits {
			c.do = "waiting"
			return
		}
		c.session, c.number = int(m.Message.Session().Request.Number), m.Number
	}
}

var modelEvidence = map[string]Evidence{"ok": OK, "failed": Failed, "in_doubt": InDoubt, "failed_quiesced": FailedQuiesced}

func (l *linearLane) call(at time.Duration, c modelCall) modelAnswer {
	s := sessionNamed(uint64(c.session), 1)
	switch c.do {
	case "cancel":
		r, _, err := l.reg.Cancel(at, CancelSpec{Session: s})
		a := modelAnswer{err: kindWord(err), physical: r.Physical.String()}
		if r.Outcome.IsValid() {
			a.outcome = r.Outcome.String()
		}
		return a
	case "look":
		return modelAnswer{seen: l.look(s)}
	case "deliver":
		return modelAnswer{delivered: l.reg.Delivered(l.cohort[c.accessor].Accessor, c.number)}
	case "waiting":
		return l.waiting(l.cohort[c.accessor].Accessor)
	}
	return modelAnswer{err: kindWord(l.plain(at, c, s, PieceName{s, "p"}))}
}

// plain is a call that answers with an error alone.
func (l *linearLane) plain(at time.Duration, c modelCall, s SessionName, p PieceName) (err error) {
	switch a := l.cohort[c.accessor]; c.do {
	case "admit":
		_, err = l.reg.Admit(at, SessionSpec{Name: s, Side: Receive})
	case "add_piece":
		var claims []ClaimName
		claims, _, err = l.reg.AddPiece(at, PieceSpec{Name: p, Region: fmt.Sprint("region ", c.session%modelRegions), Cohort: l.cohort})
		if err == nil {
			l.claims[c.session].Store(&claims)
		}
	case "seal":
		_, err = l.reg.Seal(at, p)
	case "finish":
		_, err = l.reg.Finish(at, p)
	case "fail_send":
		var exposed []Accessor
		for i, yes := range c.exposed {
			if yes {
				exposed = append(exposed, l.cohort[i].Accessor)
			}
		}
		_, err = l.reg.FailSend(at, p, exposed)
	case "report":
		_, err = l.reg.Report(at, PeerReport{Claim: l.claim(c, p), From: a.Accessor, Evidence: modelEvidence[c.says]})
	case "ack":
		_, err = l.reg.Ack(at, s, a)
	case "fail":
		_, err = l.reg.Fail(at, s, "the caller's")
	case "complete":
		_, err = l.reg.Complete(at, s)
	case "close":
		_, err = l.reg.Close(at, s)
	case "fence":
		_, err = l.reg.Fence(at, FenceSpec{Accessor: a.Accessor, Scope: All})
	case "reopen":
		_, err = l.reg.Reopen(at)
	case "stop":
		_, err = l.reg.Stop(at)
	case "watermark":
		_, err = l.reg.Watermark(at, s.Request.Endpoint, s.Request.Number)
	case "reuse":
		_, err = l.reg.Reuse(at, fmt.Sprint("region ", c.region))
	default:
		panic("no call " + c.do)
	}
	return err
}

// claim is the name that a peer would report under. Before the piece's names
// are known to the clients, also while AddPiece has yet to return them, it is
// one that the registry never gave.
func (l *linearLane) claim(c modelCall, p PieceName) ClaimName {
	if c.unnamed {
		a := l.cohort[c.accessor]
		return ClaimName{Incarnation{1}, p, a.Accessor, a.Incarnation, math.MaxUint64}
	}
	return (*l.claims[c.session].Load())[c.accessor]
}

func (l *linearLane) look(s SessionName) modelView {
	st, owned := l.reg.Session(s)
	if !owned {
		return modelView{}
	}
	v := modelView{outcome: st.Outcome.String()}
	for _, p := range st.Pieces {
		v.piece, v.gate, v.invalid = p.Outcome.String(), p.Gate.String(), p.Invalid
		for i, c := range p.Claims {
			v.claims[i] = c.State.String()
		}
	}
	return v
}

// waiting answers of which sessions a CANCEL_SESSION waits; the model knows of no other
// message, nor of one twice.
func (l *linearLane) waiting(a Accessor) (answer modelAnswer) {
	for _, m := range l.reg.Waiting(a) {
		i := m.Message.Session().Request.Number
		if answer.waits[i] || m.Message.Label() != "CANCEL_SESSION" {
			answer.err = m.Message.Label()
		}
		answer.waits[i] = true
	}
	return answer
}

func kindWord(err error) string {
	if err == nil {
		return ""
	}
	return KindOf(err).String()
}

// overlaps counts the calls that began while another ran.
func overlaps(history []porcupine.Operation) int {
	n := 0
	for _, a := range history {
		if slices.ContainsFunc(history, func(b porcupine.Operation) bool { return b.Call < a.Call && a.Call < b.Return }) {
			n++
		}
	}
	return n
}

func describeHistory(history []porcupine.Operation) string {
	history = slices.Clone(history)
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, op := range history {
		fmt.Fprintf(&b, "%d..%d client %d: %+v -> %+v\n", op.Call, op.Return, op.ClientId, op.Input, op.Output)
	}
	return b.String()
}

// TestLinearizableFinds offers the checker histories that no order explains,
// beside the same ones with the right answer.
func TestLinearizableFinds(t *testing.T) {
	published := []modelCall{{do: "admit"}, {do: "add_piece"}, {do: "seal"}, {do: "finish"}}
	failed := modelView{outcome: "FAILED", piece: "FAILED", gate: "SEALED", claims: [modelAccessors]string{"DRAINED", "PUBLISHED"}}
	before := failed
	before.outcome, before.piece, before.claims[0] = "ACTIVE", "ACTIVE", "PUBLISHED"
	for _, tc := range []struct {
		name         string
		first        []modelCall // one after the other
		together     []modelCall // each overlaps all others
		right, wrong []modelAnswer
	}{
		{
			"a live claim is released", published, []modelCall{{do: "close"}},
			[]modelAnswer{{err: "refused"}}, []modelAnswer{{}},
		},
		{
			"two sessions get one region", []modelCall{{do: "admit"}, {do: "admit", session: modelRegions}},
			[]modelCall{{do: "add_piece"}, {do: "add_piece", session: modelRegions}},
			[]modelAnswer{{err: "refused"}, {}}, []modelAnswer{{}, {}},
		},
		{
			"a look shows what was before a report that has returned",
			append(slices.Clone(published), modelCall{do: "report", says: "failed"}), []modelCall{{do: "look"}},
			[]modelAnswer{{seen: failed}}, []modelAnswer{{seen: before}},
		},
		{
			"a cancel and a seal both win the gate", published[:2], []modelCall{{do: "seal"}, {do: "cancel"}},
			[]modelAnswer{{}, {outcome: "CANCELLED", physical: "DRAINING"}},
			[]modelAnswer{{}, {outcome: "CANCELLED", physical: "RETIRED"}},
		},
		{
			"a request below the watermark is admitted", []modelCall{{do: "watermark", session: 1}}, []modelCall{{do: "admit"}},
			[]modelAnswer{{err: "closed"}},
			[]modelAnswer{{}},
		},
		{
			"a stop releases a live claim", published, []modelCall{{do: "stop"}},
			[]modelAnswer{{err: "refused"}},
			[]modelAnswer{{}},
		},
		{
			"a stop loses a message that waits",
			append(slices.Clone(published), modelCall{do: "fail"}, modelCall{do: "ack"}, modelCall{do: "ack", accessor: 1}), []modelCall{{do: "stop"}},
			[]modelAnswer{{err: "refused"}},
			[]modelAnswer{{}},
		},
		{
			"a session is admitted after a stop", []modelCall{{do: "stop"}}, []modelCall{{do: "admit"}},
			[]modelAnswer{{err: "closed"}},
			[]modelAnswer{{}},
		},
		{
			"a stop leaves a session", published[:2], []modelCall{{do: "stop"}, {do: "close"}},
			[]modelAnswer{{}, {err: "refused"}}, // the close was first
			[]modelAnswer{{err: "refused"}, {err: "refused"}},
		},
		{
			"a message is delivered twice", append(slices.Clone(published), modelCall{do: "fail"}), []modelCall{{do: "deliver"}, {do: "deliver"}},
			[]modelAnswer{{delivered: true}, {}},
			[]modelAnswer{{delivered: true}, {delivered: true}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for want, answers := range map[bool][]modelAnswer{true: tc.right, false: tc.wrong} {
				if got := porcupine.CheckOperations(sequential, history(tc.first, tc.together, answers)); got != want {
					t.Errorf("with %+v the check says %v", answers, got)
				}
			}
		})
	}
}

// history is first, with the model's own answers, and then the calls together.
func history(first, together []modelCall, answers []modelAnswer) []porcupine.Operation {
	var list []porcupine.Operation
	var m model
	for i, c := range first {
		list = append(list, porcupine.Operation{Input: c, Output: m.step(c), Call: int64(2 * i), Return: int64(2*i + 1)})
	}
	for i, c := range together {
		list = append(list, porcupine.Operation{ClientId: i, Input: c, Output: answers[i], Call: 1000, Return: 1001})
	}
	return list
}
