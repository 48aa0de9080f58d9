// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/ownership/explain"
	"github.com/kvxfer/kvxfer/transfer/admin"
)

// askTime bounds a question to an endpoint: a process that was stopped answers
// nothing.
const askTime = 10 * time.Second

type explainFlags struct {
	addr, snapshot string
	json           bool
}

func (a *app) explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Say why memory is still owned, and what proof would free it",
		Long: `explain asks a running endpoint for each region of its memory: who may still
touch it, since when, which event led there, and what proof would free it. It
changes nothing.

The endpoint listens where "kvxfer run --admin" or package transfer/admin says.
A snapshot is what explain --json prints, or GET /snapshot over that socket.

Exit codes: 0 nothing is retained without proof, 5 something is, 4 FATAL,
3 nobody answers or the file cannot be read, 1 the file is no snapshot.`,
		Example: `  kvxfer explain --addr unix:/run/decode-0.sock
  kvxfer explain --addr unix:/run/decode-0.sock --json > then.json
  kvxfer explain --snapshot then.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.explain(cmd.Context(), &f) },
	}
	cmd.Flags().StringVar(&f.addr, "addr", "", "`address` of an endpoint: unix:PATH")
	cmd.Flags().StringVar(&f.snapshot, "snapshot", "", "`file` with a snapshot; - is standard input")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the snapshot as one JSON object")
	return cmd
}

func (a *app) explain(ctx context.Context, f *explainFlags) error {
	r, err := a.report(ctx, f)
	if err != nil {
		return err
	}
	if f.json {
		err = a.json(r)
	} else {
		a.printReport(r)
	}
	if err != nil {
		return err
	}
	return judgeReport(r)
}

func (a *app) report(ctx context.Context, f *explainFlags) (*explain.Report, error) {
	switch {
	case f.addr == "" && f.snapshot == "":
		return nil, usagef(`see "kvxfer explain --help"`, "give --addr or --snapshot")
	case f.addr != "" && f.snapshot != "":
		return nil, usagef("leave one of them out", "--addr and --snapshot: there is one thing to explain")
	case f.addr != "":
		client, err := admin.NewClient(f.addr)
		if err != nil {
			return nil, adminFailure("--addr", err)
		}
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		r, err := client.Explain(ctx)
		if err != nil {
			return nil, adminFailure("--addr", err)
		}
		return r, nil
	}
	return a.readSnapshot(f.snapshot)
}

func (a *app) readSnapshot(path string) (*explain.Report, error) {
	from, name := a.stdin, "standard input"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, envf("give a file that can be read", "--snapshot: %w", err)
		}
		defer func() { _ = file.Close() }()
		from, name = file, path
	}
	r, err := explain.Read(from)
	var format *explain.FormatError
	switch {
	case errors.As(err, &format):
		return nil, &failure{exit.Finding, fmt.Errorf("%s: %w", name, err), `give what "kvxfer explain --json" has printed`}
	case err != nil:
		return nil, envf("give a file that can be read", "--snapshot: %s: %w", name, err)
	}
	return r, nil
}

// judgeReport turns a report into an exit code.
func judgeReport(r *explain.Report) error {
	switch {
	case r.Fatal != nil:
		return &failure{exit.Fatal, fmt.Errorf("FATAL: %s", r.Fatal.Text), "end or isolate the process"}
	case r.Totals.Unproven > 0:
		return &failure{exit.Retained, fmt.Errorf("retained without proof: %d of %s", r.Totals.Unproven, plural(r.Totals.Owned, "piece")), ""}
	}
	return nil
}

// adminFailure gives an error about an admin socket its exit code.
func adminFailure(flag string, err error) error {
	switch err := fmt.Errorf("%s: %w", flag, err); {
	case errors.Is(err, admin.ErrUnreachable):
		return &failure{exit.Env, err, "give the socket of a process that runs"}
	case errors.Is(err, admin.ErrInUse):
		return &failure{exit.Env, err, ""} // says what to do
	case errors.Is(err, admin.ErrAddress):
		return usagef("give unix:PATH", "%w", err)
	default:
		return &failure{exit.Peer, err, ""}
	}
}
