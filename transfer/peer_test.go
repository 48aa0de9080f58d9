// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

var someSession = wire.SessionName{Request: wire.RequestID{Endpoint: "x", Number: 1}, Attempt: 1}

// bare returns a peer of an endpoint that was never attached.
func bare(e *Endpoint, name ownership.Accessor) *peer {
	return &peer{endpoint: e, name: name, life: ownership.Incarnation{1}, wake: newSignal(), attach: make(chan struct{}, 1)}
}

// TestWhatIsOwedToAPeer: everything that waits to be sent, or to be confirmed by either
// side, counts; a peer to whom anything is owed is not quiet.
func TestWhatIsOwedToAPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		message := wire.SessionQuiesced{Session: someSession}
		for name, test := range map[string]struct {
			owe   func(*peer)
			want  int
			quiet bool
		}{
			"nothing":         {func(*peer) {}, 0, true},
			"no confirmation": {func(p *peer) { p.out.window = []wire.Sequenced{message, message} }, 2, false},
			"requests":        {func(p *peer) { p.out.queue = []*publication{newPublication(wire.RequestData{})} }, 1, false},
			"replies":         {func(p *peer) { p.out.replies = []wire.Sequenced{message, message, message} }, 3, false},
			"all of it": {func(p *peer) {
				p.out.window, p.out.queue, p.out.replies = make([]wire.Sequenced, 5), make([]*publication, 2), make([]wire.Sequenced, 1)
			}, 8, false},
			"an idle stream":    {func(p *peer) { p.link = &Link{} }, 0, false},
			"a receipt":         {func(p *peer) { p.link, p.received = &Link{confirmed: 4}, 5 }, 1, false},
			"no receipt":        {func(p *peer) { p.link, p.received = &Link{confirmed: 5}, 5 }, 0, false},
			"one is being sent": {func(p *peer) { p.link = &Link{busy: true} }, 1, false},
			"Goodbye":           {func(p *peer) { p.link = &Link{leaving: true} }, 1, false},
			"Goodbye was said":  {func(p *peer) { p.link = &Link{leaving: true, left: true} }, 0, false},
			"both":              {func(p *peer) { p.link, p.out.window = &Link{busy: true}, []wire.Sequenced{message} }, 2, false},
		} {
			p := bare(e, "x")
			test.owe(p)
			if n := p.pending(); n != test.want {
				t.Errorf("%s: %d is pending, want %d", name, n, test.want)
			}
			if quiet := !p.quiet().IsZero(); quiet != test.quiet {
				t.Errorf("%s: quiet is %v", name, quiet)
			}
		}
	})
}

// TestForgettablePeers: one of which nothing is left.
func TestForgettablePeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		for name, test := range map[string]struct {
			has  func(*peer)
			want bool
		}{
			"nothing": {func(p *peer) { p.life = ownership.Incarnation{} }, true}, "a life": {func(*peer) {}, false},
			"a stream":   {func(p *peer) { p.life, p.link = ownership.Incarnation{}, &Link{} }, false},
			"an agent":   {func(p *peer) { p.life, p.agent = ownership.Incarnation{}, "a" }, false},
			"work to do": {func(p *peer) { p.life = ownership.Incarnation{}; p.backend.running = true }, false},
		} {
			p := bare(e, "x")
			test.has(p)
			if p.forgettable() != test.want {
				t.Errorf("%s: forgettable is %v", name, !test.want)
			}
		}
	})
}

// TestFencedPeerIsNotAsked: a fence of what a peer reaches by itself leaves nothing to ask
// it about that, and takes nothing else from what it is told.
func TestFencedPeerIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		ask, decline, quiesced := wire.CancelSession{Session: someSession, From: wire.Receive}, wire.CancelSession{Session: someSession, From: wire.Send}, wire.SessionQuiesced{Session: someSession}
		for _, test := range []struct {
			spec ownership.FenceSpec
			left int
			over bool
		}{
			{ownership.FenceSpec{Scope: ownership.Passive}, 2, false}, {ownership.FenceSpec{Scope: ownership.Passive, Incarnation: ownership.Incarnation{1}}, 2, false},
			{ownership.FenceSpec{Scope: ownership.Passive, Incarnation: ownership.Incarnation{2}}, 3, false}, {ownership.FenceSpec{Scope: ownership.Own}, 3, false},
			{ownership.FenceSpec{Scope: ownership.All}, 0, true}, {ownership.FenceSpec{Scope: ownership.All, Incarnation: ownership.Incarnation{2}}, 3, false},
		} {
			p := bare(e, "x")
			p.out.replies = []wire.Sequenced{decline, ask, quiesced}
			p.fence(test.spec)
			if asks := slices.Contains(p.out.replies, wire.Sequenced(ask)); asks != (test.left == 3) {
				t.Errorf("%+v: it is asked: %v", test.spec, asks)
			}
			if len(p.out.replies) != test.left || p.life.IsZero() != test.over || p.isGone(ownership.Incarnation{1}) != test.over {
				t.Errorf("%+v: %v is left, its life is %v", test.spec, p.out.replies, p.life)
			}
		}
	})
}

