// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"
)

func TestNumbersOfASample(t *testing.T) {
	w := work{len: 1000, count: 2, stride: 4000}
	var s sample
	for i := 100; i >= 1; i-- {
		s.took = append(s.took, time.Duration(i)*time.Microsecond)
	}
	s.whole, s.cpu = s.took, 200*time.Microsecond
	for name, c := range map[string]struct{ got, want float64 }{
		"p50": {percentile(0.5)(w, s), 50}, "p99": {percentile(0.99)(w, s), 99}, "cpu": {used(w, s), 2},
		"rate":    {rate(w, s), 2000 * 100 / 5050e3},
		"through": {through(w, sample{whole: s.whole, wall: time.Millisecond}), 0.2},
		"median":  {middle([]float64{3, 1, 2, 10}, 0.5), 2.5}, "of one": {middle([]float64{7}, 0.75), 7},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	slower := sample{took: []time.Duration{100 * time.Microsecond}, cpu: 1}
	if got := ratio(w, []sample{slower, slower}, []sample{s, s}, percentile(0.5)); got != "2.00 (2.00–2.00)" {
		t.Errorf("ratio %s", got)
	}
	if b := w.blocks(); len(b) != 2 || b[1].Offset != 4000 || b[1].Len != 1000 {
		t.Errorf("blocks %v", b)
	}
}

// Transfers that are made several at a time have a table of their own, without those
// who make one only.
func TestTables(t *testing.T) {
	one, many := work{name: "one", op: "READ", len: 1000, count: 1, window: 1}, work{name: "many", op: "READ", len: 1000, count: 1, window: 8}
	times := []time.Duration{time.Microsecond}
	of := func(us time.Duration) []sample {
		return []sample{{took: times, whole: times, cpu: us * time.Microsecond, wall: us * time.Microsecond}}
	}
	var out strings.Builder
	table(&out, "tcp", []work{one, many}, order, []map[string][]sample{
		{bare: of(1), binding: of(3), owner: of(2)}, {bare: of(1), owner: of(2)},
	})
	got := out.String()
	for _, want := range []string{
		"| READ one | Go / C | 1.00 (1.00–1.00) | 1.00 (1.00–1.00) | 1.00 (1.00–1.00) | 1.00 (1.00–1.00) | 3.00 (3.00–3.00) |",
		"| READ one | owned | 1.00 | 1.0 | 1.0 | 1.0 | 2.0 | 1.0 |\n",
		"| READ many | C | 1.00 | 1.0 |\n", "| READ many | owned / C | 0.50 (0.50–0.50) | 2.00 (2.00–2.00) |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Count(got, "| tcp | |") != 2 || strings.Contains(got, "| READ many | Go") || strings.Contains(got, official) {
		t.Errorf("tables:\n%s", got)
	}
}
