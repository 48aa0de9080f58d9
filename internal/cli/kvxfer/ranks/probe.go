// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ranks

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
)

// Probe measures n times how long etcd takes for a put until a watch of the key
// has it: the least that any word from one rank to another can take.
func Probe(ctx context.Context, store cluster.Store, n int, pause time.Duration) ([]time.Duration, error) {
	key := fmt.Sprintf("/probe/%d", os.Getpid())
	_, at, err := store.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	w, err := store.Watch(ctx, key, at)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	var times []time.Duration
	for range n {
		began := time.Now()
		failed := make(chan error, 1)
		go func() {
			_, err := store.Commit(ctx, cluster.Txn{Put: []cluster.Put{{Key: key, Value: []byte("x")}}})
			failed <- err
		}()
		if _, err := w.Next(ctx); err != nil {
			return times, err
		}
		times = append(times, time.Since(began))
		if err := <-failed; err != nil {
			return times, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return times, ctx.Err()
		}
	}
	return times, nil
}

// Percentile returns the p-th percentile of some times; 0 of none.
func Percentile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, int(p/100*float64(len(sorted))))]
}