// TestRetire: only the present life ends, and with it what waits for it and its process.
func TestRetire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		p := bare(e, "x")
		one, two := ownership.Incarnation{1}, ownership.Incarnation{2}
		p.processes = []identity{{life: ownership.Incarnation{9}}, {life: one}}
		for _, life := range []ownership.Incarnation{{}, two} {
			if p.retire(life) || !p.lives(one) || p.isGone(life) {
				t.Errorf("%v was the present life", life)
			}
		}
		p.out.replies = []wire.Sequenced{wire.SessionQuiesced{Session: someSession}}
		moved := e.changed.wait()
		if !p.retire(one) || p.lives(one) || !p.isGone(one) || p.pending() != 0 {
			t.Errorf("%+v", p.out)
		}
		<-moved
		if len(p.processes) != 1 || p.processes[0].life != one {
			t.Errorf("processes of %v", p.processes)
		}
		if p.retire(one) || p.retire(ownership.Incarnation{}) {
			t.Error("it ends once")
		}
		p.begin(two)
		p.received = 7
		p.out.last = 3
		p.begin(two)
		if p.received != 7 || p.out.last != 3 {
			t.Error("a second stream of a life begins anew")
		}
		p.begin(ownership.Incarnation{3})
		if p.received != 0 || p.out.last != 0 {
			t.Error("another life does not begin anew")
		}
	})
}

// TestAgentsNames: an agent is one peer's, never our own, and free again when given up.
func TestAgentsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		a, b := bare(e, "a"), bare(e, "b")
		if err := errors.Join(a.take("agent"), a.take("agent"), b.take("another")); err != nil {
			t.Error(err)
		}
		if err := b.take("agent"); !errors.Is(err, backend.ErrMetadata) || !strings.Contains(err.Error(), `agent "agent" is that of peer a`) {
			t.Errorf("another's: %v", err)
		}
		if err := b.take("host"); !errors.Is(err, backend.ErrMetadata) || !strings.Contains(err.Error(), `agent "host" is our own`) {
			t.Errorf("our own: %v", err)
		}
		b.drop("agent")
		if err := b.take("agent"); err == nil {
			t.Error("it was given up by somebody else")
		}
		a.drop("agent")
		if err := b.take("agent"); err != nil {
			t.Error(err)
		}
		if len(e.agents) != 2 {
			t.Errorf("%d agents", len(e.agents))
		}
	})
}

// TestAgentOfAPeerChanges: metadata that are loaded are not loaded again, those of another
// agent are; the old agent's name is free then.
func TestAgentOfAPeerChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loads []string
		e := host(t, func(c *Config) { c.Backend = loading{c.Backend, &loads} })
		defer e.Halt()
		p := bare(e, "a")
		connect := func(agent, metadata string) (now string, err error) {
			done := make(chan struct{})
			p.connect(agent, []byte(metadata), func(as string, failed error) { now, err = as, failed; close(done) })
			<-done
			return now, err
		}
		for _, test := range []struct{ agent, metadata, now, load string }{
			{"one", "m", "one", "one m"}, {"one", "m", "one", ""}, {"", "m", "one", ""}, {"", "", "one", ""}, {"", "n", "one", "one n"},
			{"two", "n", "two", "two n"}, {"one", "", "one", ""}, {"one", "n", "one", ""},
		} {
			loads = nil
			now, err := connect(test.agent, test.metadata)
			if err != nil || now != test.now || strings.Join(loads, "; ") != test.load {
				t.Errorf("%+v: %q, %v, loaded %q", test, now, err, loads)
			}
			if len(e.agents) != 1 || e.agents[test.now] != p || p.agent != test.now {
				t.Errorf("%+v: agents are %v", test, e.agents)
			}
		}
		if _, err := connect("three", "bad"); err == nil || p.agent != "one" || len(e.agents) != 1 || e.agents["one"] != p {
			t.Errorf("%v; the agent is %s of %v", err, p.agent, e.agents)
		}
	})
}

