// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/proptest/model"
	"github.com/kvxfer/kvxfer/scenario"
)

// history is what one life of an endpoint asked of its registry, in order. A
// network has no steps in a scenario file; what one side made of it has.
type history struct {
	name string
	life int

	mu    sync.Mutex
	steps []ownership.Step // guarded by mu
}

func (h *history) add(s ownership.Step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, s)
}

// allSteps tells a history to its end.
const allSteps = math.MaxInt

// tell tells the history to the model, up to a step, and writes it down. With filed
// the model is told what a file says, where a fence is one of all lives.
func (h *history) tell(upTo int, filed bool) *teller {
	c := model.Config{T: requestTimeout, G: grace}
	t := &teller{
		world: &world{test: fmt.Sprintf("network-%s-%d", h.name, h.life), model: model.New(c)},
		named: make(map[string]int), over: make(map[string]int), open: make(map[model.Member]bool),
		claims: make(map[model.PieceName]*ownership.Step), sent: make(map[uint64]model.Message), cut: -1, differed: -1, filed: filed,
	}
	t.script = script{config: c, pieces: make(map[string]bool), requests: make(map[model.Request]bool)}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.steps[:min(upTo, len(h.steps))] {
		if t.step(&h.steps[i]); t.odd && t.cut < 0 {
			t.cut = i
		}
		if t.differs != "" && t.differed < 0 {
			t.differed = i
		}
	}
	return t
}

// file tells as much of the history as a file can express, and nothing after an answer
// that the contract does not want: what a registry does then is no more about the model's.
func (h *history) file() *teller {
	t, upTo := h.tell(allSteps, true), allSteps
	if t.cut >= 0 {
		upTo = t.cut
	}
	if t.differed >= 0 {
		upTo = min(upTo, t.differed+1)
	}
	if upTo == allSteps {
		return t
	}
	return h.tell(upTo, true)
}

// report writes the scenario file, and says where it is and what comes of it.
func (h *history) report() (text, verdict string) {
	t := h.file()
	text = t.script.text(t.world)
	verdict = fmt.Sprintf("what %s did in life %d is a scenario; replay it with: go run ./cmd/kvxfer replay %s\n", h.name, h.life, t.script.write(t.world))
	all := h.tell(allSteps, false)
	if all.cut >= 0 {
		verdict += "it ends early, before a step about one of several lives, for which a file has no name\n"
	}
	switch err := replay(text); {
	case err != nil:
		verdict += "replayed, it fails: " + err.Error()
	case all.differs != "":
		verdict += "replayed, it passes, but " + all.differs
	default:
		verdict += "replayed, it passes: what is wrong is between the registry and the memory"
	}
	return text, verdict
}

// replay runs a scenario as kvxfer replay does.
func replay(text string) error {
	f, err := scenario.Parse("script", []byte(text))
	if err != nil {
		return err
	}
	report, err := scenario.Run(f)
	if err != nil {
		return err
	}
	return report.Err()
}

// replay replays the history of every endpoint.
func (n *network) replay() {
	for _, h := range n.past {
		t := h.file()
		text := t.script.text(t.world)
		if err := replay(text); err != nil {
			n.t.Fatalf("%s, life %d, does not replay: %v\n%s", h.name, h.life, err, text)
		}
	}
}

// teller tells steps of a real registry to the model alone.
type teller struct {
	*world // its library is not asked
	// The life that a name of an accessor means in the file now, and the last one
	// that is over, as fences and gone have it: a file has no other names for lives.
	named, over map[string]int
	open        map[model.Member]bool // lives that were named, until they are fenced
	claims      map[model.PieceName]*ownership.Step
	sent        map[uint64]model.Message // by number
	filed       bool
	odd         bool   // a file has no expression for a step
	cut         int    // the first such one, -1: none
	differs     string // the first answer that the contract does not want
	differed    int    // the step that it is of, -1: none
}

