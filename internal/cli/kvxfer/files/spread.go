// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"sync"
)

// spread does something with each of a list, several at once, until ctx ends; what has
// begun by then is waited for. The error is why ctx has ended.
func spread[T any](ctx context.Context, workers int, list []T, do func(T)) error {
	work := make(chan T)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for one := range work {
				do(one)
			}
		})
	}
	for _, one := range list {
		select {
		case work <- one:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(work)
	running.Wait()
	return context.Cause(ctx)
}