// loading keeps what is loaded, and refuses "bad".
type loading struct {
	backend.Backend
	loads *[]string
}

func (b loading) Connect(peer string, metadata []byte) error {
	if string(metadata) == "bad" {
		return backend.ErrMetadata
	}
	*b.loads = append(*b.loads, peer+" "+string(metadata))
	return nil
}

func (b loading) Disconnect(string) error { return nil }

// TestPlacesOfPeers: a full table forgets an eighth, those first whose handshake is the
// longest ago, and none with whom one runs or who asks for something.
func TestPlacesOfPeers(t *testing.T) {
	for _, test := range []struct {
		peers   int
		forgets string
	}{{4, "1"}, {8, "1"}, {15, "1"}, {16, "1 3"}, {24, "1 3 4"}} {
		synctest.Test(t, func(t *testing.T) {
			e := host(t, func(c *Config) { c.Peers = test.peers })
			defer e.Halt()
			for n := 1; n <= test.peers; n++ {
				mustVisit(t, e, fmt.Sprint("guest-", n), 1).goodbye()
			}
			mustVisit(t, e, "guest-2", 2).goodbye() // its latest handshake is the newest
			synctest.Wait()                         // the backend has forgotten them
			mustVisit(t, e, "new", 1)
			var gone []string
			for n := 1; n <= test.peers; n++ {
				if e.lookup(ownership.Accessor(fmt.Sprint("guest-", n))) == nil {
					gone = append(gone, fmt.Sprint(n))
				}
			}
			if strings.Join(gone, " ") != test.forgets || e.known() != test.peers-len(gone)+1 {
				t.Errorf("%d peers: %v are forgotten of %d", test.peers, gone, e.known())
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		e := host(t, func(c *Config) { c.Peers = 4 })
		defer e.Halt()
		for n := 1; n <= 4; n++ {
			mustVisit(t, e, fmt.Sprint("guest-", n), 1).goodbye()
		}
		synctest.Wait() // the backend has forgotten them
		e.mu.Lock()
		e.peers["guest-1"].greeting++
		e.requests.byPeer["guest-2"] = 1
		e.mu.Unlock()
		mustVisit(t, e, "new", 1)
		if e.lookup("guest-1") == nil || e.lookup("guest-2") == nil || e.lookup("guest-3") != nil || e.lookup("guest-4") == nil {
			t.Error("the wrong one was forgotten")
		}
		p := e.lookup("guest-4")
		for name, old := range map[string]met{"another handshake": {p, p.greeted - 1}, "another record": {&peer{name: "guest-4", greeted: 5}, 5}, "a handshake runs": {e.peers["guest-1"], e.peers["guest-1"].greeted}} {
			if e.drop(old) || e.lookup("guest-4") != p {
				t.Errorf("%s: it is forgotten", name)
			}
		}
		if !e.drop(met{p, p.greeted}) || e.lookup("guest-4") != nil {
			t.Error("it is not forgotten")
		}
	})
}

// TestOneCrashedPeerMakesRoom: where nobody has left in good order, one whose stream is
// lost and to whom nothing is owed makes room, the one that came first, and no other.
func TestOneCrashedPeerMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t, func(c *Config) { c.Peers = 16 })
		defer e.Halt()
		for n := 1; n <= 16; n++ {
			g := mustVisit(t, e, fmt.Sprint("guest-", n), 1)
			if n == 4 { // something is owed to it
				asked4(t, e, g)
			}
			if n >= 4 && n <= 8 {
				_ = g.stream.Close()
				<-g.link.Done()
			}
		}
		for n, want := range []string{"guest-5", "guest-6", "guest-7", "guest-8"} {
			synctest.Wait()
			mustVisit(t, e, fmt.Sprint("new-", n), 1)
			if e.lookup(ownership.Accessor(want)) != nil || e.known() != 16 {
				t.Errorf("%s is known, of %d", want, e.known())
			}
		}
		if _, err := visit(t, e, "late", 1); ownership.KindOf(err) != ownership.KindCapacity || !strings.Contains(err.Error(), "peer late") || !strings.Contains(err.Error(), "all 16 peers are in use") {
			t.Errorf("got %v", err)
		}
		if e.lookup("guest-4") == nil {
			t.Error("one to whom something is owed is forgotten")
		}
	})
}

