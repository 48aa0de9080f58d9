// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package transfer

import (
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// child is a process of this host that a peer may be in.
type child struct {
	t       *testing.T
	process fence.Process
	end     func()
}

// newChild starts a process that lives until end, or the end of the test.
func newChild(t *testing.T) *child {
	t.Helper()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Skip("no process to look at: ", err)
	}
	c := &child{t: t}
	c.end = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = in.Close()
		_ = cmd.Wait()
	})
	t.Cleanup(c.end)
	if c.process, err = fence.Find(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *child) said() wire.Process {
	return wire.Process{PID: uint32(c.process.PID), Started: c.process.Started, Boot: c.process.Boot, Namespace: c.process.Namespace}
}

// guestIn attaches a peer's life that is in a process.
func guestIn(t *testing.T, e *Endpoint, c *child, n int) *guest {
	t.Helper()
	ours, theirs := Pipe()
	g, err := enter(t, e, ours, socket{theirs, c.process.PID, true}, wire.Hello{Version: wire.Current, Endpoint: "guest", Incarnation: nth(n), Process: c.said()})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// on makes an endpoint's backend promise what a transport does.
type on struct {
	*loop.Agent
	limits backend.Limits
}

func (b on) Limits() backend.Limits { return b.limits }

var cma, tcp = backend.Limits{Transport: "nixl/cma", OwnFence: true}, backend.Limits{Transport: "nixl/tcp", OwnFence: true}

func limits(l backend.Limits) func(*Config) {
	return func(c *Config) {
		if b, promised := c.Backend.(on); promised {
			c.Backend = b.Agent
		}
		c.Backend = on{c.Backend.(*loop.Agent), l}
	}
}

// TestFenceGone: the end of the peer's process is proof where its own system calls copy,
// of the memory that it reached by itself; what it does not prove is in doubt, and the
// life is over. Otherwise nothing has happened, and the error says why.
func TestFenceGone(t *testing.T) {
	for name, test := range map[string]struct {
		limits backend.Limits
		alive  bool
		is     error
		text   string
	}{
		"its own calls copy": {cma, false, nil, ""},
		"it lives":           {cma, true, fence.ErrAlive, "the process has not ended"},
		"over TCP":           {tcp, false, fence.ErrNotProven, "passive memory"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChild(t)
			synctest.Test(t, func(t *testing.T) {
				var lines told
				e := host(t, limits(test.limits), lines.log)
				defer e.Halt()
				g := guestIn(t, e, c, 1)
				r := mapped(t, e, "kv")
				s := asked(t, e, r)
				own := e.sends(t, g, mapped(t, e, "own"))
				idle := guestIn(t, e, c, 1) // of the same life: a later stream
				if !test.alive {
					c.end()
				}
				done, err := e.FenceGone("guest")
				if test.is != nil {
					if len(done) != 0 || !errors.Is(err, fence.ErrNotProven) || !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) {
						t.Errorf("%v, %v", done, err)
					}
					if life := ownership.Incarnation(nth(1)).String(); !strings.Contains(err.Error(), "peer guest incarnation "+life) {
						t.Errorf("%v does not name the life", err)
					}
					if idle.link.Err() != nil || !errors.Is(r.Reuse(), ownership.ErrRefused) || own.Physical() != ownership.PhysicalDraining {
						t.Errorf("something has happened: %v, %v", idle.link.Err(), own.Physical())
					}
					return
				}
				if err != nil || len(done) != 1 {
					t.Fatalf("%v, %v", done, err)
				}
				f := done[0]
				if f.Freed != 1 || f.Scope != ownership.Passive || f.Incarnation != ownership.Incarnation(nth(1)) || f.Accessor != "guest" || f.Evidence != c.process.String()+" has ended" {
					t.Errorf("%+v", f)
				}
				if len(f.Retained) != 1 || f.Retained[0].Piece.Session != own.Name() {
					t.Errorf("retained are %+v, want what our own operation reads", f.Retained)
				}
				if err := errors.Join(s.Drain(t.Context()), r.Reuse()); err != nil {
					t.Error(err)
				}
				if own.Physical() != ownership.PhysicalInDoubt {
					t.Errorf("own memory is %v", own.Physical())
				}
				<-idle.link.Done()
				if err := idle.link.Err(); !errors.Is(err, ErrGone) {
					t.Errorf("its stream ended with %v", err)
				}
				if _, err := visit(t, e, "guest", 1); !errors.Is(err, ErrGone) {
					t.Errorf("the life came back: %v", err)
				}
				if again, err := e.FenceGone("guest"); len(again) != 0 || err != nil {
					t.Errorf("nothing is held any more: %v, %v", again, err)
				}
				if n := lines.count("level=WARN msg=fence", "accessor=guest", "scope=passive", "freed=1"); n != 1 {
					t.Errorf("%d log lines", n)
				}
			})
		})
	}
}

