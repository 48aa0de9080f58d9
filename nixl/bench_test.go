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

	"github.com/kvxfer/kvxfer/internal/nixltest"
	"github.com/kvxfer/kvxfer/nixl"
)

const inFlight = 10_000

// The price of safety: a poll pass over 10,000 requests in flight through the
// binding, and over the same handles by a loop in C, turn by turn. Of each pass
// the processor's time is taken, which another program's load changes little;
// the metric is the ratio of the medians.
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
		comparePolls(b, a, posted(b, a, nixl.RequestConfig{
			Op: nixl.Write, Peer: other.Name(),
			Local: []nixl.Segment{{Addr: addr(mem), Len: 4096}}, Remote: []nixl.Segment{{Addr: addr(mem), Len: 4096}},
		}))
	})
	b.Run("tcp, peer stopped", func(b *testing.B) {
		requireNIXL(b)
		c := startTarget(b, nixl.TransportTCP)
		a, mem := source(b, nixl.TransportTCP, c)
		prime(b, a, mem, c)
		c.stop(b)
		comparePolls(b, a, posted(b, a, nixl.RequestConfig{
			Op: nixl.Write, Peer: "target",
			Local: []nixl.Segment{{Addr: addr(mem), Len: 4096}}, Remote: []nixl.Segment{{Addr: c.addr, Len: 4096}},
		}))
	})
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

func comparePolls(b *testing.B, a *nixl.Agent, requests []*nixl.Request) {
	seen := make([]nixl.Observation, len(requests))
	bare := a.BarePoll(requests)
	binding := func() {
		if err := a.Poll(requests, seen); err != nil {
			b.Fatal(err)
		}
	}
	binding()
	running := 0
	for _, o := range seen {
		if o.Status == nixl.StatusInProgress {
			running++
		}
	}
	var times [2][]time.Duration
	b.ReportAllocs()
	for b.Loop() {
		for i, pass := range []func(){bare, binding} {
			start := cpu(b)
			pass()
			times[i] = append(times[i], cpu(b)-start)
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	c, g := times[0][len(times[0])/2], times[1][len(times[1])/2]
	b.ReportMetric(float64(c.Nanoseconds())/float64(len(requests)), "bare-ns/handle")
	b.ReportMetric(float64(g.Nanoseconds())/float64(len(requests)), "binding-ns/handle")
	b.ReportMetric(float64(g)/float64(c), "x-bare")
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
