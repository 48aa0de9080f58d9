// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		shape Shape
		want  string // name of the number that is wrong
	}{
		{Shape{32, 64, 16 << 10}, ""},
		{Shape{1, 1, 1}, ""},
		{Shape{0, 64, 16 << 10}, "layers"},
		{Shape{32, -1, 16 << 10}, "blocks"},
		{Shape{32, 64, 0}, "block-size"},
		{Shape{32, 64, math.MaxInt64}, "block-size"},
		{Shape{math.MaxInt, 1, 1}, "layers"},
		{Shape{1 << 20, 1 << 20, 1}, "layers × blocks"},
		{Shape{1 << 10, 1 << 7, 1 << 40}, ""},
		{Shape{1<<17 + 1, 1, 1}, "layers × blocks"}, // more than a request can name
	} {
		err := tc.shape.Check()
		var size *SizeError
		if errors.As(err, &size); tc.want == "" != (err == nil) || size != nil && size.Name != tc.want {
			t.Errorf("%+v: got %v, want %q", tc.shape, err, tc.want)
		}
	}
}

func TestCheckFits(t *testing.T) {
	if err := (Shape{1, 1, 1}).CheckFits(2); err != nil {
		t.Error(err)
	}
	var fit *FitError
	if err := (Shape{1 << 10, 1 << 8, 1 << 38}).CheckFits(2); !errors.As(err, &fit) || fit.Need != 1<<58 {
		t.Errorf("a quarter of an exbibyte fits in memory: %v", err)
	}
}

func TestParseMeminfo(t *testing.T) {
	n, ok := parseMeminfo([]byte("MemTotal:  100 kB\nMemAvailable:    20 kB\n"))
	if !ok || n != 20<<10 {
		t.Errorf("got %d, %v", n, ok)
	}
	if _, ok := parseMeminfo([]byte("MemTotal: 100 kB\n")); ok {
		t.Error("found what is not there")
	}
}

func TestOrderUsesEachPlaceOnceAndScatters(t *testing.T) {
	s := Shape{Layers: 4, Blocks: 32, BlockSize: 8}
	order := s.Order(7)
	if len(order) != s.Count() || Total(order) != s.Bytes() {
		t.Fatalf("%d blocks, %d bytes", len(order), Total(order))
	}
	seen := map[uint64]bool{}
	sorted := true
	for i, b := range order {
		layer := uint64(i / s.Blocks)
		if b.Offset%8 != 0 || b.Offset/8/64 != layer || seen[b.Offset] {
			t.Fatalf("block %d of layer %d at %d", i, layer, b.Offset)
		}
		seen[b.Offset] = true
		sorted = sorted && (i == 0 || b.Offset > order[i-1].Offset)
	}
	if sorted {
		t.Error("the order is the order of the places")
	}
	if !slices.Equal(order, s.Order(7)) {
		t.Error("same seed, another order")
	}
	if slices.Equal(order, s.Order(8)) {
		t.Error("another seed, same order")
	}
}

func TestPrefix(t *testing.T) {
	order := []Block{{0, 8}, {16, 8}, {32, 8}}
	for _, tc := range []struct {
		n    int64
		want []Block
	}{
		{1, []Block{{0, 1}}},
		{8, []Block{{0, 8}}},
		{9, []Block{{0, 8}, {16, 1}}},
		{24, order},
	} {
		if got := Prefix(order, tc.n); !slices.Equal(got, tc.want) {
			t.Errorf("%d: %v, want %v", tc.n, got, tc.want)
		}
	}
	if order[1].Len != 8 {
		t.Error("Prefix changed its argument")
	}
}

// A digest must depend on the logical sequence and on nothing else.
func TestDigestFollowsTheLogicalSequence(t *testing.T) {
	s := Shape{Layers: 2, Blocks: 8, BlockSize: 33}
	from, to := s.Order(1), s.Order(2)
	a, b := make([]byte, s.PoolBytes()), make([]byte, s.PoolBytes())
	Fill(a, from, 3, 4)
	for i := range from {
		copy(b[to[i].Offset:to[i].Offset+to[i].Len], a[from[i].Offset:])
	}
	if Digest(a, from) != Digest(b, to) {
		t.Error("same sequence, another digest")
	}
	b[to[5].Offset]++
	if Digest(a, from) == Digest(b, to) {
		t.Error("another sequence, same digest")
	}
	Clear(b, to)
	if !bytes.Equal(b, make([]byte, len(b))) {
		t.Error("Clear left something")
	}
}

func TestFillIsFreshForEachRequest(t *testing.T) {
	s := Shape{Layers: 1, Blocks: 4, BlockSize: 100}
	pool, order := make([]byte, s.PoolBytes()), s.Order(1)
	seen := map[string]bool{}
	for request := range uint64(10) {
		Fill(pool, order, 1, request)
		seen[Digest(pool, order)] = true
	}
	Fill(pool, order, 2, 0)
	seen[Digest(pool, order)] = true
	if len(seen) != 11 {
		t.Errorf("%d different contents of 11", len(seen))
	}
}

func TestEveryByteSaysWhoseItIs(t *testing.T) {
	buf := make([]byte, 1003)
	FillOwn(buf[:500], 1)
	FillForeign(buf[500:701], 1)
	if got, want := CountOrigins(buf), (Origins{500, 201, 302}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestReadFrom(t *testing.T) {
	order := []Block{{8, 4}, {0, 4}}
	pool := make([]byte, 16)
	n, err := ReadFrom(pool, order, strings.NewReader("abcdef"))
	if err != nil || n != 6 || string(pool[8:12])+string(pool[0:2]) != "abcdef" {
		t.Errorf("%d, %v, %q", n, err, pool)
	}
	var out bytes.Buffer
	if err := WriteTo(&out, pool, Prefix(order, n)); err != nil || out.String() != "abcdef" {
		t.Errorf("%q, %v", out.String(), err)
	}
	boom := errors.New("boom")
	if _, err := ReadFrom(pool, order, iotest.ErrReader(boom)); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkFill(b *testing.B) {
	s := Shape{Layers: 32, Blocks: 64, BlockSize: 16 << 10}
	pool, order := make([]byte, s.PoolBytes()), s.Order(1)
	b.SetBytes(s.Bytes())
	for b.Loop() {
		Fill(pool, order, 1, 1)
	}
}