// TestFenceGoneLooksByItself: with Config.FenceGone a process is looked for from the end
// of its stream on, first soon and then ever more seldom, at least once a second.
func TestFenceGoneLooksByItself(t *testing.T) {
	for _, test := range []struct{ ends, freed time.Duration }{
		{0, 5 * time.Millisecond}, {5*time.Millisecond - 1, 5 * time.Millisecond}, {5*time.Millisecond + 1, 15 * time.Millisecond},
		{15*time.Millisecond + 1, 35 * time.Millisecond}, {635*time.Millisecond + 1, 1275 * time.Millisecond},
		{1275*time.Millisecond + 1, 2275 * time.Millisecond}, {10 * time.Second, 10275 * time.Millisecond},
	} {
		t.Run(test.ends.String(), func(t *testing.T) {
			c := newChild(t)
			synctest.Test(t, func(t *testing.T) {
				e := host(t, limits(cma), func(c *Config) { c.FenceGone = true })
				defer e.Halt()
				g := guestIn(t, e, c, 1)
				s := asked(t, e, mapped(t, e, "kv"))
				begin := time.Now()
				_ = g.stream.Close()
				synctest.Wait()
				time.Sleep(test.ends)
				c.end()
				if err := s.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took != test.freed {
					t.Errorf("freed after %v, want %v", took, test.freed)
				}
			})
		})
	}
}

// TestFenceGoneLooksNoMore: while a peer is back, after FATAL, where the proof would be
// none, or where nobody wants it, nothing is fenced.
func TestFenceGoneLooksNoMore(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		then   func(*testing.T, *Endpoint, *child)
		fatal  bool
		lines  int // that a fence has failed
	}{
		"nobody wants it": {func(c *Config) { c.FenceGone = false }, func(*testing.T, *Endpoint, *child) {}, false, 0},
		"it is back":      {func(*Config) {}, func(t *testing.T, e *Endpoint, c *child) { guestIn(t, e, c, 1); time.Sleep(time.Second) }, false, 0},
		"FATAL": {func(c *Config) {
			c.RequestTimeout, c.Grace, c.Contain = time.Second, time.Second, func(ownership.Containment) error { return nil }
		}, func(_ *testing.T, e *Endpoint, _ *child) { <-e.Fatal(); synctest.Wait() }, true, 0},
		"no proof any more": {func(*Config) {}, func(_ *testing.T, e *Endpoint, _ *child) {
			for _, r := range e.everyRegion() {
				e.mu.Lock()
				r.memory.Kind = backend.VRAM
				e.mu.Unlock()
			}
		}, false, 1},
		"no proof from the start": {limits(tcp), func(*testing.T, *Endpoint, *child) {}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChild(t)
			synctest.Test(t, func(t *testing.T) {
				var lines told
				e := host(t, limits(cma), func(c *Config) { c.FenceGone = true }, lines.log, test.change)
				defer e.Halt()
				g := guestIn(t, e, c, 1)
				s := asked(t, e, mapped(t, e, "kv"))
				_ = g.stream.Close()
				<-g.link.Done()
				time.Sleep(10 * time.Millisecond)
				test.then(t, e, c)
				c.end()
				time.Sleep(5 * time.Second)
				want := ownership.ErrRefused
				if test.fatal {
					want = ownership.ErrFatal
				}
				if err := s.Close(); !errors.Is(err, want) {
					t.Errorf("close: %v", err)
				}
				if n := lines.count(`level=ERROR msg="fence of a process that is gone" peer=guest process=`); n != test.lines {
					t.Errorf("%d lines of a fence that failed, want %d", n, test.lines)
				}
				if n := lines.count("msg=fence "); n != 0 {
					t.Errorf("%d fences", n)
				}
			})
		})
	}
}

