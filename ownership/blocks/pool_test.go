// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/kvxfer/kvxfer/ownership/blocks"
)

func newPool(t testing.TB, count int) *blocks.Pool {
	t.Helper()
	p, err := blocks.New(count)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func allocate(t testing.TB, p *blocks.Pool, holder string, n int) (blocks.Name, []blocks.Block) {
	t.Helper()
	table := make([]blocks.Block, n)
	name, err := p.Allocate(holder, table)
	if err != nil {
		t.Fatal(err)
	}
	return name, table
}

func pinned(t testing.TB, p *blocks.Pool, holder string, use blocks.Use, table []blocks.Block) blocks.Name {
	t.Helper()
	name, err := p.Pin(holder, use, table)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func wantFree(t testing.TB, p *blocks.Pool, n int) {
	t.Helper()
	if st := p.Stats(); st.Free != n {
		t.Fatalf("%d blocks are free, want %d; pins %v", st.Free, n, p.Pins())
	}
}

func TestNewRefusesACount(t *testing.T) {
	for _, n := range []int{-1, 0, blocks.MaxBlocks + 1} {
		if _, err := blocks.New(n); !errors.Is(err, blocks.ErrInvalid) {
			t.Errorf("%d blocks: %v", n, err)
		}
	}
}

// A shared prefix is reusable when its last claim is, whichever that is.
func TestSharedPrefix(t *testing.T) {
	p := newPool(t, 6)
	first, table := allocate(t, p, "request 1", 4)
	prefix := pinned(t, p, "request 2", blocks.Hold, table[:2])
	own, _ := allocate(t, p, "request 2", 2)
	if n, err := p.Unpin(first); n != 2 || err != nil {
		t.Fatalf("%d blocks became free: %v", n, err)
	}
	wantFree(t, p, 2)
	if n, err := p.Unpin(prefix, own); n != 4 || err != nil {
		t.Fatalf("%d blocks became free: %v", n, err)
	}
	wantFree(t, p, 6)
}

// Contract §10: the whole batch is judged before the first decrement.
func TestUnpinIsTransactional(t *testing.T) {
	p := newPool(t, 8)
	name, table := allocate(t, p, "request 1", 3)
	other, theirs := allocate(t, p, "request 2", 2)
	gone := pinned(t, p, "request 3", blocks.Hold, table)
	if _, err := p.Unpin(gone); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		what  string
		batch []blocks.Block
		want  error
	}{
		{"range", []blocks.Block{table[0], {Number: 8, Generation: 1}}, blocks.ErrRange},
		{"uniqueness", []blocks.Block{table[0], table[1], table[0]}, blocks.ErrRepeated},
		{"another's block", []blocks.Block{table[0], theirs[0]}, blocks.ErrNotPinned},
		{"another generation", []blocks.Block{table[0], {Number: table[1].Number, Generation: 9}}, blocks.ErrStale},
		{"the zero block", []blocks.Block{{}}, blocks.ErrStale},
		{"nothing", nil, blocks.ErrInvalid},
	} {
		if _, err := p.UnpinBlocks(name, tc.batch); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.what, err, tc.want)
		}
		wantFree(t, p, 3)
	}
	for _, tc := range []struct {
		names []blocks.Name
		want  error
	}{
		{[]blocks.Name{name, gone}, blocks.ErrStale},
		{[]blocks.Name{name, other, name}, blocks.ErrRepeated},
		{[]blocks.Name{name, {Holder: "request 9", Sequence: 99}}, blocks.ErrUnknown},
		{[]blocks.Name{name, {Holder: "request 9", Sequence: other.Sequence}}, blocks.ErrUnknown},
		{[]blocks.Name{name, {}}, blocks.ErrUnknown},
		{nil, blocks.ErrInvalid},
	} {
		if _, err := p.Unpin(tc.names...); !errors.Is(err, tc.want) {
			t.Errorf("unpin %v: got %v, want %v", tc.names, err, tc.want)
		}
		wantFree(t, p, 3)
	}
}

// Contract §10: a batch is never replayed. The second unpin meets the claim of
// whoever has the block by then, and must not touch it.
func TestUnpinIsNotReplayed(t *testing.T) {
	p := newPool(t, 1)
	first, table := allocate(t, p, "request", 1)
	if n, err := p.UnpinBlocks(first, table); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	second, again := allocate(t, p, "request", 1)
	for range 3 {
		_, whole := p.Unpin(first)
		_, part := p.UnpinBlocks(first, table)
		_, crossed := p.UnpinBlocks(second, table)
		_, shared := p.Pin("late", blocks.Hold, table)
		for _, err := range []error{whole, part, crossed, shared} {
			if !errors.Is(err, blocks.ErrStale) {
				t.Fatalf("replay: got %v, want %v", err, blocks.ErrStale)
			}
		}
	}
	wantFree(t, p, 0)
	if st := p.Stats(); st.Stale != 12 {
		t.Errorf("%d stale calls were counted, want 12", st.Stale)
	}
	if n, err := p.UnpinBlocks(second, again); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
}

