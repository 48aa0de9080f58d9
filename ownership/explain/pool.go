// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/ownership/blocks"
)

// Pool is the blocks of one region, and who pins them. A block is free once its last
// pin is dropped (contract §10).
type Pool struct {
	Region string `json:"region"`
	Blocks int    `json:"blocks"` // in all
	Free   int    `json:"free"`   // pinned by nobody
	Pins   []Pin  `json:"pins"`   // the oldest first
	Text   string `json:"text"`
}

// Pin is one claim on blocks.
type Pin struct {
	Holder   string `json:"holder"`   // who, in the caller's words
	Sequence uint64 `json:"sequence"` // unique in the pool
	Use      string `json:"use"`      // hold, read or write
	Blocks   int    `json:"blocks"`   // that it still has
	Frees    string `json:"frees"`
	Text     string `json:"text"`
}

// PoolOf explains a pool of the blocks of a region.
func PoolOf(region string, p *blocks.Pool) Pool {
	stats := p.Stats()
	pool := Pool{Region: region, Blocks: stats.Blocks, Free: stats.Free, Pins: []Pin{}}
	for _, s := range p.Pins() {
		pin := Pin{Holder: s.Name.Holder, Sequence: s.Name.Sequence, Use: s.Use.String(), Blocks: s.Blocks}
		pin.freedBy(unpins[s.Use])
		pool.Pins = append(pool.Pins, pin)
	}
	pool.Text = fmt.Sprintf("pool of region %s: %d of %s free, %s", region, pool.Free, count(pool.Blocks, "block"), count(len(pool.Pins), "pin"))
	return pool
}

func (p *Pin) freedBy(what string) {
	p.Frees = what
	p.Text = fmt.Sprintf("%s#%d: %s for %s; what frees them: %s", p.Holder, p.Sequence, count(p.Blocks, "block"), p.Use, what)
}

// pools returns the pools as they are: FATAL freezes every pin.
func pools(list []Pool, fatal bool) []Pool {
	out := make([]Pool, 0, len(list))
	for _, p := range list {
		p.Pins = slices.Clone(p.Pins)
		for i := range p.Pins {
			if fatal {
				p.Pins[i].freedBy(nothing)
			}
		}
		out = append(out, p)
	}
	return out
}

// unpins says what drops a pin.
var unpins = map[blocks.Use]string{
	blocks.Hold:  "its holder's unpin, when the request is over",
	blocks.Read:  "the release of the piece that reads them",
	blocks.Write: "the release of the piece that they are written for",
}
