// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bytes"
	"errors"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// newArena maps an arena that the test closes, and requires intact canaries.
func newArena(t *testing.T, spec Spec) *Arena {
	t.Helper()
	a, err := New(spec)
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func TestNewRefusesSizes(t *testing.T) {
	for _, c := range []struct {
		len  int
		want string
	}{
		{0, "memory: arena size 0: must be between 1 and"},
		{-1, "memory: arena size -1: must be between 1 and"},
		{MaxLen + 1, "larger than the limit of"},
	} {
		_, err := New(Spec{Len: c.len})
		var size *SizeError
		if !errors.As(err, &size) || !errors.Is(err, ErrSize) || size.Size != c.len || size.Max != MaxLen {
			t.Errorf("Len %d: got %#v, want a *SizeError with the size and the limit", c.len, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("Len %d: text %q lacks %q", c.len, err, c.want)
		}
	}
}

func TestArenaIsAlignedZeroAndUsable(t *testing.T) {
	page := os.Getpagesize()
	for _, spec := range []Spec{
		{Len: 1}, {Len: page - 1}, {Len: page}, {Len: page + 1}, {Len: 3*page + 17, Prefault: true},
		{Len: HugePageSize, HugePages: true}, {Len: 2*HugePageSize + page, HugePages: true, Prefault: true},
		{Len: page, HugePages: true},
	} {
		a := newArena(t, spec)
		b := a.Bytes()
		if len(b) != spec.Len || cap(b) != spec.Len || a.Len() != spec.Len {
			t.Errorf("%+v: len %d cap %d", spec, len(b), cap(b))
		}
		align := page
		if spec.HugePages {
			align = HugePageSize
		}
		if a.Addr()%uintptr(align) != 0 {
			t.Errorf("%+v: address %#x is not aligned to %d", spec, a.Addr(), align)
		}
		if bytes.Count(b, []byte{0}) != len(b) {
			t.Errorf("%+v: not zero at first", spec)
		}
		for i := range b {
			b[i] = 0xff
		}
		if err := a.Check(); err != nil {
			t.Errorf("%+v: a full arena damaged its canary: %v", spec, err)
		}
	}
}

func TestCheckFindsEveryOverwrittenCanaryByte(t *testing.T) {
	page := os.Getpagesize()
	a := newArena(t, Spec{Len: page + 100})
	for _, side := range []struct {
		name   string
		canary []byte
		offset int // of canary[0], relative to the arena
	}{{"before", a.before, -page}, {"after", a.after, page + 100}} {
		for i := range side.canary {
			side.canary[i]++
			var damage *CanaryError
			err := a.Check()
			if !errors.As(err, &damage) || damage.Offset != side.offset+i || damage.Changed != 1 {
				t.Fatalf("%s byte %d: got %v", side.name, i, err)
			}
			side.canary[i]--
		}
	}
	if err := a.Check(); err != nil {
		t.Errorf("restored: %v", err)
	}
}

func TestCheckReportsBothSides(t *testing.T) {
	a := newArena(t, Spec{Len: 10})
	for i := range a.before[:7] {
		a.before[i] = ^a.before[i]
	}
	clear(a.after) // as a copy of zeros that ran over the end
	err := a.Check()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 2 || !errors.Is(err, ErrCanary) {
		t.Fatalf("got %v, want two canary errors", err)
	}
	if !strings.Contains(err.Error(), "canary overwritten: 7 bytes, the first at offset -") {
		t.Errorf("text %q", err)
	}
}

// TestGuardFaults shows that a stray access far outside faults instead of
// reaching a neighbour.
func TestGuardFaults(t *testing.T) {
	a := newArena(t, Spec{Len: 1})
	faults := func(at int) (faulted bool) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() { faulted = recover() != nil }()
		a.mapping[at] = 1
		return false
	}
	if !faults(0) || !faults(len(a.mapping)-1) {
		t.Error("a guard page can be written")
	}
}

func TestCloseTwiceAndAfterwards(t *testing.T) {
	a := newArena(t, Spec{Len: 100})
	if a.String() == "closed arena" {
		t.Error("open arena calls itself closed")
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if a.Bytes() != nil || a.Len() != 0 || a.Addr() != 0 || a.Check() != nil || a.String() != "closed arena" {
		t.Error("a closed arena still shows something")
	}
	if n, err := a.ResidentHuge(); n != 0 || err != nil {
		t.Errorf("closed arena: %d, %v", n, err)
	}
}

// TestSystemRefusal asks for the limit itself; most systems refuse that much,
// and then the error must carry the system's own reason.
func TestSystemRefusal(t *testing.T) {
	a, err := New(Spec{Len: MaxLen})
	if err == nil {
		t.Logf("the system granted %d bytes", MaxLen)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	var m *MapError
	if !errors.As(err, &m) || m.Len != MaxLen || m.Err == nil {
		t.Errorf("got %#v, want a *MapError", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	a := newArena(t, Spec{Len: 1 << 16})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if err := a.Check(); err != nil {
					t.Error(err)
				}
				_, _, _ = a.Len(), a.Addr(), a.String()
			}
		})
	}
	wg.Wait()
}