// A pin never had the later allocation of a block that it has given back: to name that
// one is a mistake, which is not taken for a replay.
func TestUnpinOfALaterAllocation(t *testing.T) {
	p := newPool(t, 2)
	first, table := allocate(t, p, "first", 2)
	if n, err := p.UnpinBlocks(first, table[:1]); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	_, theirs := allocate(t, p, "second", 1)
	if theirs[0].Number != table[0].Number || theirs[0].Generation == table[0].Generation {
		t.Fatalf("%v after %v", theirs[0], table[0])
	}
	for _, tc := range []struct {
		batch []blocks.Block
		want  error
	}{
		{theirs, blocks.ErrNotPinned},
		{[]blocks.Block{table[1], theirs[0]}, blocks.ErrNotPinned},
		{table[:1], blocks.ErrStale}, // the replay
	} {
		if _, err := p.UnpinBlocks(first, tc.batch); !errors.Is(err, tc.want) {
			t.Errorf("%v: got %v, want %v", tc.batch, err, tc.want)
		}
	}
	if st := p.Stats(); st.Stale != 1 {
		t.Errorf("%d stale calls were counted, want 1", st.Stale)
	}
	if n, err := p.UnpinBlocks(first, table[1:]); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
}

// Readers share, a writer is alone, and a shared prefix is read-only.
func TestUsesExcludeEachOther(t *testing.T) {
	const h, r, w = blocks.Hold, blocks.Read, blocks.Write
	for _, tc := range []struct {
		have []blocks.Use // besides the allocation's own hold
		use  blocks.Use
		want string // empty: fine
	}{
		{nil, h, ""}, {nil, r, ""}, {nil, w, ""},
		{[]blocks.Use{h}, h, ""}, {[]blocks.Use{h}, r, ""}, {[]blocks.Use{h}, w, "2 pins share it"},
		{[]blocks.Use{r}, h, ""}, {[]blocks.Use{r}, r, ""}, {[]blocks.Use{r}, w, "p0#2 reads it"},
		{[]blocks.Use{r, r}, w, "2 pins read it"},
		{[]blocks.Use{w}, h, "p0#2 writes it"}, {[]blocks.Use{w}, r, "p0#2 writes it"}, {[]blocks.Use{w}, w, "p0#2 writes it"},
	} {
		p := newPool(t, 2)
		_, table := allocate(t, p, "request", 2)
		for i, u := range tc.have {
			pinned(t, p, "p"+string(rune('0'+i)), u, table[1:])
		}
		before := p.Pins()
		_, err := p.Pin("late", tc.use, table)
		if tc.want == "" {
			if err != nil {
				t.Errorf("%v, then %v: %v", tc.have, tc.use, err)
			}
			continue
		}
		var e *blocks.Error
		if !errors.As(err, &e) || e.Kind != blocks.ErrInUse || e.Block != table[1] || e.Pin.Holder != "late" || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, then %v: %v, want %q about block %v", tc.have, tc.use, err, tc.want, table[1])
		}
		if len(p.Pins()) != len(before) {
			t.Errorf("%v, then %v: refused, and yet %v", tc.have, tc.use, p.Pins())
		}
	}
}

func TestExhaustedAllocatesNothing(t *testing.T) {
	p := newPool(t, 3)
	allocate(t, p, "request 1", 2)
	table := make([]blocks.Block, 2)
	_, err := p.Allocate("request 2", table)
	if !errors.Is(err, blocks.ErrExhausted) || table[0] != (blocks.Block{}) {
		t.Fatalf("got %v and %v", err, table)
	}
	if want := "blocks: pin for request 2: not enough blocks: 2 asked for, 1 of 3 are free"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	wantFree(t, p, 1)
}

