// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// mutateOne changes the system in every single way and lists what no property finds.
func mutateOne(ctx context.Context, cmd *cobra.Command, sys *load.System, o check.Options) (bool, error) {
	out := cmd.OutOrStdout()
	r, err := check.Mutate(ctx, sys, o)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%s: %d replicas: %d changes, %d found, %d change nothing that can be reached, %d survive, %d explained\n",
		sys.Name, o.Replicas, len(r.Mutants), r.Killed(), r.Equivalent(), r.Survived(), r.Explained())
	for _, m := range r.Mutants {
		if m.Fate == check.Survived {
			fmt.Fprintf(out, "  %s:%d:%d: %s\n", m.File, m.Pos.Line, m.Pos.Col, m.What)
		}
	}
	return r.Survived() == 0, nil
}
