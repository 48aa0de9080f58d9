// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
)

func segment(a *memory.Arena, at, n uint64) backend.Segment {
	return backend.Segment{Addr: uint64(a.Addr()) + at, Len: n}
}

// A local copy moves its segments tick by tick, is released on proof alone, and
// late bytes after an error are counted as such.
func TestLocalCopy(t *testing.T) {
	const half = 512
	for name, test := range map[string]struct {
		fault     loop.Fault
		start     backend.Status
		polls     []backend.Status // one tick before each
		late      uint64
		release   error
		delivered int
	}{
		"good":          {loop.Fault{}, backend.Submitted, []backend.Status{backend.InProgress, backend.Done}, 0, nil, 2 * half},
		"not submitted": {loop.Fault{Status: backend.NotSubmitted}, backend.NotSubmitted, []backend.Status{backend.NotSubmitted}, 0, nil, 0},
		"error, and goes on": {
			loop.Fault{Status: backend.Error, After: half, Late: loop.Rest}, backend.Submitted, []backend.Status{backend.Error, backend.Error}, half, backend.ErrInFlight, 2 * half,
		},
		"lost at once": {loop.Fault{Status: backend.Lost}, backend.Lost, []backend.Status{backend.Lost}, 0, backend.ErrInFlight, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := loop.New(loop.Config{})
			from, err := memory.New(memory.Spec{Len: 4096})
			if err != nil {
				t.Fatal(err)
			}
			to, err := memory.New(memory.Spec{Len: 4096})
			if err != nil {
				t.Fatal(err)
			}
			copy(from.Bytes(), bytes.Repeat([]byte("x"), 2*half))
			l, err := f.Local([]backend.Segment{segment(from, half, half), segment(from, 0, half)}, []backend.Segment{segment(to, 0, half), segment(to, half, half)})
			if err = errors.Join(err, l.Inject(test.fault)); err != nil {
				t.Fatal(err)
			}
			if got := l.Start().Status; got != test.start {
				t.Errorf("start answers %v, want %v", got, test.start)
			}
			if test.start == backend.Submitted {
				if err := l.Release(); !errors.Is(err, backend.ErrInFlight) {
					t.Errorf("release in flight: %v", err)
				}
			}
			for i, want := range test.polls {
				f.Step()
				if got := l.Poll().Status; got != want {
					t.Errorf("poll %d answers %v, want %v", i, got, want)
				}
			}
			if n := bytes.Count(to.Bytes(), []byte("x")); n != test.delivered {
				t.Errorf("%d bytes arrived, want %d", n, test.delivered)
			}
			if n := f.Stats().LateBytes; n != test.late {
				t.Errorf("%d late bytes, want %d", n, test.late)
			}
			if err := l.Release(); !errors.Is(err, test.release) {
				t.Errorf("release: %v, want %v", err, test.release)
			}
			if l.Released() != (test.release == nil) {
				t.Error("released is not what release said")
			}
		})
	}
	if _, err := loop.New(loop.Config{}).Local(make([]backend.Segment, 1), nil); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("lists that do not fit: %v", err)
	}
}
