// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ranks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/internal/proc"
)

// Options are a whole run.
type Options struct {
	Plan               // what all processes share
	Requests, Rate int // how many, and how many a second
	// Kill ends this rank's process halfway (-1: none), and Fence writes the
	// fence of it afterwards, as whoever saw the process end.
	Kill  int
	Fence bool
	// Patience is how long the ranks wait for proof at the end.
	Patience time.Duration
	// Start starts a process that calls Serve.
	Start func() (*proc.Child, error)
	// Progress is told how many requests have begun.
	Progress func(int)
}

// Result is what a run showed.
type Result struct {
	Verdict
	Reports []Report
	// Idle and Busy are round trips of a bare put and its watch, before the
	// requests and among them.
	Idle, Busy []time.Duration
}

// Run is a group of processes under way.
type Run struct {
	Options
	Children []*proc.Child
	Lives    []string // of each rank's newest process
	epoch    cluster.Revision
	next     int
}

// Begin starts all ranks, rank 0 first: etcd may be inside of it.
func Begin(ctx context.Context, o Options) (*Run, error) {
	r := &Run{Options: o, Children: make([]*proc.Child, o.Ranks), Lives: make([]string, o.Ranks), next: 1}
	for rank := range o.Ranks {
		if err := r.Launch(ctx, rank, r.Plan); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, r.Regroup(ctx)
}

// Launch starts a process of a rank. Rank 0 of a run with an embedded etcd has
// the server, and tells the others where it is.
func (r *Run) Launch(ctx context.Context, rank int, plan Plan) error {
	plan.Rank = rank
	if rank != 0 {
		plan.Embedded = ""
	}
	child, err := r.Start()
	if err != nil {
		return err
	}
	if r.Children[rank] != nil {
		_ = r.Children[rank].Close()
	}
	r.Children[rank] = child
	if err := child.Send(plan); err != nil {
		return fmt.Errorf("rank %d: %w", rank, err)
	}
	a, err := receive(ctx, child)
	if err != nil {
		return fmt.Errorf("rank %d: %w", rank, err)
	}
	r.Lives[rank] = a.Joined.Life
	if a.Joined.URL != "" {
		r.Plan.Etcd = Access{Endpoints: []string{a.Joined.URL}}
	}
	return nil
}

func receive(ctx context.Context, child *proc.Child) (answer, error) {
	var a answer
	if err := child.Recv(ctx, &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// Regroup takes the epoch of a rank that lives: new requests are of those who
// are registered now.
func (r *Run) Regroup(ctx context.Context) error {
	for rank, child := range r.Children {
		if s := child.State(); s.Gone() || s.Stopped {
			continue
		}
		if err := child.Send(command{AskEpoch: true}); err != nil {
			continue
		}
		a, err := receive(ctx, child)
		if err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		r.epoch = max(r.epoch, a.Epoch)
	}
	return nil
}

// Open begins the next n requests on all ranks. A process that is gone does not
// hear of it.
func (r *Run) Open(n int) {
	c := command{From: r.next, To: r.next + n, Epoch: r.epoch}
	r.next += n
	for _, child := range r.Children {
		_ = child.Send(c)
	}
}

// Pace begins n requests at the run's rate.
func (r *Run) Pace(ctx context.Context, n int) error {
	const beat = 2 * time.Millisecond
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	began := time.Now()
	for done := 0; done < n; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		due := min(n, int(time.Since(began).Seconds()*float64(r.Rate))+1)
		if due > done {
			r.Open(due - done)
			done = due
		}
		if r.Progress != nil {
			r.Progress(r.next - 1)
		}
	}
	return nil
}

// WriteFence lets a rank that lives write the fence of a process that this one
// has seen end.
func (r *Run) WriteFence(ctx context.Context, of int, life, checked string) error {
	for rank, child := range r.Children {
		if s := child.State(); rank == of || s.Gone() || s.Stopped {
			continue
		}
		o := &fenceOrder{Rank: of, Life: life, Kind: "process", Checked: checked, By: fmt.Sprintf("parent process %d", os.Getpid())}
		if err := child.Send(command{Fence: o}); err != nil {
			continue
		}
		_, err := receive(ctx, child)
		return err
	}
	return errors.New("no rank lives that could write a fence")
}

// Finish lets every rank wait until it holds nothing, and returns what they
// hold. A process that is gone has no report.
func (r *Run) Finish(ctx context.Context) ([]Report, error) {
	var reports []Report
	asked := map[int]bool{}
	for rank, child := range r.Children {
		asked[rank] = !child.State().Gone() && child.Send(command{Finish: r.Patience}) == nil
	}
	for rank, child := range r.Children {
		if !asked[rank] {
			continue
		}
		a, err := receive(ctx, child)
		if err != nil {
			if child.State().Gone() || errors.Is(err, proc.ErrExited) {
				continue
			}
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		if a.Report != nil {
			reports = append(reports, *a.Report)
		}
	}
	return reports, nil
}

// Close ends all processes, rank 0 last.
func (r *Run) Close() {
	for i := len(r.Children) - 1; i >= 0; i-- {
		if c := r.Children[i]; c != nil {
			_ = c.Send(command{Quit: true})
			_ = c.Close()
		}
	}
}

// Do is a whole run.
func Do(ctx context.Context, o Options) (*Result, error) {
	r, err := Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	result := &Result{}
	store, err := Dial(ctx, r.Plan.Etcd)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }()
	if result.Idle, err = Probe(ctx, store, 200, 0); err != nil {
		return nil, err
	}
	probing, stop := context.WithCancel(ctx)
	busy := make(chan []time.Duration)
	go func() {
		times, _ := Probe(probing, store, 1<<30, 10*time.Millisecond)
		busy <- times
	}()
	err = r.load(ctx)
	stop()
	result.Busy = <-busy
	if err != nil {
		return nil, err
	}
	if result.Reports, err = r.Finish(ctx); err != nil {
		return nil, err
	}
	events, err := ReadHistories(filepath.Clean(r.Folder))
	if err != nil {
		return nil, err
	}
	result.Verdict = Judge(events, r.Mix, r.Ranks)
	return result, nil
}

// load is the requests, and what happens to a rank meanwhile.
func (r *Run) load(ctx context.Context) error {
	half := r.Requests
	if r.Kill >= 0 {
		half /= 2
	}
	if err := r.Pace(ctx, half); err != nil {
		return err
	}
	if r.Kill < 0 {
		return nil
	}
	state := r.Children[r.Kill].Kill()
	life := r.Lives[r.Kill]
	if err := r.Pace(ctx, r.Requests-half); err != nil {
		return err
	}
	if !r.Fence {
		return nil
	}
	return r.WriteFence(ctx, r.Kill, life, fmt.Sprintf("the process %v and was reaped; it had no device of its own", state))
}
