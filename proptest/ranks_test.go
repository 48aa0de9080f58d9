// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/memstore"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

const lease = 3 * time.Second

// process is one process at a rank's place.
type process struct {
	*cluster.Rank
	rank   int
	client *memstore.Client
	alive  bool
}

// part is what one process holds of one request: its memory is touched until it
// is proven that it is not.
type part struct {
	*cluster.Request
	of      *process
	life    ownership.Incarnation // when it was opened
	touched bool
	said    cluster.State
	ended   int // decisions
	retired int
}

// whole is a request with its parts, by rank.
type whole struct {
	epoch    cluster.Revision
	parts    map[int]*part
	disputed bool // proof was taken back, which may come too late for others
}

// ranks is a group with its store, and what is true of each rank's memory. The
// model is one sentence: a request is given back nowhere while a part of it is
// touched anywhere (contract §9, I14).
type ranks struct {
	t         *rapid.T
	store     *memstore.Store
	processes []*process // the latest of each rank
	past      []*process

	mu       sync.Mutex // guards all below
	requests map[ownership.SessionName]*whole
	order    []ownership.SessionName
	bad      []string
	log      []string
	retired  int
}

func checkRanks(t *rapid.T) {
	rapid.SyncTest(t, func(t *rapid.T) { liveRanks(t) })
}

func liveRanks(t *rapid.T) *ranks {
	g := &ranks{t: t, store: memstore.New(0), requests: make(map[ownership.SessionName]*whole)}
	defer g.bury()
	for i := range rapid.IntRange(1, 5).Draw(t, "ranks") {
		g.processes = append(g.processes, &process{rank: i})
	}
	for i := range g.processes {
		g.join(i)
	}
	synctest.Wait()
	t.Repeat(map[string]func(*rapid.T){
		"request": g.request,
		"open":    g.openLate,
		"say":     g.say,
		"say2":    g.say,
		"say3":    g.say,
		"store":   g.harm,
		"process": g.process,
		"sleep": func(t *rapid.T) {
			time.Sleep(rapid.SampledFrom([]time.Duration{time.Millisecond, lease / 10, lease, 3 * lease}).Draw(t, "sleep"))
		},
		"": func(*rapid.T) { g.check() },
	})
	g.end()
	return g
}

// join starts a process at a rank's place, which takes over from the one there.
func (g *ranks) join(i int) {
	p := &process{rank: i, client: g.store.Client()}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	r, err := cluster.Join(ctx, cluster.Config{
		Group: "g", Rank: i, Ranks: len(g.processes), Store: p.client, Lease: lease,
		OnDecision: func(d cluster.Decision) { g.decided(p, d) },
	})
	if err != nil {
		g.log = append(g.log, fmt.Sprintf("rank %d cannot join: %v", i, err))
		return // the store is full
	}
	p.Rank, p.alive = r, true
	if old := g.processes[i]; old.Rank != nil {
		g.past = append(g.past, old)
	}
	g.processes[i] = p
}

// decided judges a decision by what is true.
func (g *ranks) decided(p *process, d cluster.Decision) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.requests[d.Session]
	mine := w.parts[p.rank]
	switch {
	case mine == nil || mine.of != p:
		g.bad = append(g.bad, fmt.Sprintf("rank %d decides about %v, which is not open there", p.rank, d.Session))
	case d.Verdict == cluster.End:
		if mine.ended++; mine.ended > 1 || mine.retired > 0 {
			g.bad = append(g.bad, fmt.Sprintf("rank %d: %v ends again", p.rank, d.Session))
		}
	default:
		g.retired++
		if mine.retired++; mine.retired > 1 {
			g.bad = append(g.bad, fmt.Sprintf("rank %d retires %v again", p.rank, d.Session))
		}
		for rank, o := range w.parts {
			if o.touched && !w.disputed {
				g.bad = append(g.bad, fmt.Sprintf("rank %d retires %v while rank %d's memory of it is touched", p.rank, d.Session, rank))
			}
		}
	}
}

