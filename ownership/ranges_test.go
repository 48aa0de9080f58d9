// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func emptyRegistry(t *testing.T) *Registry {
	t.Helper()
	r, err := New(Config{Name: "e", Incarnation: NewIncarnation(), Contain: func(Containment) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every answer is compared with a search over all regions.
func TestOverlappingRegions(t *testing.T) {
	reg, rng := emptyRegistry(t), rand.New(rand.NewPCG(1, 2))
	specs := map[string]RegionSpec{}
	var taken, refused int
	for step := range 20_000 {
		id := fmt.Sprint(rng.IntN(40))
		if _, known := specs[id]; known && rng.IntN(2) == 0 {
			if _, err := reg.RemoveRegion(time.Duration(step), id); err != nil {
				t.Fatal(err)
			}
			delete(specs, id)
			continue
		}
		spec := RegionSpec{ID: id, Addr: 1 + rng.Uint64N(300), Len: rng.Uint64N(12)}
		free := true
		for other, s := range specs {
			free = free && other != id && (spec.Len == 0 || spec.Addr >= s.Addr+s.Len || s.Addr >= spec.Addr+spec.Len || s.Len == 0)
		}
		switch err := reg.AddRegion(spec); {
		case free && err == nil:
			specs[id] = spec
			taken++
		case !free && errors.Is(err, ErrReject):
			refused++
		default:
			t.Fatalf("%+v beside %v: %v", spec, specs, err)
		}
	}
	if taken < 1000 || refused < 1000 {
		t.Errorf("%d taken and %d refused show little", taken, refused)
	}
}

func TestRegionMovesWhenRegisteredAgain(t *testing.T) {
	reg := emptyRegistry(t)
	add := func(id string, addr, n uint64) error { return reg.AddRegion(RegionSpec{ID: id, Addr: addr, Len: n}) }
	if err := errors.Join(add("a", 100, 100), add("b", 300, 100), add("no address", 0, 1000)); err != nil {
		t.Fatal(err)
	}
	if _, err := reg.Deregister(1, "a"); err != nil {
		t.Fatal(err)
	}
	if err := add("c", 150, 1); !errors.Is(err, ErrReject) {
		t.Errorf("deregistered memory is the region's until it is removed: %v", err)
	}
	if err := add("a", 350, 10); !errors.Is(err, ErrReject) {
		t.Errorf("a over b: %v", err)
	}
	if err := errors.Join(add("a", 150, 150), add("c", 100, 50)); err != nil {
		t.Error(err)
	}
	if g, _ := reg.Region("a"); !g.Registered || g.Registration != 2 {
		t.Errorf("a is %+v", g)
	}
	if _, err := reg.Deregister(1, "a"); err != nil {
		t.Errorf("a is registered again: %v", err)
	}
	if _, err := reg.RemoveRegion(1, "a"); err != nil {
		t.Error(err)
	}
	if err := add("e", 160, 140); err != nil {
		t.Errorf("nothing of a is left: %v", err)
	}
	if err := add("d", math.MaxUint64, 2); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("beyond the address space: %v", err)
	}
}
