// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "time"

// AddRegion declares memory that pieces may use, with both generations at 1, or
// registers a deregistered region again. It owns nothing yet, so it is allowed
// in every admission state. Errors: ErrInvalidArgument; ErrReject where it is
// registered, or overlaps another region.
func (r *Registry) AddRegion(spec RegionSpec) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.core.tracing(CallAddRegion)
	if t != nil {
		t.Region = spec.ID
	}
	err := r.core.addRegion(spec)
	if t != nil {
		r.core.traceEnd(nil, err)
	}
	return err
}

// Reuse asks to hand a region to somebody else, and so starts its next
// allocation generation. Only release makes it possible, and ownership alone
// decides, under FATAL too. Errors: ErrInvalidArgument for an unknown region;
// ErrRefused, with a list of the claims in the way, while it is owned.
func (r *Registry) Reuse(at time.Duration, region string) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallReuse); t != nil {
			t.Region = region
		}
		return c.reuse(region)
	})
}

// Deregister asks whether a region's registration may end, and so starts its
// next registration generation; pieces are refused until AddRegion. Call it
// before the backend's own deregistration. Errors: ErrInvalidArgument, ErrFatal;
// ErrReject where it is not registered; ErrRefused while it is owned.
func (r *Registry) Deregister(at time.Duration, region string) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallDeregister); t != nil {
			t.Region = region
		}
		return c.deregister(region)
	})
}

// RemoveRegion forgets a region. Call it before the memory is unmapped or
// freed. Errors: ErrInvalidArgument, ErrFatal; ErrRefused while it is owned.
func (r *Registry) RemoveRegion(at time.Duration, region string) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallRemoveRegion); t != nil {
			t.Region = region
		}
		return c.removeRegion(region)
	})
}

// Region returns the state of a region, and whether it is known.
func (r *Registry) Region(id string) (RegionState, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := r.core.regions[id]; g != nil {
		return g.state(), true
	}
	return RegionState{}, false
}
