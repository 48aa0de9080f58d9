// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package nixl_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/backendtest"
	adapter "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
)

// folder is where the module keeps an unpacked wheel.
const folder = "../../.nixl"

// requireNIXL opens the real library or skips, saying what it looked for.
func requireNIXL(t testing.TB) *nixl.Library {
	t.Helper()
	lib, err := nixl.Open(nixl.Options{Folders: []string{folder}})
	if err != nil {
		t.Skipf("%s not available (make nixl fetches it): %v", nixl.LibraryName, err)
	}
	return lib
}

// names makes agents unique within the process.
var names atomic.Int64

func newSide(t testing.TB, cfg adapter.Config) backendtest.Side {
	t.Helper()
	cfg.Library = requireNIXL(t)
	return sideOf(t, cfg)
}

// sideOf is an agent of the library that cfg names, with its memory.
func sideOf(t testing.TB, cfg adapter.Config) backendtest.Side {
	t.Helper()
	cfg.Name = fmt.Sprintf("side-%d", names.Add(1))
	cfg.Device = "lo"
	b, err := adapter.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	arena, err := memory.New(memory.Spec{Len: backendtest.MemoryLen})
	if err != nil {
		t.Fatal(err)
	}
	return backendtest.Side{Name: cfg.Name, Backend: b, Memory: arena.Bytes(), Free: arena.Close}
}

func TestConformance(t *testing.T) {
	requireNIXL(t)
	for _, c := range []struct {
		name  string
		cfg   adapter.Config
		wired bool // move something before the kit does, so that connections are there to break
	}{
		// Polled: the kit stalls B by not calling its Progress.
		{"tcp polled", adapter.Config{Transport: nixl.TransportTCP, NoProgressThread: true}, true},
		{"tcp threaded", adapter.Config{Transport: nixl.TransportTCP}, false},
		{"cma polled", adapter.Config{Transport: nixl.TransportCMA, NoProgressThread: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.wired {
				t.Parallel() // the wired one breaks every connection of the process
			}
			backendtest.Run(t, func(t *testing.T) *backendtest.Pair {
				p := &backendtest.Pair{
					A:            newSide(t, c.cfg),
					B:            newSide(t, c.cfg),
					NoBrokenRead: "UCX aborts the process that a broken READ over TCP reads from",
				}
				if c.wired {
					wire(t, &p.A, &p.B)
					p.Break = func() { breakConnections(t) }
				}
				return p
			})
		})
	}
}

// wire moves one page from a to b, from and to memory that the kit never
// sees, so that the two have a connection.
func wire(t *testing.T, a, b *backendtest.Side) {
	t.Helper()
	var base [2]uint64
	for i, s := range []*backendtest.Side{a, b} {
		arena, err := memory.New(memory.Spec{Len: 4096}) // mapped for good: metadata names it
		if err != nil {
			t.Fatal(err)
		}
		base[i] = uint64(arena.Addr())
		if _, err := s.Backend.Register(backend.Memory{Addr: arena.Addr(), Len: 4096}); err != nil {
			t.Fatal(err)
		}
	}
	md, err := b.Backend.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Backend.Connect(b.Name, md); err != nil {
		t.Fatal(err)
	}
	op, err := a.Backend.Prepare(backend.Request{
		Direction: backend.Write, Peer: b.Name,
		Local:  []backend.Segment{{Addr: base[0], Len: 4096}},
		Remote: []backend.Segment{{Addr: base[1], Len: 4096}},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := []backend.Observation{op.Post()}
	for end := time.Now().Add(20 * time.Second); o[0].Status != backend.Done; a.Backend.Poll([]backend.Operation{op}, o) {
		if _, err := b.Backend.Progress(); err != nil || o[0].Err != nil || time.Now().After(end) {
			t.Fatalf("wiring: %v: %v, %v", o[0].Status, o[0].Err, err)
		}
	}
	if err := op.Release(); err != nil {
		t.Fatal(err)
	}
}

// breakConnections shuts every TCP connection of this process down. All of
// them are UCX's: this test opens none.
func breakConnections(t *testing.T) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		peer, err := syscall.Getpeername(fd)
		if err != nil {
			continue // not a connected socket
		}
		if _, ok := peer.(*syscall.SockaddrInet4); !ok {
			continue
		}
		if syscall.Shutdown(fd, syscall.SHUT_RDWR) == nil {
			broken++
		}
	}
	if broken == 0 {
		t.Fatal("found no connection to break")
	}
}

func TestUnavailable(t *testing.T) {
	lib := requireNIXL(t)
	for name, c := range map[string]struct {
		cfg  adapter.Config
		want error
	}{
		"no name":          {adapter.Config{}, backend.ErrInvalid},
		"no such device":   {adapter.Config{Name: "x", Device: "nosuchdevice0", Transport: nixl.TransportTCP}, backend.ErrUnavailable},
		"bad transport":    {adapter.Config{Name: "x", Transport: 99}, backend.ErrInvalid},
		"negative delay":   {adapter.Config{Name: "x", ProgressDelay: -1}, backend.ErrInvalid},
		"device with keys": {adapter.Config{Name: "x", Device: "lo,TLS=self"}, backend.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.Library = lib
			if _, err := adapter.New(c.cfg); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}