// TestReincarnateLooksForProcesses: where the end of our own agent is no proof for memory
// that a peer reaches, together with the end of the peer's process it is.
func TestReincarnateLooksForProcesses(t *testing.T) {
	for name, alive := range map[string]bool{"it has ended": false, "it lives": true} {
		t.Run(name, func(t *testing.T) {
			c := newChild(t)
			synctest.Test(t, func(t *testing.T) {
				fabric := loop.New(loop.Config{})
				agent, err := fabric.Agent("host")
				if err != nil {
					t.Fatal(err)
				}
				e := host(t, func(c *Config) { c.Backend = on{agent, cma} })
				defer e.Halt()
				guestIn(t, e, c, 1)
				if _, err := visit(t, e, "another", 1); err != nil {
					t.Fatal(err)
				}
				r := mapped(t, e, "kv")
				s := asked(t, e, r)
				if !alive {
					c.end()
				}
				got, err := e.Reincarnate(t.Context(), func(name string) (backend.Backend, error) {
					a, err := fabric.Agent(name)
					return on{a, cma}, err
				})
				if err != nil {
					t.Fatal(err)
				}
				fenced, retained := 1, 0
				if alive {
					fenced, retained = 0, 1
				}
				if got.Fenced != fenced || len(got.Retained) != retained || got.Proven.Passive.Proven || !got.Proven.Own.Proven {
					t.Errorf("%+v", got)
				}
				if err := s.Close(); errors.Is(err, ownership.ErrRefused) != alive {
					t.Errorf("close: %v", err)
				}
				if strings.Join(got.Peers, " ") != "another guest" {
					t.Errorf("peers to attach are %q", got.Peers)
				}
			})
		})
	}
}

// watchers counts who looks for a process.
func watchers() int {
	synctest.Wait()
	all := make([]byte, 1<<20)
	return strings.Count(string(all[:runtime.Stack(all, true)]), "(*peer).watch(")
}

// TestFenceGoneLooksAsLongAsItMatters: until the peer is back, or nothing waits for proof
// about a life that is over.
func TestFenceGoneLooksAsLongAsItMatters(t *testing.T) {
	c := newChild(t)
	synctest.Test(t, func(t *testing.T) {
		e := host(t, limits(cma), func(c *Config) { c.FenceGone = true })
		want := func(n int, when string) {
			t.Helper()
			time.Sleep(2 * lastLook)
			if got := watchers(); got != n {
				t.Errorf("%s: %d look, want %d", when, got, n)
			}
		}
		lose := func(g *guest) {
			_ = g.stream.Close()
			<-g.link.Done()
		}
		g := guestIn(t, e, c, 1)
		want(0, "attached")
		lose(g)
		want(1, "its stream is lost")
		g = guestIn(t, e, c, 1)
		want(0, "it is back")
		s := asked(t, e, mapped(t, e, "kv"))
		lose(g)
		want(1, "its stream is lost again")
		mustVisit(t, e, "guest", 2)
		want(1, "another life has come, and memory is held about the first")
		if err := e.Fence(ownership.FenceSpec{Accessor: "guest", Incarnation: ownership.Incarnation(nth(1)), Scope: ownership.Passive}); err != nil {
			t.Fatal(err)
		}
		want(0, "nothing is held any more")
		if err := s.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		lose(guestIn(t, e, c, 3))
		want(1, "a third life's stream is lost")
		c.end()
		want(0, "its process has ended, and nothing is held")
		if list := e.Explain().Fences; len(list) != 1 {
			t.Errorf("fences: %+v", list)
		}
		lose(guestIn(t, e, newChild(t), 4))
		want(1, "a fourth life's stream is lost")
		e.Halt()
		if n := watchers(); n != 0 {
			t.Errorf("%d look after Halt", n)
		}
	})
}
