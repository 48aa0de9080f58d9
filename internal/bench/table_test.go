// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
		"rate":   {rate(w, s), 2000 * 100 / 5050e3},
		"median": {middle([]float64{3, 1, 2, 10}, 0.5), 2.5}, "of one": {middle([]float64{7}, 0.75), 7},
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
