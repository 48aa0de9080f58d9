// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"time"
)

// Region is memory that pieces may use, as a whole (§7).
type Region struct {
	Allocation, Registration int
	Registered               bool
}

// AddRegion declares a region, or registers one again.
func (r *Registry) AddRegion(id string) string {
	g := r.Regions[id]
	switch {
	case g == nil:
		r.Regions[id] = &Region{1, 1, true}
		return ""
	case g.Registered:
		return Reject
	}
	g.Registered = true
	return ""
}

// Holders are the unreleased owners of a region.
func (r *Registry) Holders(id string) (out []*Piece) {
	for _, s := range r.Sessions {
		for _, p := range s.Pieces {
			if p.Region == id {
				out = append(out, p)
			}
		}
	}
	return out
}

// taken: owners of memory that is only read share it, nobody else shares. Those
// of a WRITE read on the send side.
func (r *Registry) taken(id string, reads bool) bool {
	return slices.ContainsFunc(r.Holders(id), func(p *Piece) bool { return !reads || !p.Reads })
}

// Reuse hands a region to somebody else: ownership alone decides, also under
// FATAL.
func (r *Registry) Reuse(at time.Duration, id string) string {
	return r.step(at, func() string {
		g := r.Regions[id]
		switch {
		case g == nil:
			return Invalid
		case len(r.Holders(id)) > 0:
			return Refused
		}
		g.Allocation++
		return ""
	})
}

// Deregister ends a registration.
func (r *Registry) Deregister(at time.Duration, id string) string {
	return r.step(at, func() string {
		g := r.Regions[id]
		switch {
		case g == nil:
			return Invalid
		case r.Fatal:
			return Fatal
		case !g.Registered:
			return Reject
		case len(r.Holders(id)) > 0:
			return Refused
		}
		g.Registered = false
		g.Registration++
		return ""
	})
}

// RemoveRegion forgets a region.
func (r *Registry) RemoveRegion(at time.Duration, id string) string {
	return r.step(at, func() string {
		switch {
		case r.Regions[id] == nil:
			return Invalid
		case r.Fatal:
			return Fatal
		case len(r.Holders(id)) > 0:
			return Refused
		}
		delete(r.Regions, id)
		return ""
	})
}
