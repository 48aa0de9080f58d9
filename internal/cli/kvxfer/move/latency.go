// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"math"
	"slices"
	"time"
)

// Latency is the distribution of one duration over many transfers.
type Latency struct {
	Count int           `json:"count"`
	P50   time.Duration `json:"p50_ns"`
	P95   time.Duration `json:"p95_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
	Total time.Duration `json:"total_ns"`
}

// LatencyOf takes percentiles by nearest rank: each is a duration that was
// measured, never one between two.
func LatencyOf(d []time.Duration) Latency {
	if len(d) == 0 {
		return Latency{}
	}
	sorted := slices.Sorted(slices.Values(d))
	rank := func(p float64) time.Duration {
		return sorted[max(int(math.Ceil(p*float64(len(sorted))))-1, 0)]
	}
	l := Latency{Count: len(d), P50: rank(0.50), P95: rank(0.95), P99: rank(0.99), Max: sorted[len(sorted)-1]}
	for _, v := range d {
		l.Total += v
	}
	return l
}
