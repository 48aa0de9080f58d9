// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/rpc/authority"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// carriers are the ways that a stream can go on one machine.
func carriers(b *testing.B, run func(b *testing.B, dialled, accepted transfer.Stream)) {
	dir := b.TempDir()
	ca, err := authority.Create(dir, time.Hour)
	if err == nil {
		err = ca.Issue("a", time.Hour)
	}
	if err != nil {
		b.Fatal(err)
	}
	id, err := rpc.LoadIdentity(authority.Files(dir, "a"))
	if err != nil {
		b.Fatal(err)
	}
	for _, carrier := range []struct {
		name, addr string
		config     rpc.Config
	}{
		{"tcp", "127.0.0.1:0", rpc.Config{}},
		{"unix", "unix-abstract:kvxfer-bench-" + rand.Text(), rpc.Config{}},
		{"tls", "127.0.0.1:0", rpc.Config{Identity: id}},
	} {
		b.Run(carrier.name, func(b *testing.B) {
			carrier.config.Limits = rpc.Limits{MessagesPerSecond: 1e9, Burst: 1 << 30}
			l, err := carrier.config.Listen(carrier.addr)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			dialled, err := carrier.config.Dial(b.Context(), l.Addr())
			if err != nil {
				b.Fatal(err)
			}
			defer dialled.Close()
			accepted, err := l.Accept(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			run(b, dialled, accepted)
		})
	}
	b.Run("memory", func(b *testing.B) {
		x, y := transfer.Pipe()
		defer x.Close()
		run(b, x, y)
	})
}

func benchMessages() (request wire.RequestData, result wire.Result) {
	claim := wire.ClaimName{
		Owner: wire.Incarnation{1}, Session: wire.SessionName{Request: wire.RequestID{Endpoint: "decode-0", Number: 17}, Attempt: 1},
		Piece: "kv", Accessor: "prefill-0", Incarnation: wire.Incarnation{2}, Sequence: 5,
	}
	segments := make([]wire.Segment, 64)
	for i := range segments {
		segments[i] = wire.Segment{Addr: uint64(1<<40 + i*32768), Len: 16384}
	}
	return wire.RequestData{Seq: 1, Claim: claim, Direction: wire.Write, Segments: segments}, wire.Result{Seq: 1, Claim: claim, Evidence: wire.OK}
}

// BenchmarkRequestToResponse: one side asks for data in 64 segments, the other
// answers with a result, and so on; p50 and p99 are of single round trips.
func BenchmarkRequestToResponse(b *testing.B) {
	request, result := benchMessages()
	carriers(b, func(b *testing.B, dialled, accepted transfer.Stream) {
		ctx, cancel := context.WithCancel(b.Context())
		var echo sync.WaitGroup
		echo.Go(func() {
			for {
				if _, err := accepted.Recv(ctx); err != nil {
					return
				}
				if accepted.Send(ctx, result) != nil {
					return
				}
			}
		})
		took := make([]time.Duration, 0, b.N)
		for b.Loop() {
			began := time.Now()
			if err := dialled.Send(ctx, request); err != nil {
				b.Fatal(err)
			}
			if _, err := dialled.Recv(ctx); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-us")
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-us")
		cancel()
		echo.Wait()
	})
}

// BenchmarkReports: results, one way, as fast as they go.
func BenchmarkReports(b *testing.B) {
	_, result := benchMessages()
	carriers(b, func(b *testing.B, dialled, accepted transfer.Stream) {
		b.ReportAllocs()
		got := make(chan error, 1)
		go func() {
			for range b.N {
				if _, err := accepted.Recv(b.Context()); err != nil {
					got <- err
					return
				}
			}
			got <- nil
		}()
		b.ResetTimer()
		for range b.N {
			if err := dialled.Send(b.Context(), result); err != nil {
				b.Fatal(err)
			}
		}
		if err := <-got; err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reports/s")
	})
}
