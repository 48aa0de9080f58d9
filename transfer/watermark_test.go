// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// What is remembered of closed requests is bounded by how often their creator
// calls Watermark, here at once and at a peer too, whether a stream is attached or comes later.
func TestWatermarkBoundsTheRecords(t *testing.T) {
	const rounds, each = 8, 16
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		_, lr := attach(t, g.s, g.r)
		wantRecords := func(at *party, want int) {
			t.Helper()
			if n := at.Counters().Records; n != want {
				t.Errorf("%s remembers %d requests, want %d", at.Name(), n, want)
			}
		}
		var last *transfer.Session
		for round := range rounds {
			for range each {
				rs, ss := g.begin()
				must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
				last = rs
			}
			wantRecords(g.r, each)
			wantRecords(g.s, each)
			must(t, g.r.Watermark(last.Name().Request.Number+1))
			wantRecords(g.r, 0)
			if round%2 == 0 {
				must(t, lr.Close())
				_, lr = attach(t, g.s, g.r)
			}
			synctest.Wait()
			wantRecords(g.s, 0)
		}
		must(t, last.Close()) // closing again is fine, though nothing is remembered
		_, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Session: last.Name(), Region: g.r.region, From: transfer.FromPeers(sender)})
		wantErr(t, err, ownership.ErrClosed)
	})
}

// A request that waits for its answer is over when its creator's watermark passes
// it: nobody has to answer it any more.
func TestWatermarkWithdrawsRequests(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, request := g.request()
		must(t, g.r.Watermark(rs.Name().Request.Number+1))
		<-request.Withdrawn()
		_, err := request.Send(transfer.SendSpec{Region: g.s.region})
		wantErr(t, err, transfer.ErrAnswered)
		must(t, rs.Drain(t.Context()))
	})
}
