// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kvxfer/kvxfer/nixl"
)

// selfWrite is an agent and a request of n blocks of 16 bytes to itself, every
// other block of two halves of its memory.
func selfWrite(t testing.TB, lib *nixl.Library, n int) (*nixl.Agent, nixl.RequestConfig) {
	t.Helper()
	a := newAgent(t, lib, fmt.Sprintf("lists-%d", n), nixl.TransportTCP)
	mem := mapped(t, 64*n)
	register(t, a, mem)
	cfg := nixl.RequestConfig{Op: nixl.Write, Peer: a.Name()}
	for i := range n {
		at := addr(mem) + uint64(32*i)
		cfg.Local = append(cfg.Local, nixl.Segment{Addr: at, Len: 16})
		cfg.Remote = append(cfg.Remote, nixl.Segment{Addr: at + uint64(32*n), Len: 16})
	}
	return a, cfg
}

// A list of 100,000 entries crosses into C a few times, not once an entry.
func TestListsCrossIntoCWhole(t *testing.T) {
	const n = 100_000
	lib := requireNIXL(t)
	a, cfg := selfWrite(t, lib, n)
	index := make([]int32, n)
	for i := range index {
		index[i] = int32(i)
	}
	build := map[string]func() (*nixl.Request, error){
		"request": func() (*nixl.Request, error) { return a.NewRequest(cfg) },
		"prepared": func() (*nixl.Request, error) {
			l, err := a.Prepare(nixl.PrepareConfig{Segments: cfg.Local})
			if err != nil {
				return nil, err
			}
			r, err := a.Prepare(nixl.PrepareConfig{Peer: a.Name(), Segments: cfg.Remote})
			if err != nil {
				return nil, err
			}
			return a.MakeRequest(nixl.MakeConfig{Op: nixl.Write, Local: l, LocalIndex: index, Remote: r, RemoteIndex: index})
		},
	}
	for name, build := range build {
		before := runtime.NumCgoCall()
		q, err := build()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// Other goroutines of the test call too, but not tens of thousands of times.
		if calls := runtime.NumCgoCall() - before; calls > n/10 {
			t.Errorf("%s: %d calls for %d entries", name, calls, n)
		} else {
			t.Logf("%s: %d calls for %d entries", name, calls, n)
		}
		if err := q.Release(); err != nil {
			t.Error(err)
		}
	}
}
