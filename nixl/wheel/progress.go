// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wheel

import (
	"io/fs"
	"path/filepath"
	"sync"
	"time"
)

// interval is how often the growing download is measured.
const interval = 200 * time.Millisecond

// watch reports how many bytes lie below dir while pip runs: pip itself shows
// no progress to a program. The returned function ends it and waits.
func watch(dir string, report func(bytes int64)) (stop func()) {
	if report == nil {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				report(size(dir))
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// size adds up the files below dir; files that vanish meanwhile count nothing.
func size(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}
