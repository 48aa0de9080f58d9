// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
)

// What a node may use more of after a fault than before it. The runtime's own threads
// come and go, and what a thread has once had of the C library's memory stays with it.
const (
	moreThreads    = 8
	moreGoroutines = 4
	moreMemory     = 16 << 20
)

// leaks waits until a node uses no more than before, and says what is left.
func (a *attack) leaks(ctx context.Context, i int, before *State) {
	connections := 0 // more than before
	if a.harmed() {  // between two agents UCX has one or two, as it comes
		connections = a.spec.Nodes - 1
	}
	for end := time.Now().Add(never / 3); ; pause(ctx, 50*time.Millisecond) {
		now := a.state(ctx, i)
		if now == nil {
			return // it has ended, and somebody else says why
		}
		left := now.more(before, a.spec.Nodes-1, connections)
		if left == nil {
			a.result.Usage = append(a.result.Usage, [2]Usage{before.Usage, now.Usage})
			return
		}
		if time.Now().After(end) || ctx.Err() != nil {
			a.result.find("node %d is left with %s", i, strings.Join(left, ", "))
			return
		}
	}
}

// more lists what a node has more of than before. What it retains explains requests of
// its own, the metadata of whom they go to, and who waits for it; everything else has to
// be as it was.
func (s *State) more(before *State, peers, connections int) (list []string) {
	add := func(what string, now, was, slack int) {
		if now > was+slack {
			list = append(list, fmt.Sprintf("%d %s instead of %d", now, what, was))
		}
	}
	ours := 0
	for _, line := range s.Retained {
		if strings.Contains(line, ownership.Send.String()+" side") {
			ours++
		}
	}
	h, b := s.Handles, before.Handles
	add("agents", h.Agents, b.Agents, 0)
	add("backends", h.Backends, b.Backends, 0)
	add("registrations", h.Registrations, b.Registrations, 0)
	add("requests", h.Requests, 0, ours)
	add("lists", h.Lists, 0, 0)
	add("views", h.Views, 0, 0)
	add("peers", h.Peers, peers, ours)
	if add("files", s.Files, before.Files, connections); s.Files > before.Files+connections {
		list = append(list, fmt.Sprintf("open that was not: %s", strings.Join(fresh(s.Open, before.Open), "; ")))
	}
	add("threads", s.Threads, before.Threads, moreThreads)
	add("goroutines", s.Goroutines, before.Goroutines, moreGoroutines+s.Owned) // one waits for the proof of each
	add("MiB", int(s.Resident>>20), int(before.Resident>>20), moreMemory>>20)
	return list
}
