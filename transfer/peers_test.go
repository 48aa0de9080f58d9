// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// host is an endpoint that strangers attach to.
func host(t *testing.T, change ...func(*Config)) *Endpoint {
	t.Helper()
	agent, err := loop.New(loop.Config{}).Agent("host")
	if err != nil {
		t.Fatal(err)
	}
	var lines told // what nobody else reads
	t.Cleanup(func() {
		for _, part := range []string{"level=ERROR", "msg=watermark", "msg=gone", "msg=notification"} {
			if lines.count(part) != 0 {
				t.Errorf("the host says that something is wrong:\n%s", lines.all.String())
			}
		}
	})
	c := Config{Name: "host", Backend: agent, Log: slog.New(slog.NewTextHandler(&lines, nil)), Contain: func(ownership.Containment) error { t.Error("FATAL"); return nil }}
	for _, f := range change {
		f(&c)
	}
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// guest is a peer made by hand.
type guest struct {
	t      *testing.T
	name   string
	life   wire.Incarnation
	stream Stream
	link   *Link
	hello  wire.Hello // the host's
	seq    uint64

	mu    sync.Mutex
	heard []wire.Message // guarded by mu
}

func nth(n int) (l wire.Incarnation) {
	binary.BigEndian.PutUint64(l[:], uint64(n))
	return l
}

// visit attaches a life of a peer, which reads what it is told.
func visit(t *testing.T, e *Endpoint, name string, n int) (*guest, error) {
	t.Helper()
	ours, theirs := Pipe()
	return enter(t, e, ours, theirs, wire.Hello{Version: wire.Current, Endpoint: name, Incarnation: nth(n)})
}

// enter attaches a peer that says a Hello.
func enter(t *testing.T, e *Endpoint, ours, theirs Stream, h wire.Hello) (*guest, error) {
	t.Helper()
	result := make(chan error, 1)
	g := &guest{t: t, stream: ours, name: h.Endpoint, life: h.Incarnation}
	go func() {
		var err error
		g.link, err = e.Attach(t.Context(), theirs)
		result <- err
	}()
	m, err := ours.Recv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.hello = m.(wire.Hello)
	g.send(h)
	if err := <-result; err != nil {
		return nil, err
	}
	go func() {
		for {
			m, err := ours.Recv(t.Context())
			if err != nil {
				return
			}
			g.mu.Lock()
			g.heard = append(g.heard, m)
			g.mu.Unlock()
		}
	}()
	g.send(wire.Receipt{})
	return g, nil
}

// told returns what the guest has heard of a kind, and forgets it.
func (g *guest) told(k wire.Kind) (list []wire.Message) {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.heard {
		if m.Kind() == k {
			list = append(list, m)
		}
	}
	g.heard = slices.DeleteFunc(g.heard, func(m wire.Message) bool { return m.Kind() == k })
	return list
}

// next sends a numbered message.
func (g *guest) next(m wire.Sequenced) {
	g.t.Helper()
	g.seq++
	g.send(m.WithSequence(g.seq))
}

func (g *guest) send(m wire.Message) {
	g.t.Helper()
	if err := g.stream.Send(g.t.Context(), m); err != nil {
		g.t.Fatalf("%v: %v, %v", m, err, g.link.Err())
	}
}

func (g *guest) cancel(endpoint string, n int) {
	g.t.Helper()
	g.next(wire.CancelSession{From: wire.Receive, Session: wire.SessionName{Request: wire.RequestID{Endpoint: endpoint, Number: uint64(n)}, Attempt: 1}})
}

// goodbye leaves, as one that has stopped.
func (g *guest) goodbye() {
	g.t.Helper()
	g.send(wire.Goodbye{})
	<-g.link.Done()
}

func (e *Endpoint) known() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.peers)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// wantNoGrowth runs f 10,000 times; what is in use afterwards is what was after a tenth.
func wantNoGrowth(t *testing.T, f func(n int)) {
	t.Helper()
	const times = 10_000
	var before uint64
	for n := 1; n <= times; n++ {
		f(n)
		if n == times/10 {
			synctest.Wait()
			before = heapInUse()
		}
	}
	synctest.Wait()
	after := heapInUse()
	t.Logf("%d KiB in use after %d, %d KiB after %d", before>>10, times/10, after>>10, times)
	if after > before+512<<10 {
		t.Errorf("the heap grew by %d KiB", (after-before)>>10)
	}
}

