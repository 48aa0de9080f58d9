// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Names of the contestants, in the order of the table.
const (
	bare      = "C"
	binding   = "Go"
	official  = "Python"
	bareAsked = "C, asked"
	owner     = "owned"
)

var order = []string{bare, binding, official, bareAsked, owner}

// alone are those that do one transfer at a time only.
var alone = map[string]bool{binding: true, official: true}

// pairs are the ratios, and what each one says.
var pairs = []struct{ of, to string }{
	{owner, bareAsked}, // the same work: what ownership costs
	{owner, bare},      // the aim of the whole path
	{owner, official},  // likewise
	{binding, bare},    // what the binding costs
}

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

func used(_ work, s sample) float64 { return float64(s.cpu) / 1e3 / float64(len(s.whole)) }

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

// through is the rate of all transfers of a sample together.
func through(w work, s sample) float64 {
	return w.bytes() * float64(len(s.whole)) / float64(s.wall)
}

// column is a metric under its name, with the digits it is printed with.
type column struct {
	name   string
	digits int
	of     metric
}

// Columns of transfers that are made one at a time, and of several.
var (
	single = []column{
		{"GB/s", 2, rate}, {"p50 µs", 1, percentile(0.5)}, {"p95 µs", 1, percentile(0.95)},
		{"p99 µs", 1, percentile(0.99)}, {"CPU µs", 1, used}, {"whole µs", 1, around},
	}
	several = []column{{"GB/s", 2, through}, {"CPU µs", 1, used}}
)

// table prints what was measured: figures, and then ratios, of one transfer at a
// time, and of several.
func table(out io.Writer, transport string, rows []work, names []string, results []map[string][]sample) {
	for _, columns := range [][]column{single, several} {
		var part []int
		for i, w := range rows {
			if (w.window > 1) == (len(columns) == len(several)) {
				part = append(part, i)
			}
		}
		if len(part) == 0 {
			continue
		}
		head(out, transport, columns)
		for _, i := range part {
			for _, n := range names {
				if s := results[i][n]; len(s) > 0 {
					figures(out, rows[i], n, s, columns)
				}
			}
		}
		head(out, transport+", ratio (quartiles)", columns)
		for _, i := range part {
			for _, p := range pairs {
				if a, b := results[i][p.of], results[i][p.to]; len(a) > 0 && len(b) > 0 {
					ratios(out, rows[i], p.of+" / "+p.to, a, b, columns)
				}
			}
		}
	}
}

func head(out io.Writer, title string, columns []column) {
	fmt.Fprintf(out, "\n| %s | |", title)
	for _, c := range columns {
		fmt.Fprintf(out, " %s |", c.name)
	}
	fmt.Fprintf(out, "\n|---|---|%s\n", strings.Repeat("---|", len(columns)))
}

func figures(out io.Writer, w work, name string, s []sample, columns []column) {
	fmt.Fprintf(out, "| %s %s | %s |", w.op, w.name, name)
	for _, c := range columns {
		fmt.Fprintf(out, " %.*f |", c.digits, median(w, s, c.of))
	}
	fmt.Fprintln(out)
}

func ratios(out io.Writer, w work, name string, a, b []sample, columns []column) {
	fmt.Fprintf(out, "| %s %s | %s |", w.op, w.name, name)
	for _, c := range columns {
		fmt.Fprintf(out, " %s |", ratio(w, a, b, c.of))
	}
	fmt.Fprintln(out)
}
