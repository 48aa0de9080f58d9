// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"math"
	"slices"
	"strings"
)

// region is memory that owners hold (contract §7). Neither generation changes
// while it is held.
type region struct {
	id           string
	addr, len    uint64
	allocation   uint64
	registration uint64
	registered   bool
	owners       []*owner
}

// mayHold refuses a region that is not registered, or that another owner holds;
// send owners share.
func (g *region) mayHold(side Side) *Error {
	if !g.registered {
		return fail(KindRefused, "region "+g.id, "region "+g.id+" is not registered")
	}
	if len(g.owners) == 0 || side == Send && g.owners[0].session.side == Send {
		return nil
	}
	return g.held("is held by another owner")
}

func (g *region) held(why string) *Error {
	e := fail(KindRefused, "region "+g.id, why)
	for _, o := range g.owners {
		e.Retained = o.retained(e.Retained)
		if len(e.Retained) == 0 || e.Retained[len(e.Retained)-1].Piece != o.pieceName() {
			e.Retained = append(e.Retained, Retained{Piece: o.pieceName(), Region: g.id, Why: "drained, but its session is not closed"})
		}
	}
	return e
}

func (g *region) hold(o *owner) {
	o.region, o.slot = g, int32(len(g.owners))
	g.owners = append(g.owners, o)
}

func (g *region) release(o *owner) {
	last := len(g.owners) - 1
	g.owners[o.slot] = g.owners[last]
	g.owners[o.slot].slot = o.slot
	g.owners[last] = nil
	g.owners = g.owners[:last]
}

func (g *region) state() RegionState {
	st := RegionState{ID: g.id, Len: g.len, Allocation: g.allocation, Registration: g.registration, Registered: g.registered}
	for _, o := range g.owners {
		st.Owners = append(st.Owners, o.pieceName())
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
	if g != nil && g.registered {
		return fail(KindReject, "region "+spec.ID, "is registered")
	}
	if other := c.ranges.overlapping(spec, g); other != nil {
		return fail(KindReject, "region "+spec.ID, "overlaps region "+other.id)
	}
	if g == nil {
		g = &region{id: spec.ID, allocation: 1, registration: 1}
		c.regions[spec.ID] = g
	}
	c.ranges.remove(g)
	g.registered, g.addr, g.len = true, spec.Addr, spec.Len
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
	if len(g.owners) > 0 {
		return g.held("is owned")
	}
	g.allocation++
	return nil
}

func (c *core) deregister(id string) error {
	g, err := c.knownRegion(id)
	switch {
	case err != nil:
		return err
	case c.fatal():
		return c.fatalError("region " + id)
	case len(g.owners) > 0:
		return g.held("is owned")
	case !g.registered:
		return fail(KindReject, "region "+id, "is not registered")
	}
	g.registered = false
	g.registration++
	return nil
}

func (c *core) removeRegion(id string) error {
	g, err := c.knownRegion(id)
	switch {
	case err != nil:
		return err
	case c.fatal():
		return c.fatalError("region " + id)
	case len(g.owners) > 0:
		return g.held("is owned")
	}
	c.ranges.remove(g)
	delete(c.regions, id)
	return nil
}
