// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/ownership/blocks"
)

// agrees runs any calls, good and bad ones, against the model.
func agrees(t *rapid.T) {
	m, err := newModel(rapid.IntRange(1, 12).Draw(t, "count"))
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		if err := m.draw(t); err != nil {
			t.Fatal(err)
		}
		if err := m.check(); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *model) draw(t *rapid.T) error {
	switch rapid.SampledFrom([]string{"allocate", "pin", "pin own", "unpin", "unpin blocks", "unpin own"}).Draw(t, "call") {
	case "allocate":
		return m.allocate(rapid.IntRange(0, m.count+1).Draw(t, "n"))
	case "pin":
		return m.pin(drawUse(t), m.drawBlocks(t))
	case "pin own":
		return m.pin(drawUse(t), m.drawOwn(t, m.drawName(t)))
	case "unpin":
		names := make([]blocks.Name, rapid.IntRange(0, 3).Draw(t, "n"))
		for i := range names {
			names[i] = m.drawName(t)
		}
		return m.unpin(names...)
	case "unpin blocks":
		return m.unpinBlocks(m.drawName(t), m.drawBlocks(t))
	default:
		n := m.drawName(t)
		return m.unpinBlocks(n, m.drawOwn(t, n))
	}
}

func drawUse(t *rapid.T) blocks.Use {
	return rapid.SampledFrom([]blocks.Use{blocks.Hold, blocks.Read, blocks.Write}).Draw(t, "use")
}

func (m *model) drawName(t *rapid.T) blocks.Name {
	if len(m.names) == 0 || rapid.IntRange(0, 15).Draw(t, "odd") == 0 {
		n := blocks.Name{Holder: "stranger", Sequence: rapid.Uint64Range(0, uint64(len(m.names)+2)).Draw(t, "sequence")}
		return n
	}
	return rapid.SampledFrom(m.names).Draw(t, "name")
}

// drawBlocks names blocks of now and of then, and some that never were.
func (m *model) drawBlocks(t *rapid.T) []blocks.Block {
	list := make([]blocks.Block, rapid.IntRange(0, 4).Draw(t, "blocks"))
	for i := range list {
		if len(m.seen) > 0 && rapid.IntRange(0, 15).Draw(t, "odd") > 0 {
			list[i] = rapid.SampledFrom(m.seen).Draw(t, "block")
		} else {
			list[i] = blocks.Block{
				Number:     uint32(rapid.IntRange(0, m.count+1).Draw(t, "number")),
				Generation: uint32(rapid.IntRange(0, 3).Draw(t, "generation")),
			}
		}
	}
	return list
}

// drawOwn names some of a pin's blocks, each once.
func (m *model) drawOwn(t *rapid.T, n blocks.Name) (list []blocks.Block) {
	for number := range uint32(m.count) {
		if m.pins[n][number] && rapid.Bool().Draw(t, "take") {
			list = append(list, blocks.Block{Number: number, Generation: m.generation[number]})
		}
	}
	return list
}

func TestPoolAgreesWithTheModel(t *testing.T) { rapid.Check(t, agrees) }

func FuzzPool(f *testing.F) { f.Fuzz(rapid.MakeFuzz(agrees)) }
