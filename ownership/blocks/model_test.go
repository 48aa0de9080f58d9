// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kvxfer/kvxfer/ownership/blocks"
)

// model says in the dumbest way what a pool must do: for each pin the set of
// its blocks, and everything else by looking at all of them. It shares no code
// with the pool.
type model struct {
	pool       *blocks.Pool
	count      int
	generation map[uint32]uint32
	pins       map[blocks.Name]map[uint32]bool // live pins
	use        map[blocks.Name]blocks.Use
	over       map[blocks.Name]map[blocks.Block]bool // what live and dead pins have unpinned
	names      []blocks.Name                         // all that were ever given
	seen       []blocks.Block                        // all that were ever given
}

func newModel(count int) (*model, error) {
	pool, err := blocks.New(count)
	return &model{
		pool: pool, count: count, generation: map[uint32]uint32{}, pins: map[blocks.Name]map[uint32]bool{},
		use: map[blocks.Name]blocks.Use{}, over: map[blocks.Name]map[blocks.Block]bool{},
	}, err
}

func (m *model) holders(number uint32, use blocks.Use) (n int) {
	for name, set := range m.pins {
		if set[number] && m.use[name] == use {
			n++
		}
	}
	return n
}

func (m *model) free(number uint32) bool {
	return m.holders(number, blocks.Hold)+m.holders(number, blocks.Read)+m.holders(number, blocks.Write) == 0
}

func (m *model) freeCount() (n int) {
	for number := range uint32(m.count) {
		if m.free(number) {
			n++
		}
	}
	return n
}

func (m *model) given(name blocks.Name, use blocks.Use, table []blocks.Block) error {
	for _, old := range m.names {
		if old.Sequence >= name.Sequence {
			return fmt.Errorf("name %v was given after %v", name, old)
		}
	}
	m.names = append(m.names, name)
	m.pins[name], m.use[name], m.over[name] = map[uint32]bool{}, use, map[blocks.Block]bool{}
	for _, b := range table {
		m.pins[name][b.Number] = true
	}
	return nil
}

func (m *model) allocate(n int) error {
	table := make([]blocks.Block, n)
	name, err := m.pool.Allocate("a", table)
	switch want := n > 0 && n <= m.freeCount(); {
	case !want && err == nil:
		return fmt.Errorf("allocated %d of %d free", n, m.freeCount())
	case !want:
		return is(err, map[bool]error{true: blocks.ErrInvalid, false: blocks.ErrExhausted}[n == 0])
	case err != nil:
		return fmt.Errorf("allocate %d of %d free: %w", n, m.freeCount(), err)
	}
	for _, b := range table {
		if !m.free(b.Number) {
			return fmt.Errorf("block %v was given out while it is pinned", b)
		}
		if b.Generation <= m.generation[b.Number] {
			return fmt.Errorf("block %v has an old generation", b)
		}
		m.generation[b.Number] = b.Generation
	}
	m.seen = append(m.seen, table...)
	return m.given(name, blocks.Hold, table)
}

func (m *model) current(b blocks.Block) error {
	switch {
	case int(b.Number) >= m.count:
		return blocks.ErrRange
	case m.generation[b.Number] != b.Generation, m.free(b.Number):
		return blocks.ErrStale
	}
	return nil
}

func (m *model) mayPin(use blocks.Use, table []blocks.Block) error {
	if len(table) == 0 {
		return blocks.ErrInvalid
	}
	named := map[blocks.Block]bool{}
	for _, b := range table {
		if err := m.current(b); err != nil {
			return err
		}
		holds, reads, writes := m.holders(b.Number, blocks.Hold), m.holders(b.Number, blocks.Read), m.holders(b.Number, blocks.Write)
		switch {
		case named[b]:
			return blocks.ErrRepeated
		case writes > 0, use == blocks.Write && (reads > 0 || holds > 1):
			return blocks.ErrInUse
		}
		named[b] = true
	}
	return nil
}

func (m *model) pin(use blocks.Use, table []blocks.Block) error {
	want := m.mayPin(use, table)
	name, err := m.pool.Pin("p", use, table)
	if want != nil || err != nil {
		return is(err, want)
	}
	return m.given(name, use, table)
}