// However often a peer comes back, with Goodbye or without, what is remembered of it
// does not grow; the latest of its lives are not taken for new ones.
func TestManyLivesOfAPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t, func(c *Config) { c.Tombstones = 40 })
		defer e.Halt()
		const last = 10_000
		wantNoGrowth(t, func(n int) {
			g, err := visit(t, e, "guest", n)
			if err != nil {
				t.Fatal(err)
			}
			g.cancel("guest", n) // all but ten find no room
			if n%100 == 0 {
				time.Sleep(retryCancel)
			}
			switch n % 3 {
			case 0:
				g.goodbye()
			case 1:
				_ = g.stream.Close()
			}
		})
		p := e.lookup("guest")
		p.mu.Lock()
		former, present := slices.Clone(p.gone), p.life
		p.mu.Unlock()
		if len(former) != maxFormer || present != ownership.Incarnation(nth(last)) {
			t.Errorf("%d former lives are remembered, and %v is the present one", len(former), present)
		}
		for _, n := range []int{last - 1, last - maxFormer} {
			if _, err := visit(t, e, "guest", n); err == nil {
				t.Errorf("life %d came back", n)
			}
		}
		if n := e.Counters().Tombstones; n != 10 {
			t.Errorf("%d tombstones, want a quarter of 40", n)
		}
		if n := p.postponed.Load(); n > 1 {
			t.Errorf("%d cancels of former lives wait still", n)
		}
	})
}

// A life that something owned names is remembered, however many come after it.
func TestNamedLifeIsRemembered(t *testing.T) {
	var f formerLives
	named := func(l ownership.Incarnation) bool { return l == ownership.Incarnation(nth(3)) }
	for n := 1; n <= 1000; n++ {
		f.add(ownership.Incarnation(nth(n)), named)
	}
	if len(f) != maxFormer || !f.has(ownership.Incarnation(nth(3))) || !f.has(ownership.Incarnation(nth(1000))) || f.has(ownership.Incarnation(nth(900))) {
		t.Errorf("%d are remembered: %v", len(f), f)
	}
}

// Peers of ever new names take the places of those that have left nothing.
func TestManyNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t, func(c *Config) { c.Peers = 64 })
		defer e.Halt()
		stays, err := visit(t, e, "stays", 1)
		if err != nil {
			t.Fatal(err)
		}
		wantNoGrowth(t, func(n int) {
			g, err := visit(t, e, fmt.Sprint("guest-", n), n)
			switch {
			case err != nil:
				t.Fatal(n, err)
			case n%2 == 0:
				g.goodbye()
			default: // it crashed, and nothing is owed to it
				_ = g.stream.Close()
				<-g.link.Done()
			}
			synctest.Wait()
		})
		if n := e.known(); n > 64 {
			t.Errorf("%d peers are known", n)
		}
		if p := e.lookup("stays"); p == nil || stays.link.Err() != nil {
			t.Error("one with a stream was forgotten")
		}
	})
}

// Where every peer is in use, a new name is turned away, and those that are there go on.
func TestNoRoomForAPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t, func(c *Config) { c.Peers = 3 })
		defer e.Halt()
		var guests []*guest
		for n := range 3 {
			g, err := visit(t, e, fmt.Sprint("guest-", n), 1)
			if err != nil {
				t.Fatal(err)
			}
			guests = append(guests, g)
		}
		if _, err := visit(t, e, "late", 1); ownership.KindOf(err) != ownership.KindCapacity {
			t.Fatalf("got %v, want capacity", err)
		}
		if g, err := visit(t, e, "guest-1", 1); err != nil || g.link.Incarnation() != guests[1].link.Incarnation() {
			t.Fatalf("one that is known: %v", err)
		}
		guests[0].goodbye()
		synctest.Wait()
		if _, err := visit(t, e, "late", 1); err != nil {
			t.Fatal(err)
		}
		if e.lookup("guest-0") != nil || e.lookup("guest-1") == nil {
			t.Error("the wrong one was forgotten")
		}
	})
}
