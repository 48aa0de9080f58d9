// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"bytes"
	"testing"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
)

func TestPlainTransfer(t *testing.T) {
	for name, config := range map[string]loop.Config{
		"auto":    {Auto: true},
		"inline":  {Auto: true, Inline: true},
		"passive": {PassiveProgress: true, BytesPerTick: 4096},
		"slow":    {Auto: true, BytesPerTick: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, config, func(t *testing.T, g *rig) {
				attach(t, g.s, g.r)
				rs, ss := g.begin()
				wantErr(t, g.r.region.Reuse(), ownership.ErrRefused)
				must(t, rs.Wait(t.Context()))
				must(t, ss.Wait(t.Context()))
				if !bytes.Equal(g.s.arena.Bytes(), g.r.arena.Bytes()) {
					t.Error("the bytes differ")
				}
				wantErr(t, g.r.region.Reuse(), ownership.ErrRefused) // proven free, not given back yet
				must(t, rs.Drain(t.Context()))
				must(t, ss.Drain(t.Context()))
				must(t, g.r.region.Reuse())
				must(t, g.s.region.Reuse())
				<-rs.Released()
				g.s.expect("publish: UNPUBLISHED -> PUBLISHED", "PUBLISHED -> DRAINED", "SUCCEEDED", "released region pool", "closed")
				g.r.expect("publish: UNPUBLISHED -> PUBLISHED", "PUBLISHED -> DRAINED", "SUCCEEDED", "released region pool", "closed")
			})
		})
	}
}
