// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	adapter "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/internal/nixltest"
	"github.com/kvxfer/kvxfer/nixl"
)

const inFlight = 10_000

// The price of safety: a poll pass over 10,000 requests in flight by a loop in C,
// through the binding over the same handles, and through the adapter of package
// backend/nixl over as many of its own, turn by turn. Of each pass the processor's
// time is taken, which another program's load changes little; the metrics are the
// ratios of the medians.
func BenchmarkPoll10000(b *testing.B) {
	b.Run("fake", func(b *testing.B) {
		lib, err := nixl.Open(nixl.Options{Library: nixltest.Wheel(b, "1.5.1")})
		if err != nil {
			b.Fatal(err)
		}
		a, other := newAgent(b, lib, "bench-a", nixl.TransportTCP), newAgent(b, lib, "post=1;status=1", nixl.TransportTCP)
		mem := mapped(b, 4096)
		register(b, a, mem)
		introduce(b, a, other)
		md, err := other.Metadata()
		if err != nil {
			b.Fatal(err)
		}
		ops, poll := adapted(b, lib, other.Name(), md, addr(mem), nil)
		comparePolls(b, a, posted(b, a, nixl.RequestConfig{
			Op: nixl.Write, Peer: other.Name(),
			Local: []nixl.Segment{{Addr: addr(mem), Len: 4096}}, Remote: []nixl.Segment{{Addr: addr(mem), Len: 4096}},
		}), ops, poll)
	})
	b.Run("tcp, peer stopped", func(b *testing.B) {
		lib := requireNIXL(b)
		c := startTarget(b, nixl.TransportTCP)
		a, mem := source(b, nixl.TransportTCP, c)
		prime(b, a, mem, c)
		ops, poll := adapted(b, lib, "target", c.md, c.addr, func() { c.stop(b) })
		comparePolls(b, a, posted(b, a, nixl.RequestConfig{
			Op: nixl.Write, Peer: "target",
			Local: []nixl.Segment{{Addr: addr(mem), Len: 4096}}, Remote: []nixl.Segment{{Addr: c.addr, Len: 4096}},
		}), ops, poll)
	})
}

// adapted posts operations of the adapter until inFlight of them stay in flight;
// the first, before the peer is stopped, makes the connection.
func adapted(b *testing.B, lib *nixl.Library, peer string, metadata []byte, remote uint64, stop func()) (ops []backend.Operation, poll func([]backend.Operation, []backend.Observation)) {
	b.Helper()
	a, err := adapter.New(adapter.Config{Name: "adapter", Library: lib, Transport: nixl.TransportTCP, Device: "lo", NoProgressThread: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := a.Fence(); err != nil {
			b.Error(err)
		}
	})
	mem := mapped(b, 4096)
	if _, err := a.Register(backend.Memory{Addr: uintptr(addr(mem)), Len: 4096}); err != nil {
		b.Fatal(err)
	}
	if err := a.Connect(peer, metadata); err != nil {
		b.Fatal(err)
	}
	for len(ops) < inFlight {
		op, err := a.Prepare(backend.Request{Direction: backend.Write, Peer: peer,
			Local: []backend.Segment{{Addr: addr(mem), Len: 4096}}, Remote: []backend.Segment{{Addr: remote, Len: 4096}}})
		if err != nil {
			b.Fatal(err)
		}
		seen := []backend.Observation{op.Post()}
		for stop != nil && seen[0].Status != backend.Done {
			if a.Poll([]backend.Operation{op}, seen); seen[0].Status == backend.Error {
				b.Fatal(seen[0].Err)
			}
		}
		if stop != nil {
			stop()
			stop = nil
		}
		if seen[0].Status == backend.Submitted {
			ops = append(ops, op)
		}
	}
	return ops, a.Poll
}

// posted posts requests until inFlight of them stay in flight.
func posted(b *testing.B, a *nixl.Agent, cfg nixl.RequestConfig) []*nixl.Request {
	b.Helper()
	var out []*nixl.Request
	for len(out) < inFlight {
		q, err := a.NewRequest(cfg)
		if err != nil {
			b.Fatal(err)
		}
		s, err := q.Post()
		if err != nil {
			b.Fatal(err)
		}
		if s == nixl.StatusInProgress {
			out = append(out, q)
		}
	}
	b.Cleanup(func() { // nothing else lets go of them
		if err := a.Fence(); err != nil {
			b.Error(err)
		}
	})
	return out
}

func comparePolls(b *testing.B, a *nixl.Agent, requests []*nixl.Request, ops []backend.Operation, poll func([]backend.Operation, []backend.Observation)) {
	seen := make([]nixl.Observation, len(requests))
	bare := a.BarePoll(requests)
	binding := func() {
		if err := a.Poll(requests, seen); err != nil {
			b.Fatal(err)
		}
	}
	observed := make([]backend.Observation, len(ops))
	adapter := func() { poll(ops, observed) }
	binding()
	adapter()
	running := 0
	for _, o := range observed {
		if o.Status == backend.InProgress {
			running++
		}
	}
	for _, o := range seen {
		if o.Status == nixl.StatusInProgress {
			running++
		}
	}
	var times [3][]time.Duration
	b.ReportAllocs()
	for b.Loop() {
		for i, pass := range []func(){bare, binding, adapter} {
			start := cpu(b)
			pass()
			times[i] = append(times[i], cpu(b)-start)
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	for i, name := range []string{"bare", "binding", "adapter"} {
		median := times[i][len(times[i])/2]
		b.ReportMetric(float64(median.Nanoseconds())/float64(len(requests)), name+"-ns/handle")
		if i > 0 {
			b.ReportMetric(float64(median)/float64(times[0][len(times[0])/2]), name+"-x-bare")
		}
	}
	b.ReportMetric(float64(running), "in-flight")
}

// What an agent costs that has nothing to do.
func BenchmarkIdle(b *testing.B) {
	for name, cfg := range map[string]nixl.AgentConfig{
		"progress thread": {}, "no thread": {NoProgressThread: true},
	} {
		b.Run(name, func(b *testing.B) {
			a, err := requireNIXL(b).NewAgent("idle", cfg)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := a.CreateUCX(nixl.UCXConfig{Transport: nixl.TransportTCP, Device: "lo"}); err != nil {
				b.Fatal(err)
			}
			const watched = 3 * time.Second
			var used time.Duration
			n := 0
			for b.Loop() {
				before := cpu(b)
				time.Sleep(watched)
				used += cpu(b) - before
				n++
			}
			b.ReportMetric(100*used.Seconds()/(float64(n)*watched.Seconds()), "%core")
			if err := a.Destroy(); err != nil {
				b.Error(err)
			}
		})
	}
}

// cpu is the time that this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Lists are built in C from an array: the cost of an entry has no crossing in it.
func BenchmarkNewRequest(b *testing.B) {
	lib := requireNIXL(b)
	for _, n := range []int{1, 2048, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a, cfg := selfWrite(b, lib, n)
			b.ReportAllocs()
			for b.Loop() {
				q, err := a.NewRequest(cfg)
				if err != nil {
					b.Fatal(err)
				}
				if err := q.Release(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
		})
	}
}
