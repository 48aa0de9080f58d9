// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// An endpoint whose backend cannot say what peers need to know is not made.
func TestNewNeedsUsableArguments(t *testing.T) {
	good := func(c *transfer.Config) {}
	for name, test := range map[string]struct {
		change func(*transfer.Config)
		fails  string // call of the backend
		want   error
		text   string
	}{
		"no containment": {func(c *transfer.Config) { c.Contain = nil }, "", ownership.ErrInvalidArgument, "transfer: endpoint a: "},
		"no name":        {func(c *transfer.Config) { c.Name = "" }, "", transfer.ErrConfig, "transfer: config: "},
		"no metadata":    {good, "Metadata", errScript, "transfer: metadata of a: " + transfer.ErrConfig.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no goroutine is left
				agent, err := loop.New(loop.Config{}).Agent("a")
				must(t, err)
				b := &scripted{}
				b.fail(test.fails, errScript)
				config := transfer.Config{Name: "a", Backend: agent, Contain: func(ownership.Containment) error { return nil }}
				test.change(&config)
				script(b)(&config)
				e, err := transfer.New(config)
				if e != nil {
					t.Error("there is an endpoint")
				}
				wantErr(t, err, test.want)
				wantText(t, err, test.text)
			})
		})
	}
}

// Memory that the backend does not register is not registered: the name is free again,
// and so is the memory.
func TestBackendRefusesARegistration(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		b := &scripted{}
		p := g.party("a", script(b))
		arena := g.arena()
		b.fail("Register", errScript)
		r, err := p.Register("kv", arena)
		if r != nil {
			t.Errorf("there is a region")
		}
		wantErr(t, err, errScript)
		wantErr(t, err, transfer.ErrConfig)
		wantText(t, err, "transfer: region kv: ")
		r, err = p.Register("kv", arena)
		must(t, err)
		wantErr(t, arena.Close(), memory.ErrHeld)
		must(t, errors.Join(r.Deregister(), arena.Close()))
	})
}

// Arguments that cannot be meant are said to be wrong, and change nothing.
func TestUnusableMemory(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		addr := g.arena().Addr()
		for name, test := range map[string]struct {
			register func() (*transfer.Region, error)
			text     string
		}{
			"no arena":   {func() (*transfer.Region, error) { return g.r.Register("x", nil) }, "the arena is nil"},
			"no address": {func() (*transfer.Region, error) { return g.r.RegisterMemory("x", backend.Memory{Len: 1}) }, "address or length is 0"},
			"no length":  {func() (*transfer.Region, error) { return g.r.RegisterMemory("x", backend.Memory{Addr: addr}) }, "address or length is 0"},
			"device beyond numbers": {func() (*transfer.Region, error) {
				return g.r.RegisterDevice("x", &deviceMemory{party: g.s, ordinal: 1 << 31, on: true})
			}, "device 2147483648"},
			"device below numbers": {func() (*transfer.Region, error) {
				return g.r.RegisterDevice("x", &deviceMemory{party: g.s, ordinal: -1, on: true})
			}, "device -1"},
			"no device":      {func() (*transfer.Region, error) { return g.r.RegisterDevice("x", nil) }, "the memory is nil"},
			"not to be held": {func() (*transfer.Region, error) { return g.r.RegisterDevice("x", unheld{&deviceMemory{party: g.s}}) }, errScript.Error()},
		} {
			r, err := test.register()
			if r != nil || !errors.Is(err, transfer.ErrConfig) {
				t.Errorf("%s: %v, %v", name, r, err)
			}
			wantText(t, err, "region x: ")
			wantText(t, err, test.text)
		}
		one, err := g.r.RegisterMemory("x", backend.Memory{Addr: addr, Len: 1})
		must(t, err)
		must(t, one.Deregister())
	})
}

// unheld is memory that cannot be kept from being freed.
type unheld struct{ *deviceMemory }

func (unheld) Hold() (func(), error) { return nil, errScript }

// spaced is a backend that says which memory it was given.
type spaced struct {
	*loop.Agent
	got []backend.Memory
}

func (b *spaced) Register(m backend.Memory) (backend.Registration, error) {
	b.got = append(b.got, m)
	m.Space = backend.Space{}
	return b.Agent.Register(m)
}

// The backend hears which device memory is of, to the last ordinal.
func TestDeviceOfMemory(t *testing.T) {
	for _, ordinal := range []int{0, 3, 1<<31 - 1} {
		atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
			b := &spaced{}
			p := g.party("a", func(c *transfer.Config) { b.Agent = c.Backend.(*loop.Agent); c.Backend = b })
			other := g.party("b")
			r, err := p.RegisterDevice("vram", &deviceMemory{party: other, ordinal: ordinal, on: true})
			must(t, err)
			want := backend.Memory{Addr: other.arena.Addr(), Len: size, Space: backend.Space{Kind: backend.VRAM, Device: uint32(ordinal)}}
			if got := b.got[len(b.got)-1]; got != want || r.Memory() != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			must(t, r.Deregister())
		})
	}
}

