// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"time"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// Verdict is what a check found. The zero value is no verdict.
type Verdict uint8

// The three verdicts. NotFinished is never good news.
const (
	_           Verdict = iota
	Proved              // every reachable state was visited, and the property holds
	Violated            // there is a run that breaks the property
	NotFinished         // the exploration stopped before it could tell
)

// String returns the verdict in words.
func (v Verdict) String() string {
	switch v {
	case Proved:
		return "proved"
	case Violated:
		return "violated"
	case NotFinished:
		return "not finished"
	}
	return "no verdict"
}

// Options say how much to explore. The zero value explores 2 replicas in the first
// environment, without symmetry, up to 4 GiB.
type Options struct {
	Replicas    int    // members of each set of replicas; 0 is 2
	Environment string // "" is the first
	Symmetry    bool   // visit one of the states that differ by an exchange of replicas
	MaxMemory   int    // bytes; 0 is 4 GiB
	MaxStates   int    // 0: no bound
	// Pick, if set, says which mutants Mutate tries, by number from 0. Mutate reads it in
	// the first options only.
	Pick func(mutant int) bool
	// Progress, if set, is called a few times a second.
	Progress func(Progress)
	print    bool // make a fingerprint of the steps
	_        struct{}
}

// Progress is where an exploration stands.
type Progress struct {
	States, Queued, Depth, Bytes int
	Elapsed                      time.Duration
	Done                         bool // the last call
}

// Result is everything that a check found.
type Result struct {
	System      string
	Replicas    int
	Environment string
	Symmetry    bool
	States      int // reached
	Edges       int // enabled actions whose state after differs from the state before
	Depth       int // steps to the farthest state
	Bytes       int // most memory of queue, visited states and decision trees
	StateBytes  int // of these, what grows with the states
	Elapsed     time.Duration
	Complete    bool   // every reachable state was visited
	Stopped     string // why not
	Findings    []*Finding
	Dead        []string // actions that never changed anything, known only if Complete
	print       uint64   // fingerprint of every step that changes something
}

// Finding is the verdict of one property.
type Finding struct {
	Property *load.Property // nil for what every system promises: ranges, and reactions that end
	Name     string
	Doc      string
	Verdict  Verdict
	Why      string // for NotFinished and for liveness
	Length   int    // of the shortest run that breaks it
	Trace    *Trace // that run; nil unless Violated
}

// Expected reports whether the finding is as the spec says.
func (f *Finding) Expected() bool {
	if f.Property != nil && f.Property.Refuted {
		return f.Verdict == Violated
	}
	return f.Verdict == Proved
}

// OK reports whether every property has its verdict as the spec says.
func (r *Result) OK() bool {
	for _, f := range r.Findings {
		if !f.Expected() {
			return false
		}
	}
	return r.Complete
}

// Find returns the finding of a property, or nil.
func (r *Result) Find(name string) *Finding {
	for _, f := range r.Findings {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// System explores a system. An error is a wrong option or a system that is too
// large to be packed; whatever is found in the system is in the result.
func System(ctx context.Context, sys *load.System, o Options) (*Result, error) {
	start := time.Now()
	if o.Replicas == 0 {
		o.Replicas = 2
	}
	if o.MaxMemory == 0 {
		o.MaxMemory = 4 << 30
	}
	env := 0
	if o.Environment != "" {
		var ok bool
		if env, ok = lookup(sys.Environments, o.Environment); !ok {
			return nil, &ArgumentError{sys.Name, "no environment " + o.Environment}
		}
	} else if len(sys.Environments) > 0 {
		o.Environment = sys.Environments[0]
	}
	if o.Replicas < 1 {
		return nil, &ArgumentError{sys.Name, "fewer than 1 replica"}
	}
	m, err := build(sys, o.Replicas, env)
	if err != nil {
		return nil, err
	}
	x := newExplorer(ctx, m, o, start)
	x.run()
	r := x.report()
	if o.Progress != nil && x.last != start {
		o.Progress(Progress{States: r.States, Depth: r.Depth, Bytes: r.Bytes, Elapsed: r.Elapsed, Done: true})
	}
	return r, nil
}

func lookup(list []string, name string) (int, bool) {
	for i, v := range list {
		if v == name {
			return i, true
		}
	}
	return 0, false
}
