// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda/gather"
	"github.com/kvxfer/kvxfer/memory"
)

// owner is a slot's owner that says what it is told.
type owner struct{ err error }

func (o *owner) Reuse() error { return o.err }

func TestBounce(t *testing.T) {
	m := arena(t, 1000)
	var owners []*owner
	b := got(gather.NewBounce(m, 300, func(i int, e gather.Extent) (gather.Region, error) {
		if e != part(m, 300*i, 300) {
			t.Errorf("slot %d is %v", i, e)
		}
		owners = append(owners, &owner{})
		return owners[i], nil
	}))(t)
	if b.Slots() != 3 || b.Free() != 3 {
		t.Fatalf("%d slots, %d free", b.Slots(), b.Free())
	}
	seen := map[int]*gather.Lease{}
	for range 3 {
		l := got(b.Lease())(t)
		seen[l.Slot()] = l
	}
	if len(seen) != 3 {
		t.Fatalf("slots were leased twice: %v", seen)
	}
	if _, err := b.Lease(); !errors.Is(err, gather.ErrFull) {
		t.Errorf("fourth lease: %v", err)
	}
	if err := m.Close(); !errors.Is(err, memory.ErrHeld) {
		t.Errorf("arena: %v", err)
	}

	l, claimed := seen[1], errors.New("claim of prefill-0")
	owners[1].err = claimed
	for range 2 {
		if err := l.Return(); !errors.Is(err, claimed) || b.Free() != 0 {
			t.Errorf("return of an owned slot: %v, %d free", err, b.Free())
		}
	}
	owners[1].err = nil
	ok(t, l.Return())
	if err := l.Return(); !errors.Is(err, gather.ErrReturned) || b.Free() != 1 {
		t.Errorf("second return: %v, %d free", err, b.Free())
	}
	if _, err := l.Buffer(1); !errors.Is(err, gather.ErrReturned) {
		t.Errorf("buffer of a slot that was returned: %v", err)
	}
	if again := got(b.Lease())(t); again.Slot() != 1 || again.Region() != gather.Region(owners[1]) {
		t.Errorf("slot %d comes next", again.Slot())
	} else if err := b.Close(); !errors.Is(err, backend.ErrInFlight) {
		t.Errorf("close: %v", err)
	} else {
		ok(t, again.Return())
	}
	for n, want := range map[int]bool{0: false, 1: true, 300: true, 301: false} {
		e, err := seen[2].Buffer(n)
		if (err == nil) != want || want && e != part(m, 600, n) {
			t.Errorf("buffer of %d bytes: %v, %v", n, e, err)
		}
	}
	ok(t, seen[0].Return())
	ok(t, seen[2].Return())
	ok(t, b.Close())
	ok(t, b.Close())
	if _, err := b.Lease(); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	ok(t, m.Close())
}

func TestBounceRefusals(t *testing.T) {
	m := arena(t, 100)
	fine := func(int, gather.Extent) (gather.Region, error) { return &owner{}, nil }
	for what, err := range map[string]error{
		"no memory": second(gather.NewBounce(nil, 10, fine)),
		"no size":   second(gather.NewBounce(m, 0, fine)),
		"too large": second(gather.NewBounce(m, 101, fine)),
		"no region": second(gather.NewBounce(m, 10, nil)),
	} {
		if !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused := errors.New("overlaps")
	if _, err := gather.NewBounce(m, 10, func(i int, _ gather.Extent) (gather.Region, error) {
		if i == 3 {
			return nil, refused
		}
		return &owner{}, nil
	}); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	ok(t, m.Close()) // nothing holds it after a failure
	if _, err := gather.NewBounce(m, 10, fine); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("closed arena: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