// A region that comes with an error is registered all the same: peers could not be told
// of it, and the backend did not take that back either. It is the caller's to deregister.
func TestRegionThatComesWithAnError(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		b := &scripted{}
		p := g.party("a", script(b))
		refused := errors.New("not now")
		arena := g.arena()
		b.fail("Metadata", errScript)
		b.fail("Deregister", refused)
		r, err := p.Register("kv", arena)
		wantErr(t, err, errScript)
		wantErr(t, err, refused)
		if r == nil {
			t.Fatal("no region to deregister")
		}
		wantErr(t, arena.Close(), memory.ErrHeld)
		if state, known := r.State(); !known || !state.Registered {
			t.Errorf("it is %+v, %v", state, known)
		}
		must(t, errors.Join(r.Deregister(), arena.Close()))
	})
}

// Deregister that the backend refuses leaves the memory registered and held; a second
// call goes on where that one was. What comes after it is said, and undoes nothing.
func TestBackendRefusesADeregistration(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		b := &scripted{}
		p := g.party("a", script(b))
		arena := g.arena()
		r, err := p.Register("kv", arena)
		must(t, err)
		b.fail("Deregister", errScript)
		err = r.Deregister()
		wantErr(t, err, errScript)
		wantErr(t, err, transfer.ErrConfig)
		wantText(t, err, "transfer: region kv: ")
		wantErr(t, arena.Close(), memory.ErrHeld)
		if state, known := r.State(); !known || state.Registered {
			t.Errorf("it is %+v, %v: to the rules it is gone", state, known)
		}
		must(t, errors.Join(r.Deregister(), arena.Close()))

		r, err = p.Register("kv", g.arena())
		must(t, err)
		b.fail("Metadata", errScript)
		wantErr(t, r.Deregister(), errScript)
		if _, known := r.State(); known {
			t.Error("it is still known")
		}
		wantErr(t, r.Deregister(), ownership.ErrInvalidArgument)
	})
}

// While a region is deregistered nobody takes it, and it is not while somebody does.
func TestRegionIsNotTakenWhileItLeaves(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		b := &scripted{}
		p := g.party("a", script(b))
		attach(t, g.s, p)
		release := b.hold("Deregister")
		left := make(chan error, 1)
		go func() { left <- p.region.Deregister() }()
		synctest.Wait()
		for name, take := range map[string]func() error{
			"reuse": p.region.Reuse, "again": p.region.Deregister,
			"pool": func() error { _, err := p.region.Pool(blockSize); return err },
			"receive": func() error {
				_, err := p.Receive(t.Context(), transfer.ReceiveSpec{Region: p.region, From: transfer.FromPeers(sender)})
				return err
			},
		} {
			if err := take(); !errors.Is(err, ownership.ErrRefused) {
				t.Errorf("%s: %v", name, err)
			} else {
				wantText(t, err, "is just being deregistered")
			}
		}
		release()
		must(t, <-left)
	})
}

// Stop that the backend does not let end says so, and may be called again: nothing is
// forgotten, and the endpoint goes on.
func TestStopThatTheBackendRefuses(t *testing.T) {
	busy := errors.Join(errScript, backend.ErrInFlight)
	for name, test := range map[string]struct {
		fails map[string]error
		is    []error
		text  string
	}{
		"deregister":       {map[string]error{"Deregister": errScript}, []error{errScript, transfer.ErrConfig}, "transfer: region "},
		"close":            {map[string]error{"Close": errScript}, []error{errScript, transfer.ErrConfig}, "transfer: backend of a: "},
		"close and fence":  {map[string]error{"Close": busy, "Fence": memory.ErrClosed}, []error{errScript, backend.ErrInFlight, memory.ErrClosed}, "transfer: backend of a: "},
		"deregister, busy": {map[string]error{"Deregister": busy, "Fence": memory.ErrClosed}, []error{errScript, memory.ErrClosed}, "transfer: region "},
	} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
				b := &scripted{}
				p := g.party("a", script(b))
				arena := g.arena()
				r, err := p.Register("second", arena)
				must(t, err)
				for call, err := range test.fails {
					b.fail(call, err)
				}
				err = p.Stop(t.Context())
				for _, want := range test.is {
					wantErr(t, err, want)
				}
				wantText(t, err, test.text)
				_, err = b.Agent.Metadata()
				must(t, err)      // the agent lives
				attach(t, p, g.s) // and is called
				if err := p.WaitAdmission(t.Context()); !errors.Is(err, ownership.ErrClosed) || errors.Is(err, transfer.ErrHalted) {
					t.Errorf("admission: %v", err)
				}
				must(t, p.Stop(t.Context()))
				_, err = b.Agent.Metadata()
				wantErr(t, err, backend.ErrClosed)
				must(t, arena.Close())
				if _, known := r.State(); known {
					t.Error("a region is left")
				}
			})
		})
	}
}

