// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/fsm"
	regionrules "github.com/kvxfer/kvxfer/gen/region"
)

// region is memory that owners hold (contract §7). Neither generation changes
// while it is held.
type region struct {
	id           string
	addr, len    uint64
	allocation   uint64
	registration uint64
	rules        regionrules.System
	owner        *owner              // one of them
	sharers      map[*owner]struct{} // the others
}

// mayHold asks whether an owner with that access could hold the region now.
func (g *region) mayHold(access Access) *Error {
	rules := g.rules
	if _, err := rules.Take(regionrules.Access(access), nil); err != nil {
		return g.held(err.(*fsm.CallError).Reason)
	}
	return nil
}

func (g *region) held(why string) *Error {
	e := fail(KindRefused, "region "+g.id, why)
	for _, o := range g.owners() {
		e.Retained = o.retained(e.Retained)
		if len(e.Retained) == 0 || e.Retained[len(e.Retained)-1].Piece != o.name() {
			e.Retained = append(e.Retained, Retained{Piece: o.name(), Region: g.id, Why: "drained, but its session is not closed"})
		}
	}
	return e
}

// owners returns who holds the region, in the order in which they came.
func (g *region) owners() []*owner {
	list := slices.Collect(maps.Keys(g.sharers))
	if g.owner != nil {
		list = append(list, g.owner)
	}
	slices.SortFunc(list, func(a, b *owner) int { return cmp.Compare(a.first, b.first) })
	return list
}

func (g *region) hold(o *owner, access Access) {
	o.region = g
	switch {
	case g.owner == nil:
		g.owner = o
	case g.sharers == nil:
		g.sharers = make(map[*owner]struct{})
		fallthrough
	default:
		g.sharers[o] = struct{}{}
	}
	g.rules.Take(regionrules.Access(access), nil) // it was asked by mayHold
}

func (g *region) release(o *owner) {
	if g.owner == o {
		g.owner = nil
	} else {
		delete(g.sharers, o)
	}
	g.rules.GiveBack(nil)
}

func (g *region) state() RegionState {
	st := RegionState{ID: g.id, Len: g.len, Allocation: g.allocation, Registration: g.registration, Registered: g.rules.Registered()}
	for _, o := range g.owners() {
		st.Owners = append(st.Owners, o.name())
	}
	slices.SortFunc(st.Owners, func(a, b PieceName) int { return strings.Compare(a.String(), b.String()) })
	return st
}

// addRegion declares a region, or registers a deregistered one again.
func (c *core) addRegion(spec RegionSpec) error {
	if spec.ID == "" {
		return fail(KindInvalid, "region", "its id is empty")
	}
	if spec.Addr > math.MaxUint64-spec.Len {
		return fail(KindInvalid, "region "+spec.ID, "ends beyond the address space")
	}
	g := c.regions[spec.ID]
	if g == nil {
		rules, _ := regionrules.New() // nothing to refuse
		g = &region{id: spec.ID, allocation: 1, registration: 1, rules: rules}
	}
	known := c.regions[spec.ID] != nil
	if rules := g.rules; known { // a copy: an overlap may refuse it yet
		if _, err := rules.Register(nil); err != nil {
			return c.refusal(err, "region "+spec.ID, "")
		}
	}
	if other := c.ranges.overlapping(spec, g); other != nil {
		return fail(KindReject, "region "+spec.ID, "overlaps region "+other.id)
	}
	if known {
		g.rules.Register(nil)
	} else {
		c.regions[spec.ID] = g
	}
	c.ranges.remove(g)
	g.addr, g.len = spec.Addr, spec.Len
	c.ranges.insert(g)
	return nil
}

func (c *core) knownRegion(id string) (*region, error) {
	if g := c.regions[id]; g != nil {
		return g, nil
	}
	return nil, fail(KindInvalid, "region "+id, "is unknown")
}

// reuse hands the region to somebody else: ownership alone decides.
func (c *core) reuse(id string) error {
	g, err := c.knownRegion(id)
	if err != nil {
		return err
	}
	var room [1]regionrules.Effect
	if _, err := g.rules.Reuse(room[:0]); err != nil {
		return c.regionRefusal(g, err)
	}
	g.allocation++
	return nil
}

func (c *core) deregister(id string) error {
	g, err := c.knownRegion(id)
	if err != nil {
		return err
	}
	if _, err := g.rules.Deregister(c.fatal(), nil); err != nil {
		return c.regionRefusal(g, err)
	}
	g.registration++
	return nil
}

func (c *core) removeRegion(id string) error {
	g, err := c.knownRegion(id)
	if err != nil {
		return err
	}
	if _, err := g.rules.Remove(c.fatal(), nil); err != nil {
		return c.regionRefusal(g, err)
	}
	c.ranges.remove(g)
	delete(c.regions, id)
	return nil
}

// regionRefusal names what holds the region, where that is the reason.
func (c *core) regionRefusal(g *region, err error) error {
	if call := err.(*fsm.CallError); call.Kind == fsm.Refused {
		return g.held(call.Reason)
	}
	return c.refusal(err, "region "+g.id, "")
}
