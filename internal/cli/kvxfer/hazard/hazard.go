// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"context"
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/internal/proc"
)

// The transports that the command can ask for.
const (
	TCP = "tcp" // data needs the peer's progress: a stopped peer holds it up
	CMA = "cma" // the kernel copies inside the post: nothing is in flight after it
)

// Defaults of the experiment: what the measurements used.
const (
	DefaultBytes  = 64 << 20
	DefaultPieces = 64
)

// Hazard is the experiment. Library is a path that nixl.Open has accepted.
type Hazard struct {
	Library   string
	Transport string
	Op        Op
	Bytes     int64
	Pieces    int
	Seed      uint64
	// Start starts a second process, which must call Serve with the job it is
	// sent.
	Start func() (*proc.Child, error)
	// Tell, when set, hears of each step as it happens.
	Tell func(half string, s Step)
}

// Run runs both halves once, with new content for each run.
func (h *Hazard) Run(ctx context.Context, run int) (Pair, error) {
	seed := h.Seed + uint64(run)
	today, err := h.today(ctx, seed, h.teller(halfToday))
	if err != nil {
		return Pair{}, fmt.Errorf("hazard: unsafe half: %w", err)
	}
	owned, err := h.owned(ctx, seed, h.teller(halfOwned))
	if err != nil {
		return Pair{}, fmt.Errorf("hazard: owned half: %w", err)
	}
	return Pair{Today: today, Owned: owned}, nil
}

func (h *Hazard) job(half string, seed uint64) Job {
	return Job{Half: half, Library: h.Library, Transport: h.Transport, Op: h.Op, Bytes: h.Bytes, Pieces: h.Pieces, Seed: seed}
}

func (h *Hazard) teller(half string) func(Step) {
	if h.Tell == nil {
		return nil
	}
	return func(s Step) { h.Tell(half, s) }
}

// startPeer starts the second process and waits until its buffer can be reached.
func (h *Hazard) startPeer(ctx context.Context, job Job) (*proc.Child, ready, error) {
	child, err := h.Start()
	if err != nil {
		return nil, ready{}, err
	}
	var hello ready
	if err = child.Send(job); err == nil {
		err = child.Recv(ctx, &hello)
	}
	if err == nil && hello.Error != "" {
		err = errors.New(hello.Error)
	}
	if err != nil {
		_ = child.Close()
		return nil, ready{}, fmt.Errorf("second process: %w", err)
	}
	return child, hello, nil
}

// Serve is the second process of either half.
func Serve(ctx context.Context, job Job, parent *proc.Lines) error {
	if job.Half == halfToday {
		return serveToday(ctx, job, parent)
	}
	return serveOwned(ctx, job, parent)
}
