// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"math/rand/v2"
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
	for _, size := range []int{0, 1_000, 1_000_000} {
		b.Run(fmt.Sprintf("retained=%d", size), func(b *testing.B) {
			reg := benchRegistry(b)
			retain(b, reg, size, benchCohort(1))
			if err := reg.AddRegion(RegionSpec{ID: "A"}); err != nil {
				b.Fatal(err)
			}
			cohort := benchCohort(8)
			runtime.GC() // what retain left is not the loop's
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				benchLife(b, reg, uint64(size+i), cohort)
				if i%1024 == 0 {
					reg.Watermark(0, "bench", uint64(size+i)) // as a creator would
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

// retain leaves n owners published and without proof, and returns them.
func retain(b *testing.B, reg *Registry, n int, cohort []Member) []retained {
	b.Helper()
	list := make([]retained, n)
	for i := range list {
		region := fmt.Sprintf("r%d", i)
		if err := reg.AddRegion(RegionSpec{ID: region}); err != nil {
			b.Fatal(err)
		}
		list[i] = benchAdmit(b, reg, uint64(i), region, cohort)
	}
	return list
}

// retained is a published owner: the number of its request, and the sequence of its
// first claim. Whole names would be more than the registry itself keeps.
type retained struct{ number, first uint64 }

func (r retained) piece() PieceName {
	return PieceName{SessionName{RequestID{"retained", r.number}, 1}, "kv"}
}

// BenchmarkGrowth is what it costs to admit a session with a piece, up to its
// publication, and to release one, from its last evidence to close, beside a number
// of retained ones. Those that are released are in no order.
func BenchmarkGrowth(b *testing.B) {
	for _, size := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("retained=%d", size), func(b *testing.B) {
			const batch = 64
			reg, cohort, rng := benchRegistry(b), benchCohort(8), rand.New(rand.NewPCG(1, 2))
			list := retain(b, reg, size, cohort)
			next, regions := uint64(size), make([]string, batch)
			var admitting, releasing time.Duration
			runtime.GC() // what retain left is not the loop's
			b.ResetTimer()
			for range b.N {
				start := time.Now()
				for i := range batch {
					k := rng.IntN(len(list))
					regions[i] = benchRelease(b, reg, list[k], cohort)
					list[k], list = list[len(list)-1], list[:len(list)-1]
				}
				released := time.Now()
				for _, region := range regions {
					list = append(list, benchAdmit(b, reg, next, region, cohort))
					next++
				}
				releasing, admitting = releasing+released.Sub(start), admitting+time.Since(released)
			}
			n := float64(b.N * batch)
			b.ReportMetric(float64(admitting.Nanoseconds())/n, "ns/admission")
			b.ReportMetric(float64(releasing.Nanoseconds())/n, "ns/release")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// benchAdmit admits a session of one piece and publishes it.
func benchAdmit(b *testing.B, reg *Registry, number uint64, region string, cohort []Member) retained {
	p := retained{number: number}.piece()
	reg.Admit(0, SessionSpec{Name: p.Session, Side: Receive})
	claims, _, err := reg.AddPiece(0, PieceSpec{Name: p, Region: region, Cohort: cohort})
	if err != nil {
		b.Fatal(err)
	}
	reg.Seal(0, p)
	return retained{number, claims[0].Sequence}
}

// benchRelease ends what benchAdmit began, and returns the region that is free again.
func benchRelease(b *testing.B, reg *Registry, r retained, cohort []Member) string {
	p := r.piece()
	reg.Finish(0, p)
	for i, m := range cohort {
		c := ClaimName{Incarnation{1}, p, m.Accessor, m.Incarnation, r.first + uint64(i)}
		reg.Report(0, PeerReport{Claim: c, From: m.Accessor, Evidence: OK})
	}
	reg.Complete(0, p.Session)
	effects, err := reg.Close(0, p.Session)
	if err != nil {
		b.Fatal(err)
	}
	return effects[0].(*Released).Region
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
	b.ResetTimer()
	for range b.N {
		reg.Tick(0)
	}
}
