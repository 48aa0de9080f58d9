// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/compare"
	"github.com/kvxfer/kvxfer/fsm/lint"
	"github.com/kvxfer/kvxfer/fsm/load"
)

func lintCommand() *cobra.Command {
	var against string
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Find mistakes and doubtful places in the specs",
		Long: "lint reports every mistake that keeps a spec from loading, and beyond that states that cannot be\n" +
			"reached, states without exit that are not final, events that move nothing, answers that no rule\n" +
			"gives and, with --against, stable codes that changed since a Git revision. It exits 1 if it finds any.",
		Example: "  fsmgen lint\n  fsmgen lint --against HEAD",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := lintAll(cmd, against)
			if err != nil {
				return err
			}
			if found == nil {
				return nil
			}
			fmt.Fprintln(cmd.OutOrStdout(), found)
			return errFinding
		},
	}
	cmd.Flags().String("spec", "spec", "folder of the specs")
	cmd.Flags().StringVar(&against, "against", "", "Git revision whose codes must still hold")
	return cmd
}

// lintAll returns the findings as one error, apart from what kept it from looking.
func lintAll(cmd *cobra.Command, against string) (found, err error) {
	mod, err := findModule()
	if err != nil {
		return nil, err
	}
	set, dir, err := mod.loadSpecs(cmd)
	var mistake *load.Error
	if errors.As(err, &mistake) {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	all := lint.Check(set)
	if against != "" {
		old, err := setAt(mod, dir, against)
		if err != nil {
			return nil, err
		}
		for _, c := range compare.Sets(old, set) {
			if !c.Breaks {
				continue
			}
			file := dir
			if sp := set.Lookup(c.Spec); sp != nil {
				file = sp.Header().Source.File
			}
			all.Add(file, c.Pos, "since %s: %s", against, c.Text)
		}
	}
	return all.Err(), nil
}