func TestCloseAndFreeze(t *testing.T) {
	p := newPool(t, 2)
	name, table := allocate(t, p, "request", 1)
	if err := p.Close(); !errors.Is(err, blocks.ErrPinned) || !strings.Contains(err.Error(), "request#1") {
		t.Fatalf("close of a pinned pool: %v", err)
	}
	if _, err := p.Unpin(name); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Allocate("request", table); !errors.Is(err, blocks.ErrClosed) {
		t.Errorf("allocate of a closed pool: %v", err)
	}

	p = newPool(t, 2)
	name, table = allocate(t, p, "request", 1)
	p.Freeze()
	_, unpin := p.Unpin(name)
	_, part := p.UnpinBlocks(name, table)
	_, pin := p.Pin("other", blocks.Hold, table)
	_, alloc := p.Allocate("other", make([]blocks.Block, 1))
	for _, err := range []error{unpin, part, pin, alloc, p.Close()} {
		if !errors.Is(err, blocks.ErrFrozen) {
			t.Errorf("after freeze: %v", err)
		}
	}
	wantFree(t, p, 1)
}

// Many requests allocate, share, read and end at once; nobody ever has a block
// that somebody else writes, and in the end every block is free.
func TestManyRequestsAtOnce(t *testing.T) {
	const count, workers, rounds = 64, 8, 400
	p := newPool(t, count)
	system, prefix := allocate(t, p, "system prompt", 8)
	var owner [count]sync.Mutex // TryLock fails if a block was given twice
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				if err := oneRequest(p, prefix, &owner); err != nil && !errors.Is(err, blocks.ErrExhausted) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	wantFree(t, p, count-len(prefix))
	if _, err := p.Unpin(system); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

func oneRequest(p *blocks.Pool, prefix []blocks.Block, owner *[64]sync.Mutex) error {
	shared, err := p.Pin("request", blocks.Hold, prefix)
	if err != nil {
		return err
	}
	table := make([]blocks.Block, 12)
	own, err := p.Allocate("request", table)
	if err != nil {
		_, e := p.Unpin(shared)
		return errors.Join(err, e)
	}
	for _, b := range table {
		if !owner[b.Number].TryLock() {
			return errors.New("a block has two owners: " + b.String())
		}
	}
	write, err := p.Pin("receive", blocks.Write, table)
	if err != nil {
		return err
	}
	if _, err := p.Pin("other", blocks.Read, table); !errors.Is(err, blocks.ErrInUse) {
		return errors.New("read what is being written")
	}
	_, err = p.Unpin(own) // the request ends, the transfer goes on
	for _, b := range table {
		owner[b.Number].Unlock()
	}
	_, e1 := p.Unpin(write)
	_, e2 := p.UnpinBlocks(shared, prefix[:4])
	_, e3 := p.UnpinBlocks(shared, prefix[4:])
	return errors.Join(err, e1, e2, e3)
}

func TestStrings(t *testing.T) {
	for got, want := range map[string]string{
		blocks.Hold.String(): "hold", blocks.Read.String(): "read", blocks.Write.String(): "write",
		blocks.Use(0).String():                               "invalid use 0",
		blocks.Block{Number: 7, Generation: 2}.String():      "7@2",
		blocks.Name{Holder: "prefill", Sequence: 3}.String(): "prefill#3",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A steady pool allocates nothing, however large it is.
func TestSteadyPoolDoesNotAllocate(t *testing.T) {
	p := newPool(t, 1<<12)
	table := make([]blocks.Block, 256)
	cycle := func() {
		own, err1 := p.Allocate("request", table)
		read, err2 := p.Pin("send", blocks.Read, table)
		_, err3 := p.Unpin(own)
		_, err4 := p.Unpin(read)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
	}
	for range 8 {
		cycle()
	}
	if n := testing.AllocsPerRun(100, cycle); n > 0 {
		t.Errorf("%v allocations in a request's life, want none", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	for _, tc := range []struct {
		name         string
		count, batch int
	}{{"1k", 1 << 10, 256}, {"1M", 1 << 20, 256}, {"1M/whole", 1 << 20, 1 << 20}} {
		b.Run(tc.name, func(b *testing.B) {
			p := newPool(b, tc.count)
			table := make([]blocks.Block, tc.batch)
			b.ReportAllocs()
			for b.Loop() {
				own, err := p.Allocate("request", table)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Unpin(own); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*tc.batch), "ns/block")
		})
	}
}

// One block at a time out of a large pin: no call looks at all of it.
func BenchmarkUnpinBlocks(b *testing.B) {
	p := newPool(b, 1<<20)
	table := make([]blocks.Block, 1<<14)
	var own blocks.Name
	left := 0
	for b.Loop() {
		if left == 0 {
			own, _ = p.Allocate("request", table)
			left = len(table)
		}
		left--
		if _, err := p.UnpinBlocks(own, table[left:left+1]); err != nil {
			b.Fatal(err)
		}
	}
}
