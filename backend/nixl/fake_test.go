// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/backendtest"
	adapter "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/internal/nixltest"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
)

// The kit against the fake library: the adapter's own part is checked where
// NIXL is not, and READ is broken here, which the real library must not be.
func TestConformanceOnTheFake(t *testing.T) {
	lib, err := nixl.Open(nixl.Options{Library: nixltest.Wheel(t, "1.5.1")})
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]adapter.Config{
		"polled":   {Transport: nixl.TransportTCP, NoProgressThread: true},
		"threaded": {Transport: nixl.TransportTCP},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Library = lib
			backendtest.Run(t, func(t *testing.T) *backendtest.Pair {
				p := &backendtest.Pair{A: sideOf(t, cfg), B: sideOf(t, cfg)}
				a := p.A.Backend.(*adapter.Backend)
				p.A.Backend, p.B.Backend = undisturbed{a}, undisturbed{p.B.Backend.(*adapter.Backend)}
				p.Break = func() {
					if err := a.Agent().Notify(nixltest.Control, []byte(nixltest.Break)); err != nil {
						t.Error(err)
					}
				}
				return p
			})
		})
	}
}

// undisturbed does not hear what the fake says of other tests' calls: its notes are
// one list for the process, and go to whoever asks first.
type undisturbed struct{ *adapter.Backend }

func (b undisturbed) Progress() ([]backend.Notification, error) {
	got, err := b.Backend.Progress()
	return slices.DeleteFunc(got, func(n backend.Notification) bool { return n.Peer == nixltest.Control }), err
}

// fakeSide is an agent of the fake with registered memory.
func fakeSide(t *testing.T, lib *nixl.Library, name string) (*adapter.Backend, backend.Registration) {
	t.Helper()
	b, err := adapter.New(adapter.Config{Name: name, Library: lib, Transport: nixl.TransportTCP, NoProgressThread: true})
	if err != nil {
		t.Fatal(err)
	}
	arena, err := memory.New(memory.Spec{Len: 4096}) // mapped for good
	if err != nil {
		t.Fatal(err)
	}
	reg, err := b.Register(backend.Memory{Addr: arena.Addr(), Len: 4096})
	if err != nil {
		t.Fatal(err)
	}
	return b, reg
}

// Whatever NIXL answers after an error, and however often: the operation stays
// in doubt, is held by everything that it touches, and ends by a fence only.
func TestAnErrorIsForGood(t *testing.T) {
	lib, err := nixl.Open(nixl.Options{Library: nixltest.Wheel(t, "1.5.1")})
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"-1", "-2", "-3", "-4", "-5", "-6", "2", "-99"} {
		for _, script := range []string{"post=1;status=" + code + ",0,0", "post=" + code + ",0;status=0"} {
			if script == "post=-6,0;status=0" {
				continue // the one error of a first post that is a proof
			}
			t.Run(script, func(t *testing.T) {
				a, mem := fakeSide(t, lib, "a")
				b, _ := fakeSide(t, lib, script)
				md, err := b.Metadata()
				if err != nil {
					t.Fatal(err)
				}
				if err := a.Connect(script, md); err != nil {
					t.Fatal(err)
				}
				s := []backend.Segment{{Addr: uint64(mem.Memory().Addr), Len: 64}}
				op, err := a.Prepare(backend.Request{Direction: backend.Write, Peer: script, Local: s, Remote: s})
				if err != nil {
					t.Fatal(err)
				}
				out := []backend.Observation{op.Post()}
				for i := range 4 {
					if i > 0 || out[0].Status == backend.Submitted {
						a.Poll([]backend.Operation{op}, out)
					}
					if out[0].Status != backend.Error || out[0].Err == nil {
						t.Fatalf("poll %d: %v, %v", i, out[0].Status, out[0].Err)
					}
				}
				for what, err := range map[string]error{
					"release": op.Release(), "deregister": a.Deregister(mem), "disconnect": a.Disconnect(script), "close": a.Close(),
				} {
					if !errors.Is(err, backend.ErrInFlight) {
						t.Errorf("%s: %v", what, err)
					}
				}
				if err := a.Fence(); err != nil {
					t.Fatal(err)
				}
				if a.Poll([]backend.Operation{op}, out); out[0].Status != backend.Lost {
					t.Errorf("after the fence: %v", out[0].Status)
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A fence that NIXL refuses proves nothing, and everything stays as it was.
func TestAFenceThatFailsIsNone(t *testing.T) {
	lib, err := nixl.Open(nixl.Options{Library: nixltest.Wheel(t, "1.5.1")})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := fakeSide(t, lib, "a")
	if err := a.Agent().Notify(nixltest.Control, []byte("destroy=-2")); err != nil {
		t.Fatal(err)
	}
	if err := a.Fence(); !errors.Is(err, nixl.ErrBackend) {
		t.Errorf("fence: %v", err)
	}
	if _, err := a.Metadata(); err != nil {
		t.Errorf("after a fence that failed: %v", err)
	}
	if err := a.Fence(); err != nil {
		t.Errorf("again: %v", err)
	}
}
