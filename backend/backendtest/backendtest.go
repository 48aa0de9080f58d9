// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package backendtest is the conformance kit: it checks that a backend keeps
// the promises of package backend, each clause as a subtest of its own.
//
//	func TestConformance(t *testing.T) {
//		backendtest.Run(t, func(t *testing.T) *backendtest.Pair { ... })
//	}
//
// The kit knows Limits: a promise that the backend does not make, or that
// cannot be checked without a hook that the [Pair] lacks, is a skipped subtest
// that says why. A backend conforms when nothing fails; read the skips to know
// what was not shown.
//
// What no test from outside can show is listed by the subtest "not checked".
package backendtest

import (
	"testing"

	"github.com/kvxfer/kvxfer/backend"
)

// MemoryLen is how much memory each side of a pair needs, in bytes.
const MemoryLen = 4 << 20

// Factory makes a fresh pair of agents for one subtest, neither registered nor
// connected: the kit does that. It calls t.Skip when the backend is not
// available, and must not close the agents; the kit does.
type Factory func(t *testing.T) *Pair

// Pair is two agents that can reach each other. Most operations are posted by
// A towards B. The hooks are optional; without one, what needs it is skipped.
type Pair struct {
	A, B Side
	// Step lets virtual time pass; the kit calls it between polls. Nil for a
	// backend that moves bytes by itself.
	Step func()
	// Stall stops all progress of B's side (as SIGSTOP would) until Resume,
	// which must be harmless when B was closed meanwhile.
	// Without it the kit stalls a backend with Limits.PassiveProgress by not
	// calling B's Progress.
	Stall, Resume func()
	// Break makes the operations in flight between A and B end in Error and
	// leaves both sides alive.
	Break func()
	// NoBrokenRead, when not empty, is the reason why a READ must not be cut
	// off on this backend (it may take the process down); what would do so is
	// skipped with it.
	NoBrokenRead string
}

// Side is one agent of a pair with its memory.
type Side struct {
	Name    string // what the other side calls it in Connect and Request.Peer
	Backend backend.Backend
	// Memory has MemoryLen bytes, lies outside the Go heap, is not registered,
	// and stays mapped until Free.
	Memory []byte
	// Free unmaps Memory. It is called after the agents were closed on proof
	// or fenced, and never when they could not be: then the memory leaks, as
	// the contract demands, and the kit says so.
	Free func() error
}

// clause is one promise and how it is checked.
type clause struct {
	name  string
	check func(*harness)
}

// sharing is how the clauses of a group use pairs: making agents may be slow.
type sharing uint8

const (
	own      sharing = iota // each has one of its own
	looking                 // all have one, which they only look at
	cleaning                // one has the next one's, made clean, while none has failed
)

// groups are all clauses. Those share a pair that let go of all they made.
var groups = []struct {
	name    string
	clauses []clause
	share   sharing
}{
	{"limits", limitsClauses, looking},
	{"register", registerClauses, own},
	{"metadata", metadataClauses, own},
	{"prepare", prepareClauses, cleaning},
	{"transfer", transferClauses, cleaning},
	{"notify", notifyClauses, cleaning},
	{"poll", pollClauses, cleaning},
	{"retain", retainClauses, own},
	{"error", errorClauses, own},
	{"close", closeClauses, own},
	{"fence", fenceClauses, own},
	{"not checked", uncheckedClauses, looking},
}

// Run checks every promise of package backend against the backend that the
// factory makes, a subtest each.
func Run(t *testing.T, factory Factory) {
	t.Helper()
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			var shared *harness
			for _, c := range g.clauses {
				if g.share == own {
					t.Run(c.name, func(t *testing.T) { c.check(newHarness(t, factory(t))) })
					continue
				}
				if shared == nil {
					shared = newHarness(t, factory(t))
				}
				passed := t.Run(c.name, func(t *testing.T) {
					shared.T = t
					c.check(shared)
				})
				shared.T = t
				switch {
				case !passed:
					shared = nil // what it left is not known
				case g.share == cleaning:
					shared.clean()
				}
			}
		})
	}
}
