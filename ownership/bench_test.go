// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

func benchRegistry(b *testing.B) *Registry {
	b.Helper()
	reg, err := New(Config{
		Name: "self", Incarnation: Incarnation{1}, Contain: func(Containment) error { return nil },
		Owners: 1 << 21, Sessions: 1 << 21, RequestTimeout: time.Hour, Grace: time.Hour,
	})
	if err != nil {
		b.Fatal(err)
	}
	return reg
}

func benchCohort(n int) []Member {
	cohort := make([]Member, n)
	for i := range cohort {
		cohort[i] = Member{Accessor: Accessor(fmt.Sprintf("decode-%d", i)), Incarnation: Incarnation{byte(i + 1)}}
	}
	return cohort
}

// BenchmarkLife is the whole life of one owner with 8 accessors, from admission
// to close, beside a number of owners that are retained meanwhile.
func BenchmarkLife(b *testing.B) {
	for _, retained := range []int{0, 1_000, 1_000_000} {
		b.Run(fmt.Sprintf("retained=%d", retained), func(b *testing.B) {
			reg := benchRegistry(b)
			retain(b, reg, retained, benchCohort(1))
			if err := reg.AddRegion(RegionSpec{ID: "A"}); err != nil {
				b.Fatal(err)
			}
			cohort := benchCohort(8)
			runtime.GC() // what retain left is not the loop's
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				benchLife(b, reg, uint64(retained+i), cohort)
				if i%1024 == 0 {
					reg.Watermark(0, "bench", uint64(retained+i)) // as a creator would
				}
			}
		})
	}
}

func benchLife(b *testing.B, reg *Registry, n uint64, cohort []Member) {
	s := SessionName{RequestID{"bench", n}, 1}
	p := PieceName{s, "kv"}
	reg.Admit(0, SessionSpec{Name: s, Side: Receive})
	claims, _, err := reg.AddPiece(0, PieceSpec{Name: p, Region: "A", Cohort: cohort})
	if err != nil {
		b.Fatal(err)
	}
	reg.Seal(0, p)
	reg.Finish(0, p)
	for _, c := range claims {
		reg.Report(0, PeerReport{Claim: c, From: c.Accessor, Evidence: OK})
	}
	reg.Complete(0, s)
	if _, err := reg.Close(0, s); err != nil {
		b.Fatal(err)
	}
}

// retain leaves n owners published and without proof.
func retain(b *testing.B, reg *Registry, n int, cohort []Member) {
	b.Helper()
	for i := range n {
		s := SessionName{RequestID{"retained", uint64(i)}, 1}
		p := PieceName{s, "kv"}
		region := fmt.Sprintf("r%d", i)
		reg.AddRegion(RegionSpec{ID: region})
		reg.Admit(0, SessionSpec{Name: s, Side: Receive})
		if _, _, err := reg.AddPiece(0, PieceSpec{Name: p, Region: region, Cohort: cohort}); err != nil {
			b.Fatal(err)
		}
		reg.Seal(0, p)
	}
}

// BenchmarkMemory reports what a retained owner costs, with its session, its
// request and a region of its own.
func BenchmarkMemory(b *testing.B) {
	for _, accessors := range []int{1, 8} {
		b.Run(fmt.Sprintf("accessors=%d", accessors), func(b *testing.B) {
			for range b.N {
				const n = 1_000_000
				before := heapInUse()
				reg := benchRegistry(b)
				retain(b, reg, n, benchCohort(accessors))
				b.ReportMetric(float64(heapInUse()-before)/n, "B/owner")
				runtime.KeepAlive(reg)
			}
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkIdleTick is a watchdog pass that changes nothing.
func BenchmarkIdleTick(b *testing.B) {
	reg := benchRegistry(b)
	retain(b, reg, 1000, benchCohort(8))
	b.ReportAllocs()
	for range b.N {
		reg.Tick(0)
	}
}
