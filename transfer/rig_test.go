// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

const (
	sender   = "prefill-0"
	receiver = "decode-0"
	size     = 64 << 10
	wait     = 10 * time.Second // OperationWait
	timeout  = 60 * time.Second // T
	grace    = 30 * time.Second // G
)

// party is one endpoint with its agent and one registered arena.
type party struct {
	*transfer.Endpoint
	t      *testing.T
	agent  *loop.Agent
	arena  *memory.Arena
	region *transfer.Region

	mu         sync.Mutex
	lines      []string // guarded by mu; the timeline
	observed   uint64   // guarded by mu; the number of the latest effect
	contained  []ownership.Containment
	requests   chan *transfer.Request
	keepOwning bool // the test ends while memory is owned
	observes   bool // the timeline comes to lines
	log        book // what nobody else reads
}

// rig is a fabric with a sender and a receiver, in virtual time.
type rig struct {
	t      *testing.T
	fabric *loop.Fabric
	s, r   *party
	all    []*party
}

// inVirtualTime runs f in a synctest bubble, which also fails the test if a
// goroutine of an endpoint is left when f returns.
func inVirtualTime(t *testing.T, config loop.Config, f func(*testing.T, *rig)) {
	t.Helper()
	within(t, math.MaxInt64, config, f)
}

// atOnce does so where nothing takes time: what is over is told, and whoever waits for it
// is woken, without the help of a timeout that comes later.
func atOnce(t *testing.T, config loop.Config, f func(*testing.T, *rig)) {
	t.Helper()
	within(t, 10*time.Millisecond, config, f) // for the poller's pauses
}

// within does so where all that takes time takes less than that.
func within(t *testing.T, limit time.Duration, config loop.Config, f func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := &rig{t: t, fabric: loop.New(config)}
		g.s, g.r = g.party(sender), g.party(receiver)
		begin := time.Now()
		defer func() {
			for _, p := range g.all {
				p.end()
			}
			if took := time.Since(begin); took > limit {
				t.Errorf("something waited for a deadline: it took %v, want at most %v", took, limit)
			}
		}()
		f(t, g)
	})
}

func (g *rig) party(name string, change ...func(*transfer.Config)) *party {
	g.t.Helper()
	agent, err := g.fabric.Agent(name)
	must(g.t, err)
	p := &party{t: g.t, agent: agent, requests: make(chan *transfer.Request, 100)}
	g.all = append(g.all, p)
	config := transfer.Config{
		Name: name, Backend: agent, RequestTimeout: timeout, Grace: grace, OperationWait: wait, FirstRequest: 1,
		Contain:   func(c ownership.Containment) error { p.contain(c); return nil },
		Observe:   p.observe,
		OnRequest: func(r *transfer.Request) { p.requests <- r },
		Log:       p.log.logger(0),
	}
	observe := reflect.ValueOf(config.Observe).Pointer()
	for _, f := range change {
		f(&config)
	}
	p.observes = reflect.ValueOf(config.Observe).Pointer() == observe
	p.Endpoint, err = transfer.New(config)
	must(g.t, err)
	p.arena, err = memory.New(memory.Spec{Len: size})
	must(g.t, err)
	p.region, err = p.Register("pool", p.arena)
	must(g.t, err)
	return p
}

func (p *party) contain(c ownership.Containment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.contained = append(p.contained, c)
}

func (p *party) observe(ev transfer.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ev.Effect != nil {
		p.lines = append(p.lines, ev.Effect.String())
		if seq := ev.Effect.Stamped().Seq; seq != p.observed+1 {
			p.t.Errorf("%s: event %d follows %d", p.Name(), seq, p.observed)
		}
		p.observed++
	} else {
		p.lines = append(p.lines, ev.Note)
	}
}

// end stops the endpoint if it can be, halts it otherwise.
func (p *party) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if p.Endpoint == nil {
		return
	}
	synctest.Wait() // whoever has effects in his hands has told them
	if p.keepOwning || p.t.Failed() {
		p.Halt()
	} else if err := p.Stop(ctx); err != nil {
		p.t.Errorf("stop: %v", err)
		p.Halt()
	} else if p.observes && p.count(" -> CLOSED") == 0 {
		p.t.Errorf("%s: the timeline has a gap: its end is not told", p.Name())
	}
	if err := p.arena.Close(); err != nil && !p.keepOwning && !p.t.Failed() {
		p.t.Errorf("%s: memory is held after the end: %v", p.Name(), err)
	}
	if n := complaints(p.log.lines()); n != 0 && !p.keepOwning {
		p.t.Errorf("%s says that something is wrong:\n%s", p.Name(), strings.Join(p.log.lines(), "\n"))
	}
}

// attach joins two endpoints by a stream in memory.
func attach(t *testing.T, a, b *party) (la, lb *transfer.Link) {
	t.Helper()
	sa, sb := transfer.Pipe()
	return attachOver(t, a, b, sa, sb)
}

func attachOver(t *testing.T, a, b *party, sa, sb transfer.Stream) (la, lb *transfer.Link) {
	t.Helper()
	result := make(chan error, 1)
	go func() {
		var err error
		lb, err = b.Attach(t.Context(), sb)
		result <- err
	}()
	la, err := a.Attach(t.Context(), sa)
	must(t, errors.Join(err, <-result))
	return la, lb
}

// request asks for the receiver's whole region and returns what the sender got.
func (g *rig) request() (*transfer.Session, *transfer.Request) {
	g.t.Helper()
	rs, err := g.r.Receive(g.t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender), Label: "chat"})
	must(g.t, err)
	return rs, <-g.s.requests
}

// begin starts a whole transfer and returns both sessions.
func (g *rig) begin() (rs, ss *transfer.Session) {
	g.t.Helper()
	fill(g.s.arena, 'a')
	rs, request := g.request()
	ss, err := request.Send(transfer.SendSpec{Region: g.s.region})
	must(g.t, err)
	return rs, ss
}

func fill(a *memory.Arena, b byte) {
	data := a.Bytes()
	for i := range data {
		data[i] = b + byte(i%7)
	}
}

// expect fails unless the lines appear in the timeline in this order.
func (p *party) expect(lines ...string) {
	p.t.Helper()
	synctest.Wait()
	p.mu.Lock()
	got := slices.Clone(p.lines)
	p.mu.Unlock()
	rest := got
	for _, want := range lines {
		i := slices.IndexFunc(rest, func(line string) bool { return strings.Contains(line, want) })
		if i < 0 {
			p.t.Fatalf("%s: no %q in its place in\n%s", p.Name(), want, strings.Join(got, "\n"))
		}
		rest = rest[i+1:]
	}
}

func (p *party) count(part string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

// wantText fails unless the error says that.
func wantText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
}

func wantAnswer(t *testing.T, s *transfer.Session, want string) {
	t.Helper()
	if got := s.Answer().String(); got != want {
		t.Fatalf("%v session %v: %s, want %s", s.Side(), s.Name(), got, want)
	}
}

func wantPhysical(t *testing.T, s *transfer.Session, want ownership.Physical) {
	t.Helper()
	if got := s.Physical(); got != want {
		t.Fatalf("%v session %v is %v, want %v", s.Side(), s.Name(), got, want)
	}
}

// complaints counts lines of a log about what should never be refused.
func complaints(lines []string) (n int) {
	for _, line := range lines {
		for _, part := range []string{"level=ERROR", `msg="status of a local copy"`, "msg=watermark", "msg=gone", "msg=notification"} {
			if strings.Contains(line, part) {
				n++
			}
		}
	}
	return n
}
