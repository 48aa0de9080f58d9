// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Names of the contestants, in the order of the table.
const (
	bare     = "C"
	paced    = "C, paced"
	official = "Python"
	owner    = "owned"
)

var order = []string{bare, paced, official, owner}

// metric is one number of a sample.
type metric func(work, sample) float64

func percentile(p float64) metric {
	return func(_ work, s sample) float64 { return rank(s.took, p) }
}

// rank is a percentile in microseconds by nearest rank: a time that was measured.
func rank(times []time.Duration, p float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return float64(sorted[max(int(math.Ceil(p*float64(len(sorted))))-1, 0)]) / 1e3
}

func rate(w work, s sample) float64 {
	var sum time.Duration
	for _, t := range s.took {
		sum += t
	}
	return w.bytes() * float64(len(s.took)) / float64(sum)
}

func used(_ work, s sample) float64 { return float64(s.cpu) / 1e3 / float64(len(s.took)) }

func around(_ work, s sample) float64 { return rank(s.whole, 0.5) }

// median of a metric over the samples.
func median(w work, samples []sample, m metric) float64 {
	return middle(values(w, samples, m), 0.5)
}

func values(w work, samples []sample, m metric) (out []float64) {
	for _, s := range samples {
		out = append(out, m(w, s))
	}
	return out
}

// middle interpolates between the two values around a quantile.
func middle(v []float64, q float64) float64 {
	slices.Sort(v)
	at := q * float64(len(v)-1)
	low := int(at)
	high := min(low+1, len(v)-1)
	return v[low] + (at-float64(low))*(v[high]-v[low])
}

// ratio is the median, with the quartiles, of the ratios of the samples that
// were taken in the same round.
func ratio(w work, ours, theirs []sample, m metric) string {
	a, b := values(w, ours, m), values(w, theirs, m)
	for i := range a {
		a[i] /= b[i]
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", middle(a, 0.5), middle(a, 0.25), middle(a, 0.75))
}

func table(transport string, rows []work, names []string, results []map[string][]sample) {
	fmt.Printf("| %s | | GB/s | p50 µs | p95 µs | p99 µs | CPU µs | whole µs |\n|---|---|---|---|---|---|---|---|\n", transport)
	for i, w := range rows {
		for _, n := range names {
			s := results[i][n]
			if len(s) == 0 {
				continue
			}
			fmt.Printf("| %s %s | %s | %.2f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", w.op, w.name, n, median(w, s, rate),
				median(w, s, percentile(0.5)), median(w, s, percentile(0.95)), median(w, s, percentile(0.99)), median(w, s, used), median(w, s, around))
		}
	}
	fmt.Printf("\n| %s, ratio (quartiles) | | GB/s | p50 | p95 | p99 | CPU |\n|---|---|---|---|---|---|---|\n", transport)
	for i, w := range rows {
		for _, other := range names {
			if other == owner || len(results[i][other]) == 0 {
				continue
			}
			a, b := results[i][owner], results[i][other]
			fmt.Printf("| %s %s | owned / %s | %s | %s | %s | %s | %s |\n", w.op, w.name, other, ratio(w, a, b, rate),
				ratio(w, a, b, percentile(0.5)), ratio(w, a, b, percentile(0.95)), ratio(w, a, b, percentile(0.99)), ratio(w, a, b, used))
		}
	}
}
