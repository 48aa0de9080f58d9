// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/admin"
)

func (a *app) reopenCommand() *cobra.Command {
	var addr string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reopen",
		Short: "Lift an endpoint's quarantine, on your word",
		Long: `reopen lets an endpoint take in new work again after a doubt has closed its
admission. It frees no memory: what is in doubt stays owned, and its grace
deadline stays where it is. Ask "kvxfer explain" first why it was closed.

Exit codes: 0 lifted, or there was none; 1 the endpoint is stopping, 4 it is
FATAL, 3 nobody answers.`,
		Example: `  kvxfer reopen --addr unix:/run/decode-0.sock
  kvxfer reopen --addr unix:/run/decode-0.sock --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.reopen(cmd.Context(), addr, asJSON) },
	}
	cmd.Flags().StringVar(&addr, "addr", "", "`address` of the endpoint: unix:PATH")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer as one JSON object")
	return cmd
}

func (a *app) reopen(ctx context.Context, addr string, asJSON bool) error {
	if addr == "" {
		return usagef("give unix:PATH", "--addr is missing")
	}
	client, err := admin.NewClient(addr)
	if err != nil {
		return adminFailure("--addr", err)
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	did, err := client.Reopen(ctx)
	switch {
	case errors.Is(err, ownership.ErrFatal):
		return &failure{exit.Fatal, err, "end or isolate the process"}
	case errors.Is(err, ownership.ErrClosed):
		return &failure{exit.Finding, err, ""}
	case err != nil:
		return adminFailure("--addr", err)
	case asJSON:
		return a.json(did)
	}
	words := "admission was " + did.Before
	if len(did.Doubted) > 0 {
		words += ", since " + strings.Join(did.Doubted, ", ") + " had been in doubt"
	}
	fmt.Fprintf(a.stdout, "%s; it is %s now\n", words, did.After)
	return nil
}
