// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/hazard"
	"github.com/kvxfer/kvxfer/internal/proc"
)

// readWarning is about what a READ can do to the process that is read.
const readWarning = `Over TCP a READ has a second hazard: when the reading process dies, or destroys
its agent, in the middle, UCX can abort the process whose memory is read. Prefer
WRITE there.`

type hazardFlags struct {
	op, transport, library, svg string
	runs                        int
	seed                        uint64
	timeout                     time.Duration
	json                        bool
}

func (a *app) hazardCommand() *cobra.Command {
	var f hazardFlags
	cmd := &cobra.Command{
		Use:   "hazard",
		Short: "Show what happens to the memory of a cancelled transfer, without and with ownership",
		Long: `hazard runs the same cancelled transfer twice on the real library, with a second
process that is stopped before the post:

  as engines do today   cancel, release the handle (NIXL answers success), give
                        the memory to another request, let the peer continue
  owned                 cancel, keep the memory until there is proof

and counts the bytes of one request that end up in the memory of another:

  --op write   the source is reused, and its new bytes arrive at the peer
  --op read    the destination is reused, and the cancelled request's bytes
               still land in it, over those of the next one

` + readWarning + `

The transport must be TCP for the hazard to show: over CMA the kernel copies
inside the post, so nothing is in flight when the post returns. "--transport
cma" runs it and shows that.`,
		Example: `  kvxfer hazard
  kvxfer hazard --runs 5 --svg hazard.svg
  kvxfer hazard --op read --runs 20`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(notEmpty(cmd, "svg"), f.check()); err != nil {
				return err
			}
			return a.hazard(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.op, "op", string(hazard.Write), "`write or read`: what the cancelled operation does")
	fl.StringVar(&f.transport, "transport", hazard.TCP, "`tcp or cma`")
	fl.IntVar(&f.runs, "runs", 1, "how many `times` to run both halves; more than one prints a summary")
	fl.StringVar(&f.svg, "svg", "", "also draw the first run into this `file`")
	fl.Uint64Var(&f.seed, "seed", 1, "`number` that the contents are made from")
	fl.DurationVar(&f.timeout, "timeout", time.Minute, "how long one run may take")
	fl.BoolVar(&f.json, "json", false, "print one JSON object for each step, run and the summary")
	addLibraryFlag(cmd, &f.library)
	completeWords(cmd, "transport", hazard.TCP, hazard.CMA)
	completeWords(cmd, "op", string(hazard.Write), string(hazard.Read))
	return cmd
}

func (f *hazardFlags) check() error {
	const see = `see "kvxfer hazard --help"`
	switch {
	case f.transport != hazard.TCP && f.transport != hazard.CMA:
		return usagef("give tcp or cma", "--transport: unknown transport %q", f.transport)
	case f.op != string(hazard.Write) && f.op != string(hazard.Read):
		return usagef("give write or read", "--op: unknown operation %q", f.op)
	case f.runs < 1:
		return usagef("give 1 or more", "--runs: %d runs show nothing", f.runs)
	case f.timeout <= 0:
		return usagef(see, "--timeout: %v is no time to wait", f.timeout)
	}
	return nil
}

func (a *app) hazard(ctx context.Context, f hazardFlags) error {
	lib, err := openLibrary(f.library)
	if err != nil {
		return libraryFailure(err)
	}
	picture, err := openPicture(f.svg)
	if err != nil {
		return err
	}
	defer picture.abandon()
	h := &hazard.Hazard{
		Library: lib.Path(), Transport: f.transport, Op: hazard.Op(f.op), Seed: f.seed,
		Bytes: hazard.DefaultBytes, Pieces: hazard.DefaultPieces,
		Start: func() (*proc.Child, error) { return a.startPeer(jobHazard) },
	}
	report := &hazard.Report{Library: lib.Path(), Version: lib.Version().String(), Transport: f.transport, Op: h.Op, Bytes: h.Bytes}
	p := &hazardPrinter{app: a, flags: f, report: report}
	p.began()
	for run := range f.runs {
		h.Tell = p.teller(run)
		pair, err := a.hazardOnce(ctx, h, run, f.timeout)
		if err != nil {
			return err
		}
		report.Pairs = append(report.Pairs, pair)
		p.ran(run, pair)
	}
	p.ended()
	if err := picture.write(report); err != nil {
		return err
	}
	return a.judge(report)
}

func (a *app) hazardOnce(ctx context.Context, h *hazard.Hazard, run int, timeout time.Duration) (hazard.Pair, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done after %v (--timeout)", timeout))
	defer cancel()
	return h.Run(ctx, run)
}
