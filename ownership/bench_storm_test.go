// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

const stormSessions = 100_000

// BenchmarkCancelStorm cancels 100,000 sessions, each with a piece that 8
// accessors may write, and then settles and closes them all. It reports what a
// cancel costs, and the longest single call of the storm: while it runs, every
// other caller waits. On a machine with other work that is mostly the time for which
// the thread was not run; what the library had it do is the call's time on the CPU.
func BenchmarkCancelStorm(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var cancels, longest, longestCPU time.Duration
	for range b.N {
		b.StopTimer()
		reg, s := newStorm(b)
		b.StartTimer()
		start := time.Now()
		for i := range s.claims {
			s.timed(func(at time.Duration) (Effects, error) {
				_, effects, err := reg.Cancel(at, CancelSpec{Session: s.claims[i][0].Piece.Session})
				return effects, err
			})
		}
		cancels += time.Since(start)
		s.settle(reg)
		longest, longestCPU = max(longest, s.longest), max(longestCPU, s.longestCPU)
		if n := reg.Counters(); n.Owners != 0 || n.Outbox != 0 || n.Released != stormSessions {
			b.Fatalf("%+v", n)
		}
	}
	b.ReportMetric(float64(cancels.Nanoseconds())/float64(b.N*stormSessions), "ns/cancel")
	b.ReportMetric(float64(longest.Microseconds())/1000, "max-stall-ms")
	if longestCPU > 0 {
		b.ReportMetric(float64(longestCPU.Microseconds())/1000, "max-cpu-ms")
	}
}

// storm is the sessions of one round, and the longest call so far.
type storm struct {
	b          *testing.B
	claims     [][]ClaimName // a session's
	now        time.Duration
	longest    time.Duration
	longestCPU time.Duration
}

// newStorm makes a registry in which every session is published.
func newStorm(b *testing.B) (*Registry, *storm) {
	b.Helper()
	reg, s := benchRegistry(b), &storm{b: b}
	cohort := benchCohort(8)
	for i := range stormSessions {
		p := PieceName{SessionName{RequestID{"storm", uint64(i)}, 1}, "kv"}
		region := fmt.Sprintf("r%d", i)
		if err := reg.AddRegion(RegionSpec{ID: region}); err != nil {
			b.Fatal(err)
		}
		s.check(reg.Admit(s.now, SessionSpec{Name: p.Session, Side: Receive}))
		claims, effects, err := reg.AddPiece(s.now, PieceSpec{Name: p, Region: region, Cohort: cohort})
		s.check(effects, err)
		s.check(reg.Seal(s.now, p))
		s.check(reg.Finish(s.now, p))
		s.claims = append(s.claims, claims)
		s.now++
	}
	return reg, s
}

// settle delivers what the cancels queued, reports every claim and closes.
func (s *storm) settle(reg *Registry) {
	for _, claims := range s.claims {
		for _, c := range claims {
			m, waits := reg.Peek(c.Accessor)
			if !waits {
				s.b.Fatalf("no cancel waits for %s", c.Accessor)
			}
			reg.Delivered(c.Accessor, m.Number)
			s.timed(func(at time.Duration) (Effects, error) {
				return reg.Report(at, PeerReport{Claim: c, From: c.Accessor, Evidence: Failed})
			})
		}
		s.timed(func(at time.Duration) (Effects, error) { return reg.Close(at, claims[0].Piece.Session) })
	}
}

// timed makes one call, a nanosecond of the registry's time after the last.
func (s *storm) timed(call func(at time.Duration) (Effects, error)) {
	s.now++
	start, cpu := time.Now(), threadCPU()
	effects, err := call(s.now)
	s.longest, s.longestCPU = max(s.longest, time.Since(start)), max(s.longestCPU, threadCPU()-cpu)
	s.check(effects, err)
}

func (s *storm) check(_ Effects, err error) {
	if err != nil {
		s.b.Fatal(err)
	}
}
