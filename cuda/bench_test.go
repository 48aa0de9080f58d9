// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda_test

import (
	"testing"

	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/internal/cudac"
)

// BenchmarkPoll asks for 10,000 events that are not ready: by a bare loop in C
// that makes the driver's call for each, and by Context.Poll. On the fake a
// query costs next to nothing, so that only the binding's own cost is left.
func BenchmarkPoll(b *testing.B) {
	b.Run("driver=fake", func(b *testing.B) {
		r := newRig(b)
		r.SetMode(cudatest.BySteps)
		poll(b, r.ctx, r.Path())
	})
	b.Run("driver=GPU", func(b *testing.B) { poll(b, cudatest.RequireGPU(b), cuda.LibraryName) })
}

func poll(b *testing.B, ctx *cuda.Context, path string) {
	const n = 10_000
	b.Run("by=C loop", func(b *testing.B) {
		api := got(cudac.Load(path))(b)
		device, _ := api.DeviceGet(0)
		raw, _ := api.Retain(device)
		stream, _ := api.StreamCreate(raw, 1)
		events, results := make([]cudac.Event, n), make([]cudac.Result, n)
		for i := range events {
			events[i], _ = api.EventCreate(raw, 2)
			api.EventRecord(raw, events[i], stream)
		}
		for b.Loop() {
			api.EventQuery(raw, events, results)
		}
		for _, e := range events {
			api.EventDestroy(raw, e)
		}
		api.StreamDestroy(raw, stream)
		api.Release(device)
	})
	b.Run("by=Poll", func(b *testing.B) {
		stream := got(ctx.NewStream())(b)
		events, states := make([]*cuda.Event, n), make([]cuda.EventState, n)
		for i := range events {
			events[i] = got(ctx.NewEvent())(b)
			ok(b, events[i].Record(stream))
		}
		b.ReportAllocs()
		for b.Loop() {
			if states[0] == cuda.EventDone { // a GPU is faster than the poll
				b.StopTimer()
				for _, e := range events {
					ok(b, e.Record(stream))
				}
				b.StartTimer()
			}
			ok(b, ctx.Poll(events, states))
		}
		if states[0] == cuda.EventPending { // the fake's stay so
			return
		}
		for _, e := range events {
			ok(b, e.Synchronize())
			ok(b, e.Close())
		}
		ok(b, stream.Close())
	})
}
