// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/move"
	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/admin"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Move KV blocks between two processes, owned on both sides, and prove it",
		Long: `run starts a second process and moves KV-cache-shaped data to it: scattered
blocks of one pool into differently ordered blocks of the other. Each transfer
has new content, whose SHA-256 the receiver compares.

It prints the timeline of both owners and ends with 0 only if every owner on
both sides was released on proof. With --fault it shows what happens to the
memory when the receiver is stopped and continued (stall), killed (kill), or
slow:

  stall   the sender doubts, the memory stays; the late end of the very same
          operation settles it
  kill    no proof can come: the memory is retained until the grace deadline,
          then FATAL and containment; exit code 4
  slow    no doubt, no failure: only time

--fault stall --recover does not wait for the late end: the sender destroys its
agent, which proves that its source is free, and goes on in another life while
the receiver still stands still. That says nothing of the receiver's memory, so
over TCP that stays owned and is listed, and the exit code is 5; a transfer
between other blocks works beside it.

With --plugin POSIX, or another one that serves files, there is no second
process: blocks are offloaded to a file and read back, and an endpoint of its
own owns the file.`,
		Example: `  kvxfer run
  kvxfer run --plugin POSIX --file /var/cache/kv
  kvxfer run --count 50 --transport tcp
  kvxfer run --fault stall
  kvxfer run --fault stall --recover`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.settle(cmd)
			if err := cmp.Or(notEmpty(cmd, "in", "out", "control", "admin", "trace", "plugin", "file"), f.checkLoop(cmd), f.checkStorage(cmd), f.check()); err != nil {
				return err
			}
			if f.storage() {
				return a.runStorage(cmd.Context(), &f)
			}
			return a.run(cmd.Context(), &f)
		},
	}
	f.add(cmd)
	return cmd
}

func (a *app) run(ctx context.Context, f *runFlags) error {
	c, first, err := a.chooseBackend(f)
	if err != nil {
		return err
	}
	if f.in != "" {
		file, err := os.Open(f.in)
		if err != nil {
			return envf("give a file that can be read", "--in: %w", err)
		}
		defer func() { _ = file.Close() }()
		c.Source = file
	}
	p := &runPrinter{app: a, flags: f}
	c.Count, c.Fault, c.Event, c.Transfer, c.Admin = f.count, move.Fault(f.fault), p.event, p.transfer, f.admin
	c.Started = func(process move.Process) { p.began(first, process.Pid()) }
	report, err := move.Run(ctx, *c)
	if err != nil {
		p.failed()
		return runFailure(err)
	}
	p.ended(report)
	return judgeRun(f, report)
}

// firstLine is what is used, and why it is not NIXL where it is not.
type firstLine struct {
	backend   string
	library   *nixl.Library
	why       string
	transport string
}

// chooseBackend finds NIXL, or says plainly that it runs without.
func (a *app) chooseBackend(f *runFlags) (*move.Config, firstLine, error) {
	plan := move.Plan{
		Shape: f.shape(), Seed: f.seed, Transport: f.transport, Out: f.out, Control: f.control, Trace: f.trace,
		RequestTimeout: f.timeout, Grace: f.grace, Wait: f.wait, Recover: f.recover,
	}
	if plan.Control == "" {
		plan.Control = "unix-abstract:kvxfer-" + random()
	}
	why := "--backend loop"
	if f.backend != backendLoop {
		lib, err := openLibrary(f.library)
		if err == nil {
			plan.Library = lib.Path()
			return &move.Config{Plan: plan, Open: move.OpenNIXL(&plan), Start: a.startReceiver}, firstLine{backendNIXL, lib, "", f.transport}, nil
		}
		if f.backend == backendNIXL || libraryNamed(f.library) {
			return nil, firstLine{}, libraryFailure(err)
		}
		why = libraryFailure(err).Error()
	}
	fabric := loop.New(loop.Config{Auto: true, BytesPerTick: loopBytesPerTick})
	start := func(ctx context.Context, p move.Plan) (move.Process, error) { return move.Inside(ctx, p, fabric), nil }
	return &move.Config{Plan: plan, Open: move.OpenLoop(fabric), Start: start}, firstLine{backendLoop, nil, why, "memory copy"}, nil
}

// loopBytesPerTick makes a transfer of the loop backend take many ticks, so
// that it is in flight for a while as on a real transport.
const loopBytesPerTick = 4 << 20

func (a *app) startReceiver(_ context.Context, plan move.Plan) (move.Process, error) {
	child, err := a.startPeer(jobRun)
	if err != nil {
		return nil, err
	}
	if err := child.Send(plan); err != nil {
		return nil, errors.Join(err, child.Close())
	}
	return move.ChildProcess(child), nil
}

// random is a name that nobody can guess: whoever knows it can connect.
func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// judgeRun turns a report into an exit code.
func judgeRun(f *runFlags, r *move.Report) error {
	n := len(r.Transfers)
	last := r.Transfers[n-1]
	wanted := n
	if f.fault == string(move.Stall) && (last.Outcome != move.Succeeded || f.recover) {
		wanted-- // the stalled one is not a delivery, by design
	}
	switch {
	case r.Contained != "":
		return &failure{exit.Fatal, fmt.Errorf("FATAL: %s", r.Contained),
			"its memory was not given back, and never will be"}
	case r.Proven() < n:
		return &failure{exit.Retained, fmt.Errorf("released on proof: %d of %d", r.Proven(), n), "see the timeline"}
	case r.Delivered() < wanted:
		return &failure{exit.Peer, fmt.Errorf("delivered: %d of %d", r.Delivered(), n), "see the timeline"}
	}
	return nil
}

// runFailure gives an error of a run its exit code, and a hint where there is one.
func runFailure(err error) error {
	var peer *move.Failure
	switch {
	case errors.Is(err, rpc.ErrAddressInUse):
		return &failure{exit.Env, fmt.Errorf("--control: %w", err), "give another address, or port 0"}
	case errors.Is(err, rpc.ErrInvalidAddress), errors.Is(err, rpc.ErrNotLocal):
		return usagef("give 127.0.0.1:0, unix:/path or unix-abstract:name", "--control: %w", err)
	case errors.Is(err, admin.ErrInUse), errors.Is(err, admin.ErrAddress):
		return adminFailure("--admin", err)
	case errors.Is(err, wire.ErrVersion):
		return &failure{exit.Peer, fmt.Errorf("peer: %w", err), "use the same version of kvxfer on both sides"}
	case errors.Is(err, errInterrupted):
		return err
	case move.IsEnvironment(err):
		return &failure{exit.Env, err, ""}
	case errors.As(err, &peer), errors.Is(err, transfer.ErrHandshake):
		return &failure{exit.Peer, fmt.Errorf("peer: %w", err), ""}
	}
	return &failure{exit.Peer, err, ""}
}
