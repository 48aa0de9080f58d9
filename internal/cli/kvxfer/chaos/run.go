// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/kvxfer/kvxfer/internal/proc"
)

// Config is how runs are made.
type Config struct {
	Library string // a path that nixl.Open has accepted
	// Start starts a process that calls Serve with the job it is sent.
	Start func(stderr io.Writer) (*proc.Child, error)
	// Traces is the folder for the traces of all processes. Empty: they are kept only
	// where a rule was broken, and the result says where.
	Traces string
	// Full makes more of each run; Cancels is how many a run of that fault has.
	Full    bool
	Cancels int

	careless bool // see Job
}

// size is n, or more of it in a full run.
func (c *Config) size(n int) int {
	if c.Full {
		return 3 * n
	}
	return n
}

// Spec is one run. The same one makes the same choices again; when they take effect
// is up to the system.
type Spec struct {
	Fault     Fault  `json:"fault"`
	Transport string `json:"transport"` // tcp or cma
	Nodes     int    `json:"nodes"`     // 2 or 3
	Seed      uint64 `json:"seed"`
}

// Result is what a run found.
type Result struct {
	Spec
	Took      time.Duration  `json:"took_ns"`
	Transfers int            `json:"transfers"`
	Outcomes  map[string]int `json:"outcomes"`
	Checked   int64          `json:"checked"`           // bytes
	Refused   int            `json:"refused,omitempty"` // abuses
	Retained  []string       `json:"retained,omitempty"`
	// Aborted counts processes that UCX has ended by abort after another one, or an
	// agent, had gone away in the middle (docs/nixl.md).
	Aborted int    `json:"aborted,omitempty"`
	Traces  Traces `json:"traces"`
	// Usage is what each node that was never killed used before the fault and after it.
	Usage    [][2]Usage `json:"usage,omitempty"`
	Findings []string   `json:"findings,omitempty"` // broken rules
	Kept     string     `json:"kept,omitempty"`     // the folder of the traces
}

func (r *Result) find(format string, args ...any) {
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

// How long things may take on a slow machine before they count as never.
const (
	never    = 30 * time.Second
	patience = 2 * time.Second
)

// Run makes one run. The error is for what kept it from being made.
func Run(ctx context.Context, config Config, spec Spec) (*Result, error) {
	began := time.Now()
	c, err := newCluster(ctx, &config, spec)
	if err != nil {
		return nil, err
	}
	defer c.discard()
	defer c.close()
	a := &attack{
		cluster: c, rng: rand.New(rand.NewPCG(spec.Seed, 1)), renewed: make([]bool, spec.Nodes),
		result: &Result{Spec: spec, Outcomes: map[string]int{}},
	}
	if err := a.everyPair(ctx); err != nil {
		return nil, fmt.Errorf("chaos: %s over %s, seed %d, before the fault: %w", spec.Fault, spec.Transport, spec.Seed, err)
	}
	before := a.states(ctx)
	if err := attacks[spec.Fault](a, ctx); err != nil && !errors.Is(err, errEnded) && !errors.Is(err, proc.ErrExited) {
		return nil, err
	}
	a.settle(ctx, patience)
	if err := a.everyPair(ctx); err != nil && ctx.Err() == nil {
		a.result.find("after the fault no transfer works: %v", err)
	}
	a.settle(ctx, patience/2)
	a.judge(ctx, before)
	a.end(ctx)
	c.close() // those that were killed, too: nobody writes a trace any more
	err = a.testify()
	a.result.Took = time.Since(began)
	if c.keeps = c.keeps || len(a.result.Findings) > 0; c.keeps {
		a.result.Kept = c.folder
	}
	return a.result, errors.Join(err, context.Cause(ctx))
}

// alive lists the nodes that are there. One that has ended without a fault of its own
// is found out here.
func (a *attack) alive() (nodes []int) {
	for i, m := range a.nodes {
		select {
		case <-m.ended:
			if !a.dead[i] {
				a.dead[i] = true
				a.died(i, m)
			}
		default:
			nodes = append(nodes, i)
		}
	}
	return nodes
}

func (a *attack) died(i int, m *member) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	state, _ := m.Wait(ctx)
	_ = m.Close() // after the last line of its standard error
	if a.harmed() && m.words.aborted() {
		a.result.Aborted++
		return
	}
	a.result.find("node %d %v, which no fault has done: %s", i, state, m.words.first())
}

// harmed reports whether a reader may have gone away in the middle.
func (a *attack) harmed() bool {
	for i := range a.nodes {
		if a.dead[i] || a.renewed[i] || a.lives[i] > 1 {
			return true
		}
	}
	return false
}

// everyPair moves data between each two nodes, both ways and by both operations,
// until it has worked.
func (a *attack) everyPair(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, never, fmt.Errorf("not done after %v", never))
	defer cancel()
	for _, from := range a.alive() {
		for _, to := range a.alive() {
			for _, read := range []bool{false, true} {
				if from != to {
					if err := a.oneWorks(ctx, from, to, read); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (a *attack) oneWorks(ctx context.Context, from, to int, read bool) error {
	for {
		r, err := a.nodes[from].do(ctx, order{Ask: &askOrder{Peer: nameOf(to), Read: read}})
		switch {
		case errors.Is(err, errEnded):
			return nil // it is said elsewhere
		case err != nil:
			return fmt.Errorf("node %d of node %d, read %v: %w", from, to, read, err)
		case r.Outcome == "SUCCEEDED":
			a.result.Transfers++
			a.result.Outcomes[r.Outcome]++
			return nil
		case a.full(ctx, from) || a.full(ctx, to):
			return nil // all that it has is retained
		}
		a.alive()
		if a.dead[to] {
			return nil
		}
		pause(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("node %d of node %d, read %v: %s %s", from, to, read, r.Outcome, r.Error)
		}
	}
}

// full reports whether nothing is free at a node.
func (a *attack) full(ctx context.Context, i int) bool {
	s := a.state(ctx, i)
	return s != nil && s.Owned == regions
}
