// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ranks

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// What an Event of a history may be.
const (
	Opened  = "opened"  // the rank takes part
	Refused = "refused" // it does not
	Ended   = "ended"   // the origin's part ended
	Drained = "drained" // the hardware has ended its last access
	Retired = "retired" // the rank gave its memory back
	Fenced  = "fenced"  // a fence of the rank is about to be written; the request is 0
)

// Event is one line of a history. Moments of all processes of a machine compare.
type Event struct {
	At      time.Duration
	Rank    int
	Life    string
	What    string
	Request int
}

// now is a clock that all processes of the machine share.
func now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail for this clock
	return time.Duration(t.Nano())
}

// recorder appends to a history that survives the process.
type recorder struct {
	rank int
	mu   sync.Mutex
	file *os.File // guarded by mu
	err  error    // guarded by mu; the first one
}

func newRecorder(folder string, rank int) (*recorder, error) {
	f, err := os.Create(filepath.Join(folder, fmt.Sprintf("rank-%d-%d.history", rank, os.Getpid())))
	if err != nil {
		return nil, err
	}
	return &recorder{rank: rank, file: f}, nil
}

// record writes the event before it returns: what follows may be the end of the process.
func (r *recorder) record(what string, n int, life string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := fmt.Fprintf(r.file, "%d %d %s %s %d\n", now(), r.rank, life, what, n); err != nil && r.err == nil {
		r.err = err
	}
}

// ReadHistories returns the events of all processes of a run by moment. A line
// that a dying process did not finish is left out.
func ReadHistories(folder string) ([]Event, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.history"))
	if err != nil {
		return nil, err
	}
	var all []Event
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			var e Event
			if n, err := fmt.Sscanf(s.Text(), "%d %d %s %s %d", &e.At, &e.Rank, &e.Life, &e.What, &e.Request); err == nil && n == 5 {
				all = append(all, e)
			}
		}
		_ = f.Close()
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}