// Stop waits for calls of the backend that are under way, until its context ends.
func TestStopWaitsForCallsOfTheBackend(t *testing.T) {
	for _, call := range []string{"Connect", "Progress"} {
		t.Run(call, func(t *testing.T) {
			within(t, 3*time.Second, loop.Config{PassiveProgress: true}, func(t *testing.T, g *rig) {
				b := &scripted{}
				p := g.party("a", script(b))
				link, _ := attach(t, p, g.s)
				var release func()
				if call == "Connect" {
					release = b.hold(call)
					must(t, link.Close())
					g.s.extra("more")
					sa, sb := transfer.Pipe()
					go func() { _, _ = p.Attach(t.Context(), sa) }()
					go func() { _, _ = g.s.Attach(t.Context(), sb) }()
				} else {
					rs, err := p.Receive(t.Context(), transfer.ReceiveSpec{Region: p.region, From: transfer.FromPeers(sender)})
					must(t, err)
					<-g.s.requests
					synctest.Wait()
					release = b.hold(call)
					time.Sleep(time.Second)
					_, err = rs.Cancel()
					must(t, errors.Join(err, rs.Drain(t.Context())))
				}
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begin := time.Now()
				err := p.Stop(ctx)
				wantErr(t, err, context.DeadlineExceeded)
				wantText(t, err, "transfer: stop a: ")
				if took := time.Since(begin); took != time.Second {
					t.Errorf("took %v", took)
				}
				_, err = b.Agent.Metadata()
				must(t, err)
				release()
				attach(t, p, g.party("later")) // the backend is called again
				must(t, p.Stop(t.Context()))
			})
		})
	}
}

// Stop waits for a Reincarnate that runs, no longer than its context.
func TestStopBesideReincarnate(t *testing.T) {
	within(t, 3*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		p := g.party("a")
		gate := make(chan struct{})
		open := sync.OnceFunc(func() { close(gate) })
		defer open()
		result := make(chan error, 1)
		go func() {
			_, err := p.Reincarnate(t.Context(), func(agent string) (backend.Backend, error) { <-gate; return g.fabric.Agent(agent) })
			result <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := p.Stop(ctx)
		wantErr(t, err, context.DeadlineExceeded)
		wantText(t, err, "transfer: stop a: ")
		open()
		must(t, <-result)
		must(t, p.Stop(t.Context()))
		_, err = g.fabric.Agent("a")
		must(t, err) // the first agent is gone
	})
}

// A Halt ends a Reincarnate that waits.
func TestHaltEndsReincarnate(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		b := &scripted{}
		p := g.party("a", script(b))
		p.keepOwning = true
		release := b.hold("Connect")
		defer release()
		g.blockConnect(t, p)
		result := make(chan error, 1)
		go func() { _, err := p.Reincarnate(t.Context(), g.again(nil)); result <- err }()
		synctest.Wait()
		p.Halt()
		wantErr(t, <-result, context.Canceled)
	})
}

// Every pool's region has one registration, which is deregistered once.
func TestStopWithPools(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		b := &scripted{}
		p := g.party("a", script(b))
		pool := p.pool()
		_, table := p.allocate(pool, "request", 2, 'a')
		part := region(t, pool, ownership.Reads, "send", table)
		err := p.Stop(t.Context())
		wantErr(t, err, ownership.ErrRefused)
		wantText(t, err, "pool")
		if n := b.calls("Deregister"); n != 0 {
			t.Errorf("%d registrations ended under a pin", n)
		}
		must(t, part.Deregister())
		for _, pin := range pool.Blocks().Pins() {
			unpin(t, pool, pin.Name)
		}
		must(t, p.Stop(t.Context()))
		if n := b.calls("Deregister"); n != 1 {
			t.Errorf("%d calls of Deregister", n)
		}
	})
}

// An error of Progress is counted, and nothing else.
func TestProgressErrorsAreCounted(t *testing.T) {
	within(t, 2*time.Second, loop.Config{PassiveProgress: true}, func(t *testing.T, g *rig) {
		b := &scripted{}
		p := g.party("a", script(b))
		attach(t, g.s, p)
		b.fail("Progress", errScript, nil, errScript, errScript)
		rs, err := p.Receive(t.Context(), transfer.ReceiveSpec{Region: p.region, From: transfer.FromPeers(sender)})
		must(t, err)
		time.Sleep(time.Second)
		if n := p.Counters().ProgressErrors; n != 3 {
			t.Errorf("%d errors, want 3", n)
		}
		wantAnswer(t, rs, "ACTIVE")
		must(t, (<-g.s.requests).Refuse("no"))
		must(t, rs.Drain(t.Context()))
	})
}

// A handle or a copy that cannot be released is in the log; nothing waits for it.
func TestReleaseThatFails(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		var book book
		b := &scripted{}
		p := g.party("a", script(b), func(c *transfer.Config) { c.Log = book.logger(0) })
		attach(t, p, g.r)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("a")})
		must(t, err)
		gather := &scriptedLocal{g.local(g.arena(), p.arena, loop.Fault{}), errScript}
		b.fail("Release", memory.ErrClosed)
		ss, err := (<-p.requests).Send(transfer.SendSpec{Region: p.region, Gather: gather})
		must(t, err)
		must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		synctest.Wait()
		book.want(t, `level=ERROR msg="local copy not released" claim=`, errScript.Error())
		book.want(t, `level=ERROR msg="handle not released" claim=`, memory.ErrClosed.Error())
	})
}
