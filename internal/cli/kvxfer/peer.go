// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/chaos"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/doctor"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/hazard"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/move"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/ranks"
	"github.com/kvxfer/kvxfer/internal/proc"
)

// peerCommand is the hidden command of the second process. Its argument says
// what the process is for, its first line of input is the job.
const peerCommand = "peer"

const (
	jobRun    = "run"
	jobHazard = "hazard"
	jobRanks  = "ranks"
	jobChaos  = "chaos"
	jobDoctor = "doctor"
)

// startPeer starts the second process. What it writes to its standard error
// goes to ours, line by line.
func (a *app) startPeer(job string) (*proc.Child, error) {
	a.started.Store(true)
	return proc.Start(proc.Spec{Args: append(append([]string(nil), a.peer...), job), Stderr: a.stderr})
}

func (a *app) peerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    peerCommand + " run|hazard|ranks|doctor",
		Short:  "Be the second process; started by other commands",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			parent, err := proc.Parent()
			if err != nil {
				return err
			}
			defer func() { _ = parent.Close() }()
			ctx, cancel := context.WithCancelCause(cmd.Context())
			defer cancel(nil)
			go func() { // the kernel ends this process with its parent; this is for a parent that only lets go
				<-parent.Ended()
				cancel(proc.ErrClosed)
			}()
			switch args[0] {
			case jobChaos:
				return serve(ctx, parent, chaos.Serve)
			case jobRanks:
				_ = serve(ctx, parent, ranks.Serve) // the first process prints what is wrong
				return nil
			case jobDoctor:
				return serve(ctx, parent, doctor.Probe)
			case jobHazard:
				return serve(ctx, parent, hazard.Serve)
			case jobRun:
				return serve(ctx, parent, func(ctx context.Context, p move.Plan, parent *proc.Lines) error {
					_ = move.Receive(ctx, p, move.OpenNIXL(&p), parent) // the first process prints it
					return nil
				})
			}
			return usagef("", "unknown job %q", args[0])
		},
	}
}

// serve reads the job and does it.
func serve[Job any](ctx context.Context, parent *proc.Lines, do func(context.Context, Job, *proc.Lines) error) error {
	var job Job
	if err := parent.Recv(ctx, &job); err != nil {
		return fmt.Errorf("no job: %w", err)
	}
	return do(ctx, job, parent)
}