// step tells one, after the time up to it.
func (t *teller) step(s *ownership.Step) {
	for _, e := range s.Effects {
		if q, ok := e.(*ownership.Queued); ok {
			t.sent[q.Number] = t.message(&q.Outgoing)
		}
	}
	if s.Call == ownership.CallDeadline {
		return // the step after it notices
	}
	if s.At > t.now {
		t.script.step("advance: %v", s.At-t.now)
		t.now = s.At
		t.script.end(t.model.Tick(t.now))
	}
	before := len(t.script.steps)
	want, told := t.tellSession(s)
	if !told {
		want, told = t.tellOther(s)
	}
	if !told {
		t.script.comment("%v: no step expresses it", s.Call)
		t.odd = true
		return
	}
	if len(t.script.steps) > before {
		t.script.end(want)
	}
	if got := kindOf(s.Err); got != want {
		t.differ("step %d, %v, ended with %q (%v), the contract wants %q", len(t.script.steps), s.Call, got, s.Err, want)
	}
}

func (t *teller) differ(format string, args ...any) {
	if t.differs == "" {
		t.differs = fmt.Sprintf(format, args...)
	}
}

func kindOf(err error) string {
	if err == nil {
		return ""
	}
	return ownership.KindOf(err).String()
}

func modelName(n ownership.SessionName) model.Name {
	return model.Name{Request: model.Request{Endpoint: n.Request.Endpoint, Number: int(n.Request.Number)}, Attempt: int(n.Attempt)}
}

// modelPiece gives a piece an id that is its request's alone, as a file wants it.
func modelPiece(n ownership.PieceName) model.PieceName {
	s := modelName(n.Session)
	return model.PieceName{Session: s, Piece: fmt.Sprintf("%s%d%s", s.Request.Endpoint, s.Request.Number, n.Piece)}
}

func (t *teller) message(o *ownership.Outgoing) model.Message {
	m := model.Message{To: lifeOf(o.To), Label: o.Message.Label(), About: modelName(o.Message.Session()), Side: "send"}
	if c, ok := o.Message.(*ownership.CancelSession); ok {
		m.Side = c.From.String()
	}
	return m
}

func lifeOf(m ownership.Member) model.Member {
	return model.Member{Accessor: string(m.Accessor), Life: int(m.Incarnation[0])}
}

// name takes in that a step names a life of an accessor: odd where the name means
// another one in the file.
func (t *teller) name(m model.Member) {
	t.open[m] = true
	if t.named[m.Accessor] == 0 && m.Life > t.over[m.Accessor] {
		t.named[m.Accessor] = m.Life
	}
	t.odd = t.odd || t.named[m.Accessor] != m.Life
}

// end takes in that a life is over, of all lives where it is 0: odd where that is not
// what a file says, which means all that it has named. It returns whom to tell of.
func (t *teller) end(m model.Member, fenced bool) model.Member {
	for o := range t.open {
		if o.Accessor != m.Accessor || m.Life == 0 {
			continue
		}
		t.odd = t.odd || o.Life != m.Life && (fenced || o.Life == t.named[m.Accessor])
	}
	t.over[m.Accessor] = max(t.over[m.Accessor], m.Life, t.named[m.Accessor])
	t.named[m.Accessor] = 0
	if fenced {
		maps.DeleteFunc(t.open, func(o model.Member, _ bool) bool {
			return o.Accessor == m.Accessor && (m.Life == 0 || o.Life == m.Life)
		})
	}
	if t.filed {
		m.Life = 0
	}
	return m
}

// regionText is an id as a file may have it.
func regionText(id string) string { return strings.NewReplacer("/", ".", "#", ".").Replace(id) }

// find returns where in its cohort a claim's accessor is, and whether the claim is
// the current one. -1: a file has no name for it.
func (t *teller) find(c ownership.ClaimName) (at int, current bool) {
	s := t.claims[modelPiece(c.Piece)]
	if s == nil {
		return -1, false
	}
	first := s.First
	for i := range s.Added {
		p := &s.Added[i]
		if p.Name == c.Piece {
			at := slices.IndexFunc(p.Cohort, func(m ownership.Member) bool { return m.Accessor == c.Accessor })
			if c.Accessor == ownership.Local && p.Local {
				return len(p.Cohort), true
			}
			return at, at >= 0 && c.Owner == s.Life && c.Sequence == first+uint64(at) && c.Incarnation == p.Cohort[at].Incarnation
		}
		first += uint64(len(p.Cohort))
		if p.Local {
			first++
		}
	}
	return -1, false
}