// live says what is wrong with a name. A pin that is over has left nothing but
// its sequence, so that anybody's name with it is stale.
func (m *model) live(n blocks.Name) error {
	for _, given := range m.names {
		switch {
		case given.Sequence != n.Sequence:
		case m.pins[given] == nil:
			return blocks.ErrStale
		case given == n:
			return nil
		}
	}
	return blocks.ErrUnknown
}

func (m *model) unpin(names ...blocks.Name) error {
	var want error
	named, left := map[blocks.Name]bool{}, m.freeCount()
	if len(names) == 0 {
		want = blocks.ErrInvalid
	}
	for _, n := range names {
		switch {
		case want != nil:
		case m.live(n) != nil:
			want = m.live(n)
		case named[n]:
			want = blocks.ErrRepeated
		}
		named[n] = true
	}
	freed, err := m.pool.Unpin(names...)
	if want != nil || err != nil {
		return is(err, want)
	}
	for _, n := range names {
		delete(m.pins, n)
	}
	return m.freed(freed, left)
}

func (m *model) unpinBlocks(n blocks.Name, batch []blocks.Block) error {
	want, left := m.mayUnpin(n, batch), m.freeCount()
	freed, err := m.pool.UnpinBlocks(n, batch)
	if want != nil || err != nil {
		return is(err, want)
	}
	for _, b := range batch {
		delete(m.pins[n], b.Number)
		m.over[n][b] = true
	}
	if len(m.pins[n]) == 0 {
		delete(m.pins, n)
	}
	return m.freed(freed, left)
}

func (m *model) mayUnpin(n blocks.Name, batch []blocks.Block) error {
	if err := m.live(n); err != nil {
		return err
	}
	if len(batch) == 0 {
		return blocks.ErrInvalid
	}
	named := map[blocks.Block]bool{}
	for _, b := range batch {
		if err := m.current(b); err != nil {
			return err
		}
		switch {
		case named[b]:
			return blocks.ErrRepeated
		case m.over[n][b]:
			return blocks.ErrStale
		case !m.pins[n][b.Number]:
			return blocks.ErrNotPinned
		}
		named[b] = true
	}
	return nil
}

func (m *model) freed(got, before int) error {
	if want := m.freeCount() - before; got != want {
		return fmt.Errorf("%d blocks became free, want %d", got, want)
	}
	return nil
}

// check compares everything that can be seen of the pool.
func (m *model) check() error {
	st := m.pool.Stats()
	if st.Free != m.freeCount() || st.Pins != len(m.pins) || st.Blocks != m.count {
		return fmt.Errorf("%+v, want %d free and %d pins", st, m.freeCount(), len(m.pins))
	}
	for number := range uint32(m.count) {
		s, ok := m.pool.Block(number)
		if !ok || s.Holds != m.holders(number, blocks.Hold) || s.Reads != m.holders(number, blocks.Read) ||
			s.Block.Generation != m.generation[number] || s.Free() != m.free(number) {
			return fmt.Errorf("block %d: %+v, want %d holds, %d reads, generation %d", number, s,
				m.holders(number, blocks.Hold), m.holders(number, blocks.Read), m.generation[number])
		}
		for name, set := range m.pins {
			if set[number] && m.use[name] == blocks.Write && s.Writer != name {
				return fmt.Errorf("block %d: writer %v, want %v", number, s.Writer, name)
			}
		}
	}
	for _, k := range m.pool.Pins() {
		if len(m.pins[k.Name]) != k.Blocks || m.use[k.Name] != k.Use {
			return fmt.Errorf("pin %+v, want %v of %v", k, m.use[k.Name], slices.Collect(maps.Keys(m.pins[k.Name])))
		}
	}
	return nil
}

func is(err, want error) error {
	if e := (*blocks.Error)(nil); want == nil || !errors.Is(err, want) || !errors.As(err, &e) {
		return fmt.Errorf("got %v, want %v", err, want)
	}
	return nil
}
