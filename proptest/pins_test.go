// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/ownership/blocks"
	"github.com/kvxfer/kvxfer/proptest/model"
)

const blockCount = 5

// pins is a pool of the library beside one of the model.
type pins struct {
	lib   *blocks.Pool
	model *model.Pool
	names []blocks.Name // that were ever given
	known []model.Block // blocks in allocations that ever were
	uses  map[string]blocks.Use
}

func newPins(t *rapid.T) *pins {
	lib, err := blocks.New(blockCount)
	if err != nil {
		t.Fatal(err)
	}
	return &pins{lib: lib, model: model.NewPool(blockCount), uses: map[string]blocks.Use{"hold": blocks.Hold, "read": blocks.Read, "write": blocks.Write}}
}

var (
	pinUse   = rapid.SampledFrom([]string{"hold", "read", "write"})
	blockNo  = rapid.IntRange(0, blockCount) // one too many
	blockLen = rapid.IntRange(0, 3)
)

func (p *pins) step(t *rapid.T) {
	switch dice.Draw(t, "pins") {
	case 0, 1, 2, 3:
		p.allocate(t)
	case 4, 5, 6:
		p.pin(t)
	case 7, 8, 9:
		p.unpin(t)
	case 10:
		p.unpinBlocks(t)
	case 11:
		p.shut(t)
	}
	p.compare(t)
}

// shut ends the pool, which is rare: it ends all that is interesting.
func (p *pins) shut(t *rapid.T) {
	switch err := error(nil); {
	case !roll(t, "shut"):
	case flip.Draw(t, "freeze"):
		p.lib.Freeze()
		p.model.Frozen = true
	default:
		err = p.lib.Close()
		want := ""
		switch {
		case p.model.Frozen:
			want = "frozen"
		case !p.model.Closed && len(p.model.Pins) > 0:
			want = "still pinned"
		}
		judge(t, "close", err, want)
		p.model.Closed = p.model.Closed || want == ""
	}
}

// judge compares an error's kind.
func judge(t *rapid.T, what string, err error, want string) {
	t.Helper()
	got := ""
	if e := (*blocks.Error)(nil); errors.As(err, &e) {
		got = e.Kind.Error()
	}
	if got != want {
		t.Fatalf("%s: the error is %q (%v), want %q", what, got, err, want)
	}
}

func (p *pins) allocate(t *rapid.T) {
	table := make([]blocks.Block, blockLen.Draw(t, "blocks"))
	want := p.model.Allocate(len(table))
	name, err := p.lib.Allocate("holder", table)
	judge(t, "allocate", err, want)
	if err != nil {
		return
	}
	given := make([]model.Block, len(table))
	for i, b := range table {
		given[i] = model.Block{Number: int(b.Number), Generation: int(b.Generation)}
	}
	pin, bad := p.model.Allocated(given)
	if bad != "" {
		t.Fatalf("allocate: %v is %s", table, bad)
	}
	p.known = append(p.known, given...)
	p.named(t, name, pin)
}

func (p *pins) named(t *rapid.T, name blocks.Name, pin *model.Pin) {
	if name.Sequence != uint64(pin.Number) {
		t.Fatalf("pin %v, want number %d", name, pin.Number)
	}
	p.names = append(p.names, name)
}

// batch is some blocks, most of them allocated ones.
func (p *pins) batch(t *rapid.T) (ours []model.Block, theirs []blocks.Block) {
	for range blockLen.Draw(t, "blocks") {
		b := model.Block{Number: blockNo.Draw(t, "block"), Generation: 1}
		if len(p.known) > 0 && !roll(t, "unknown block") {
			b = p.known[rapid.IntRange(max(0, len(p.known)-8), len(p.known)-1).Draw(t, "known")]
		}
		ours = append(ours, b)
		theirs = append(theirs, blocks.Block{Number: uint32(b.Number), Generation: uint32(b.Generation)})
	}
	return ours, theirs
}

func (p *pins) pin(t *rapid.T) {
	use := pinUse.Draw(t, "use")
	ours, theirs := p.batch(t)
	pin, want := p.model.Pin(use, ours)
	name, err := p.lib.Pin("reader", p.uses[use], theirs)
	judge(t, "pin", err, want)
	if err == nil {
		p.named(t, name, pin)
	}
}

// name is one that was given, or the one after it.
func (p *pins) name(t *rapid.T) blocks.Name {
	i := rapid.IntRange(max(0, len(p.names)-6), len(p.names)).Draw(t, "pin")
	if i == len(p.names) {
		return blocks.Name{Holder: "holder", Sequence: uint64(i + 1)}
	}
	return p.names[i]
}

func (p *pins) unpin(t *rapid.T) {
	var theirs []blocks.Name
	var ours []int
	for range 1 + rapid.IntRange(0, 1).Draw(t, "more") {
		n := p.name(t)
		theirs, ours = append(theirs, n), append(ours, int(n.Sequence))
	}
	want, kind := p.model.Unpin(ours...)
	got, err := p.lib.Unpin(theirs...)
	judge(t, "unpin", err, kind)
	if got != want {
		t.Fatalf("unpin %v freed %d, want %d", theirs, got, want)
	}
}

func (p *pins) unpinBlocks(t *rapid.T) {
	n := p.name(t)
	ours, theirs := p.batch(t)
	want, kind := p.model.UnpinBlocks(int(n.Sequence), ours)
	got, err := p.lib.UnpinBlocks(n, theirs)
	judge(t, "unpin blocks", err, kind)
	if got != want {
		t.Fatalf("unpin %v of %v freed %d, want %d", theirs, n, got, want)
	}
}

func (p *pins) compare(t *rapid.T) {
	steps.Add(1)
	s := p.lib.Stats()
	if s.Free != p.model.Free() || s.Pins != len(p.model.Pins) || int(s.Stale) != p.model.StaleCalls {
		t.Fatalf("the pool says %+v, want %d free, %d pins, %d stale", s, p.model.Free(), len(p.model.Pins), p.model.StaleCalls)
	}
	for i, generation := range p.model.Generation {
		b, _ := p.lib.Block(uint32(i))
		n := p.model.Users(i)
		if b.Holds != n["hold"] || b.Reads != n["read"] || b.Writer != (blocks.Name{}) != (n["write"] > 0) || int(b.Block.Generation) != generation {
			t.Fatalf("block %+v, want generation %d and %v", b, generation, n)
		}
	}
	for i, pin := range p.lib.Pins() {
		if want := p.model.Pins[i]; pin.Name.Sequence != uint64(want.Number) || pin.Blocks != len(want.Blocks) || pin.Use != p.uses[want.Use] {
			t.Fatalf("pin %+v, want %+v", pin, *want)
		}
	}
}

// checkPins is the life of a pool.
func checkPins(t *rapid.T) {
	p := newPins(t)
	t.Repeat(map[string]func(*rapid.T){"step": p.step})
}

func TestPins(t *testing.T) { rapid.Check(t, checkPins) }
