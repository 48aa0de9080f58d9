// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/transfer"
)

// An operation that has ended inside of Post is over with its answer: its handle is
// released, and nobody asks about it.
func TestOperationThatEndsInsideOfPost(t *testing.T) {
	atOnce(t, loop.Config{Auto: true, Inline: true}, func(t *testing.T, g *rig) {
		b := &scripted{}
		s := g.party("a", script(b))
		attach(t, s, g.r)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("a")})
		must(t, err)
		ss, err := (<-s.requests).Send(transfer.SendSpec{Region: s.region})
		must(t, err)
		must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		synctest.Wait()
		if posts, polls, releases := b.calls("Post"), b.calls("Poll"), b.calls("Release"); posts != 1 || polls != 0 || releases != 1 {
			t.Errorf("it is posted %d times, polled %d times, released %d times", posts, polls, releases)
		}
	})
}
