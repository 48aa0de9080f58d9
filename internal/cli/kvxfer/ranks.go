// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/ranks"
	"github.com/kvxfer/kvxfer/internal/proc"
)

type ranksFlags struct {
	etcd    etcdFlags
	options ranks.Options
	keep    string
	json    bool
}

func (a *app) ranksCommand() *cobra.Command {
	f := &ranksFlags{}
	cmd := &cobra.Command{
		Use:   "ranks",
		Short: "Let many ranks retire requests together, and measure it",
		Long: `ranks starts a process for each rank of a group. Requests that live on all of
them succeed, fail on one rank or are cancelled on one, and every rank gives its
memory of a request back only when all have drained. What each process did is
written to histories, which are judged at the end by a check of its own.

The latency of a cancelled request is from the cancel on one rank to the moment
at which the last rank has given its memory back. It takes two words from rank
to rank; the table has a bare put and watch of the same etcd beside it.

With --kill a rank's process is killed halfway: what it had not drained is
retained by all others, and printed with the reason. With --fence the fact that
the process was reaped is then written as a fence, and everything retires.

Exit codes: 0 all retired; 1 the histories break a rule; 3 etcd or a process
could not be started; 5 something is retained without proof.`,
		Example: `  kvxfer ranks
  kvxfer ranks --ranks 8 --requests 2000 --rate 2000 --cancel 100
  kvxfer ranks --kill 3
  kvxfer ranks --kill 3 --fence --json
  kvxfer ranks --etcd https://etcd-0:2379,https://etcd-1:2379 --etcd-ca ca.pem`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ranks(cmd, f) },
	}
	f.etcd.add(cmd, etcdEmbedded)
	fl, o := cmd.Flags(), &f.options
	fl.IntVar(&o.Ranks, "ranks", 8, "how many ranks, 1 to 64")
	fl.IntVar(&o.Requests, "requests", 2000, "how many requests")
	fl.IntVar(&o.Rate, "rate", 500, "requests that begin in a second")
	fl.IntVar(&o.Mix.Fail, "fail", 20, "percent of the requests that fail on one rank")
	fl.IntVar(&o.Mix.Cancel, "cancel", 40, "percent of the requests that are cancelled on one rank")
	fl.DurationVar(&o.Hold, "hold", 20*time.Millisecond, "from a request's begin to its end")
	fl.DurationVar(&o.Drain, "drain", 0, "from a request's end to the last access of the hardware")
	fl.DurationVar(&o.Lease, "lease", 2*time.Second, "after so long of silence a rank is in doubt")
	fl.IntVar(&o.Kill, "kill", -1, "kill the process of this `rank` halfway")
	fl.BoolVar(&o.Fence, "fence", false, "with --kill: write the fence of that rank, whose process was reaped")
	fl.DurationVar(&o.Patience, "patience", 10*time.Second, "how long to wait for proof at the end")
	fl.StringVar(&f.keep, "keep", "", "keep the histories in this `directory`")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

func (a *app) ranks(cmd *cobra.Command, f *ranksFlags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	access, err := f.etcd.access(cmd)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "kvxfer-ranks-")
	if err != nil {
		return envf("", "%w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	o := f.options
	o.Group, o.Etcd, o.Folder = "ranks-"+random(), access, folder
	if f.keep != "" {
		o.Folder = f.keep
		if err := os.MkdirAll(o.Folder, 0o755); err != nil {
			return envf("give a directory that can be written", "--keep: %w", err)
		}
	}
	if len(access.Endpoints) == 0 {
		o.Embedded = filepath.Join(folder, "etcd")
	}
	o.Start = func() (*proc.Child, error) { return a.startPeer(jobRanks) }
	bar := a.ranksBar(f, &o)
	result, err := ranks.Do(cmd.Context(), o)
	bar()
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return envf("is etcd reachable?", "ranks: %w", err)
	}
	if err := a.printRanks(f, &o, result); err != nil {
		return err
	}
	return judgeRanks(result)
}

func (f *ranksFlags) check(cmd *cobra.Command) error {
	o := &f.options
	if err := notEmpty(cmd, "keep"); err != nil {
		return err
	}
	switch {
	case o.Ranks < 1 || o.Ranks > cluster.MaxRanks:
		return usagef("give 1 to 64", "--ranks: %d", o.Ranks)
	case o.Requests < 1 || o.Rate < 1:
		return usagef("give at least 1", "--requests and --rate: %d and %d", o.Requests, o.Rate)
	case o.Mix.Fail < 0 || o.Mix.Cancel < 0 || o.Mix.Fail+o.Mix.Cancel > 100:
		return usagef("give percents", "--fail and --cancel: %d and %d of 100", o.Mix.Fail, o.Mix.Cancel)
	case o.Hold < 0 || o.Drain < 0 || o.Lease <= 0 || o.Patience <= 0:
		return usagef("", "--hold, --drain, --lease or --patience: is negative, or no time at all")
	case o.Kill < -1 || o.Kill >= o.Ranks:
		return usagef("name a rank", "--kill: there is no rank %d of %d", o.Kill, o.Ranks)
	case o.Kill == 0 && f.etcd.where == etcdEmbedded:
		return usagef("kill another rank, or run etcd outside", "--kill 0: etcd is inside of rank 0")
	case o.Fence && o.Kill < 0:
		return usagef("give --kill RANK", "--fence: nothing is killed")
	}
	return nil
}

// judgeRanks is the exit code of a run.
func judgeRanks(r *ranks.Result) error {
	if len(r.Broken) > 0 {
		return &failure{exit.Finding, errors.New(r.Broken[0]), ""}
	}
	for _, report := range r.Reports {
		if len(report.Retained) > 0 {
			return &failure{exit.Retained, errors.New("requests are retained: a rank's memory of them may still be touched"), "fence the ranks that are gone"}
		}
	}
	return nil
}