// request makes a new one and opens it on some ranks.
func (g *ranks) request(t *rapid.T) {
	creator := g.anyone(t)
	if !creator.alive {
		return
	}
	epoch, err := creator.Epoch()
	if err != nil {
		return // a rank has not joined
	}
	g.mu.Lock()
	n := ownership.SessionName{Request: ownership.RequestID{Endpoint: "router", Number: uint64(len(g.order) + 1)}, Attempt: 1}
	g.requests[n] = &whole{epoch: epoch, parts: make(map[int]*part)}
	g.order = append(g.order, n)
	g.mu.Unlock()
	for i := range g.processes {
		if !roll(t, "leave out") {
			g.open(i, n)
		}
	}
}

func (g *ranks) anyone(t *rapid.T) *process {
	return g.processes[rapid.IntRange(0, len(g.processes)-1).Draw(t, "rank")]
}

func (g *ranks) some(t *rapid.T) (ownership.SessionName, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.order) == 0 {
		return ownership.SessionName{}, false
	}
	return g.order[rapid.IntRange(max(0, len(g.order)-3), len(g.order)-1).Draw(t, "request")], true
}

func (g *ranks) openLate(t *rapid.T) {
	if n, any := g.some(t); any {
		g.open(g.anyone(t).rank, n)
	}
}

// open makes a rank take part; from then on its memory may be touched.
func (g *ranks) open(i int, n ownership.SessionName) {
	p := g.processes[i]
	g.mu.Lock()
	w := g.requests[n]
	taken := w.parts[i] != nil
	if p.alive && !taken {
		w.parts[i] = &part{of: p} // before a decision can come
	}
	g.mu.Unlock()
	if !p.alive || taken {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lease/10)
	defer cancel()
	life := p.Incarnation()
	g.log = append(g.log, fmt.Sprintf("rank %d opens %v", i, n))
	q, err := p.Open(ctx, n, w.epoch)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		delete(w.parts, i) // it ended elsewhere, or another life is in the cohort
		return
	}
	w.parts[i].Request, w.parts[i].touched, w.parts[i].life = q, true, life
}

// say publishes how a part stands: an end, the proof, or that it is disputed.
func (g *ranks) say(t *rapid.T) {
	n, any := g.some(t)
	p := g.anyone(t)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !any || g.requests[n].parts[p.rank] == nil {
		return
	}
	w := g.requests[n]
	mine := w.parts[p.rank]
	if !mine.of.alive || mine.retired > 0 {
		return
	}
	s := mine.said
	switch what := dice.Draw(t, "say"); {
	case s.Drained && what == 11 && s.Outcome != outcome.Succeeded:
		s.Drained, mine.touched, w.disputed = false, true, true
	case what < 4:
		s.Drained = true
	}
	if !s.Outcome.Terminal() {
		s.Outcome = rapid.SampledFrom([]outcome.State{outcome.Succeeded, outcome.Succeeded, outcome.Failed, outcome.Cancelled}).Draw(t, "outcome")
		s.Drained = s.Drained || s.Outcome == outcome.Succeeded // a success is proven
	}
	mine.tell(s)
}

func (p *part) tell(s cluster.State) {
	p.touched = p.touched && !s.Drained
	p.said = s
	_ = p.Publish(s) // refused once the request is over here
}

func (g *ranks) harm(t *rapid.T) {
	p := g.anyone(t)
	if p.client == nil {
		return
	}
	switch dice.Draw(t, "store") {
	case 0:
		p.client.Partition()
	case 1, 2, 3:
		p.client.Heal()
	case 4:
		p.client.LoseAnswers(3)
	case 5:
		p.client.LoseWatches()
	case 6:
		g.store.Compact()
	case 7:
		g.store.SetFull(true)
	case 8, 9:
		g.store.SetFull(false)
	default:
		p.client.SetDelay(delay.Draw(t, "there")/20, delay.Draw(t, "back")/20)
	}
}

// process kills one, or lets another one take a place; or writes the proof that
// a dead one's memory is left alone.
func (g *ranks) process(t *rapid.T) {
	p := g.anyone(t)
	switch what := dice.Draw(t, "process"); {
	case what < 2 && p.alive:
		g.kill(p)
	case what < 6 && !p.alive:
		g.join(p.rank)
	default:
		g.fences()
	}
}

func (g *ranks) kill(p *process) {
	g.mu.Lock()
	p.alive = false
	g.mu.Unlock()
	_ = p.Close()
}

