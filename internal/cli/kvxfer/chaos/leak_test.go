// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"reflect"
	"testing"

	"github.com/kvxfer/kvxfer/nixl"
)

// Each kind of leak is told by what is left; what is retained explains requests alone.
func TestLeaksAreTold(t *testing.T) {
	idle := Usage{Files: 25, Threads: 11, Goroutines: 30, Resident: 90 << 20, Handles: nixl.Handles{Agents: 1, Backends: 1, Registrations: regions, Peers: 2}}
	for name, c := range map[string]struct {
		change   func(*Usage)
		retained []string
		owned    int
		want     []string
	}{
		"none":          {change: func(*Usage) {}},
		"less":          {change: func(u *Usage) { u.Files, u.Threads, u.Handles.Peers = 20, 9, 1 }},
		"request":       {change: func(u *Usage) { u.Handles.Requests = 1 }, want: []string{"1 requests instead of 0"}},
		"retained one":  {change: func(u *Usage) { u.Handles.Requests = 1 }, retained: []string{"x, send side: claim of node-1 is IN_DOUBT"}},
		"retained less": {change: func(u *Usage) { u.Handles.Requests = 2 }, retained: []string{"x, send side: claim of node-1 is IN_DOUBT"}, want: []string{"2 requests instead of 0"}},
		"others' claim": {change: func(u *Usage) { u.Handles.Requests = 1 }, retained: []string{"x, receive side: claim of node-1 is IN_DOUBT"}, want: []string{"1 requests instead of 0"}},
		"list and view": {change: func(u *Usage) { u.Handles.Lists, u.Handles.Views = 1, 2 }, want: []string{"1 lists instead of 0", "2 views instead of 0"}},
		"agent":         {change: func(u *Usage) { u.Handles.Agents, u.Handles.Backends = 2, 2 }, want: []string{"2 agents instead of 1", "2 backends instead of 1"}},
		"registration":  {change: func(u *Usage) { u.Handles.Registrations++ }, want: []string{"7 registrations instead of 6"}},
		"peer":          {change: func(u *Usage) { u.Handles.Peers = 3 }, want: []string{"3 peers instead of 2"}},
		"file":          {change: func(u *Usage) { u.Files++ }, want: []string{"26 files instead of 25", "open that was not: pipe:[7]; a"}},
		"threads":       {change: func(u *Usage) { u.Threads += moreThreads + 1 }, want: []string{"20 threads instead of 11"}},
		"goroutines":    {change: func(u *Usage) { u.Goroutines += moreGoroutines + 1 }, want: []string{"35 goroutines instead of 30"}},
		"who waits":     {change: func(u *Usage) { u.Goroutines += moreGoroutines + 2 }, owned: 2},
		"memory":        {change: func(u *Usage) { u.Resident += 2 * moreMemory }, want: []string{"122 MiB instead of 90"}},
	} {
		now := State{Usage: idle, Retained: c.retained, Owned: c.owned, Open: []string{"a", "pipe:[7]", "a", "b"}}
		c.change(&now.Usage)
		if got := now.more(&State{Usage: idle, Open: []string{"b", "a"}}, 2, 0); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
