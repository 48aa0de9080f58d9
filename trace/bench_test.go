// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/trace"
)

// lives makes n transfers of one accessor in a registry, one after the other.
func lives(tb testing.TB, n int, tracer func(ownership.Step)) ownership.Counters {
	tb.Helper()
	r, err := ownership.New(ownership.Config{
		Name: "self", Incarnation: self, Trace: tracer, Contain: func(ownership.Containment) error { return nil },
	})
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	must(err)
	must(r.AddRegion(ownership.RegionSpec{ID: "A", Addr: 1 << 12, Len: 64}))
	for i := range n {
		at := time.Duration(i) * time.Millisecond
		name := ownership.PieceName{Session: session(uint64(i + 1)), Piece: "kv"}
		_, err := r.Admit(at, ownership.SessionSpec{Name: name.Session, Side: ownership.Receive})
		must(err)
		claims, _, err := r.AddPiece(at, ownership.PieceSpec{Name: name, Region: "A", Cohort: []ownership.Member{one}})
		must(err)
		_, err = r.Seal(at, name)
		must(err)
		_, err = r.Finish(at, name)
		must(err)
		_, err = r.Complete(at, name.Session)
		must(err)
		_, err = r.Report(at, ownership.PeerReport{Claim: claims[0], From: "one", Evidence: ownership.OK})
		must(err)
		_, err = r.Close(at, name.Session)
		must(err)
	}
	return r.Counters()
}

// BenchmarkCheck checks a trace of 2000 transfers; it reports lines a second.
func BenchmarkCheck(b *testing.B) {
	var out bytes.Buffer
	w, err := trace.NewWriter(&out, "self", self, time.Unix(0, 0))
	if err != nil {
		b.Fatal(err)
	}
	if err := w.Close(lives(b, 2000, w.Step)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(out.Len()))
	b.ReportAllocs()
	lines := 0
	for b.Loop() {
		r, err := trace.Check("bench", trace.NewReader(bytes.NewReader(out.Bytes())))
		if err != nil || r.Found() > 0 {
			b.Fatal(err, r)
		}
		lines += r.Lines
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
}

// BenchmarkWriter is what a transfer costs with a trace, and without one.
func BenchmarkWriter(b *testing.B) {
	b.Run("without", func(b *testing.B) { lives(b, b.N, nil) })
	b.Run("with", func(b *testing.B) {
		w, err := trace.NewWriter(io.Discard, "self", self, time.Unix(0, 0))
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Close(lives(b, b.N, w.Step)); err != nil {
			b.Fatal(err)
		}
	})
}