func asked4(t *testing.T, e *Endpoint, g *guest) {
	t.Helper()
	if _, err := e.Receive(t.Context(), ReceiveSpec{Region: mapped(t, e, "kv"), From: FromPeers(g.name)}); err != nil {
		t.Fatal(err)
	}
}

// TestReportsForALifeThatIsGone: they are dropped and counted, whoever would send them.
func TestReportsForALifeThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		s := e.sends(t, g, mapped(t, e, "kv"))
		_ = g.stream.Close()
		<-g.link.Done()
		if _, err := s.Cancel(); err != nil { // it waits for the next stream
			t.Fatal(err)
		}
		if n := e.Counters(); n.UndeliverableReports != 0 || n.Outbox != 1 {
			t.Errorf("%d undeliverable, %d wait", n.UndeliverableReports, n.Outbox)
		}
		g = mustVisit(t, e, "guest", 2)
		synctest.Wait()
		// The cancel, and that its end put our operation in doubt.
		if n := e.Counters(); n.UndeliverableReports != 2 || n.Outbox != 0 {
			t.Errorf("%d undeliverable, %d wait", n.UndeliverableReports, n.Outbox)
		}
		if list := g.told(wire.KindCancelSession); len(list) != 0 {
			t.Errorf("the new life is told %v", list)
		}
	})
}

// TestBackendForgetsALife: before the next one's metadata are loaded.
func TestBackendForgetsALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loads []string
		e := host(t, func(c *Config) { c.Backend = forgetting{loading{c.Backend, &loads}} })
		defer e.Halt()
		for n, metadata := range []string{"one", "two"} {
			ours, theirs := Pipe()
			if _, err := enter(t, e, ours, theirs, wire.Hello{Version: wire.Current, Endpoint: "guest", Incarnation: nth(n + 1), Metadata: []byte(metadata)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(loads, "; "); got != "guest one; forget guest; guest two" {
			t.Errorf("the backend is told %s", got)
		}
	})
}

type forgetting struct{ loading }

func (b forgetting) Disconnect(peer string) error {
	*b.loads = append(*b.loads, "forget "+peer)
	return nil
}

// TestFormerLivesAreBounded: the oldest that nothing names makes room, and where all are
// named none does.
func TestFormerLivesAreBounded(t *testing.T) {
	add := func(n int, named ...int) (f formerLives) {
		for k := 1; k <= n; k++ {
			f.add(ownership.Incarnation(nth(k)), func(l ownership.Incarnation) bool {
				return slices.ContainsFunc(named, func(k int) bool { return l == ownership.Incarnation(nth(k)) })
			})
		}
		return f
	}
	var all []int
	for n := range maxFormer + 6 {
		all = append(all, n+1)
	}
	for _, test := range []struct {
		named, gone []int
	}{{nil, []int{1, 2, 3, 4, 5, 6}}, {[]int{1, 2, 4}, []int{3, 5, 6, 7, 8, 9}}, {all, nil}} {
		f := add(maxFormer+6, test.named...)
		var gone []int
		for _, n := range all {
			if !f.has(ownership.Incarnation(nth(n))) {
				gone = append(gone, n)
			}
		}
		if !slices.Equal(gone, test.gone) || len(f) != len(all)-len(gone) {
			t.Errorf("named %v: %v are forgotten of %d, want %v", test.named, gone, len(f), test.gone)
		}
	}
}

// TestCrashedPeersStayWhereThereIsRoom: as long as one makes room that has left in good
// order, and one of them is enough.
func TestCrashedPeersStayWhereThereIsRoom(t *testing.T) {
	for _, peers := range []int{4, 16} {
		synctest.Test(t, func(t *testing.T) {
			e := host(t, func(c *Config) { c.Peers = peers })
			defer e.Halt()
			crash := func(g *guest) {
				_ = g.stream.Close()
				<-g.link.Done()
			}
			crash(mustVisit(t, e, "crashed", 1))
			mustVisit(t, e, "left", 1).goodbye()
			for n := range peers - 2 {
				mustVisit(t, e, fmt.Sprint("stays-", n), 1)
			}
			synctest.Wait() // the backend has forgotten it
			mustVisit(t, e, "new-1", 1)
			if e.lookup("left") != nil || e.lookup("crashed") == nil || !e.lookup("crashed").lives(ownership.Incarnation(nth(1))) {
				t.Error("the wrong one made room")
			}
			mustVisit(t, e, "new-2", 1)
			if e.lookup("crashed") != nil || e.known() != peers {
				t.Errorf("%d peers are known", e.known())
			}
		})
	}
}