// fences proves that what dead processes held is touched no more, which is so
// from now on, and writes it down where the store believes that they are dead.
func (g *ranks) fences() {
	var by *process
	for _, p := range g.processes {
		if p.alive {
			by = p
		}
	}
	if by == nil {
		return
	}
	living := make(map[ownership.Incarnation]bool) // what they opened under it is theirs to drain
	g.mu.Lock()
	for _, w := range g.requests {
		for _, o := range w.parts {
			if o.of.alive {
				living[o.life] = true
			} else {
				o.touched = false
			}
		}
	}
	g.mu.Unlock()
	for _, m := range by.Members() {
		if !m.Gone || m.Fenced || living[m.Incarnation] {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = by.Fence(ctx, cluster.Fence{Rank: m.Rank, Incarnation: m.Incarnation, Kind: "process", Checked: "it is dead", By: "the test"}) // or it is too early
		cancel()
	}
}

func (g *ranks) check() {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	steps.Add(1)
	for _, n := range g.order {
		for rank, o := range g.requests[n].parts {
			select {
			case <-o.Retired():
				if o.retired == 0 {
					g.bad = append(g.bad, fmt.Sprintf("rank %d: %v is retired and was not decided", rank, n))
				}
			default:
			}
		}
	}
	if len(g.bad) > 0 {
		g.t.Fatalf("%s\n%s", strings.Join(g.bad, "\n"), strings.Join(g.log, "\n"))
	}
}

// end lets the store heal, gives all proof that is missing, and wants every part
// of a living process given back (I15, for ranks).
func (g *ranks) end() {
	g.store.SetFull(false)
	for i, p := range g.processes {
		if p.client != nil {
			p.client.Heal()
			p.client.SetDelay(0, 0)
		}
		if !p.alive {
			g.join(i)
		}
	}
	time.Sleep(5 * lease) // who was cut off has a new life now
	g.fences()
	g.mu.Lock()
	for _, w := range g.requests {
		for _, o := range w.parts {
			if o.of.alive && o.retired == 0 {
				s := cluster.State{Outcome: o.said.Outcome, Drained: true}
				if !s.Outcome.Terminal() {
					s.Outcome = outcome.Cancelled
				}
				o.tell(s)
			}
		}
	}
	g.mu.Unlock()
	time.Sleep(5 * lease)
	g.check()
	for _, n := range g.order {
		for rank, o := range g.requests[n].parts {
			if o.of.alive && o.retired == 0 && !g.absent(n) {
				g.t.Fatalf("rank %d: all of %v is proven, and it is not retired: %v\n%s", rank, n, o.Waits(), g.text(n))
			}
			if err := o.Close(); o.of.alive && o.retired > 0 && err != nil {
				g.t.Fatalf("rank %d: %v is retired, and close says: %v", rank, n, err)
			}
		}
	}
}

// text tells all about a request, for a failure.
func (g *ranks) text(n ownership.SessionName) string {
	var b strings.Builder
	for rank, p := range g.processes {
		o := g.requests[n].parts[rank]
		fmt.Fprintf(&b, "rank %d: alive %v, %v", rank, p.alive, p.Status())
		if o != nil {
			fmt.Fprintf(&b, "; its part: opened by life %v, of the latest process %v, said %+v, ended %d, retired %d", o.life, o.of == p, o.said, o.ended, o.retired)
		}
		b.WriteString("\n")
	}
	for _, m := range g.processes[0].Members() {
		fmt.Fprintf(&b, "member: %+v\n", m)
	}
	return b.String()
}

// absent reports whether a request waits for a rank that has no reason to speak:
// it did not take part, and knows of no failure, for everybody who did succeeded,
// or speaks under a life that is over. A missing rank is a live claim, for good.
func (g *ranks) absent(n ownership.SessionName) bool {
	w := g.requests[n]
	for _, o := range w.parts {
		if o.of.alive && o.of.Incarnation() == o.life && o.said.Outcome != outcome.Succeeded {
			return false
		}
	}
	return len(w.parts) < len(g.processes)
}

func (g *ranks) bury() {
	for _, p := range append(g.past, g.processes...) {
		if p.Rank != nil {
			_ = p.Close()
		}
	}
}

func TestRanks(t *testing.T) {
	retired, lives := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			g := liveRanks(t)
			retired, lives = retired+g.retired, lives+1
		})
	})
	t.Logf("%d lives: %d parts were retired", lives, retired)
	if lives >= 100 && retired < lives {
		t.Error("the lives do not reach enough")
	}
}
