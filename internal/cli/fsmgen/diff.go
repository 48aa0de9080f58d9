// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/compare"
	"github.com/kvxfer/kvxfer/fsm/load"
)

func diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say in words how two specs, or two folders of specs, differ",
		Long: "diff lists changed cells, codes, tags and answers, and marks what breaks stable codes.\n" +
			"It exits 1 if anything differs.",
		Example: "  fsmgen diff old/claim.yaml spec/claim.yaml\n  fsmgen diff old/spec spec",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := loadPath(args[0])
			if err != nil {
				return err
			}
			after, err := loadPath(args[1])
			if err != nil {
				return err
			}
			changes := compare.Sets(before, after)
			breaks := 0
			for _, c := range changes {
				fmt.Fprintln(cmd.OutOrStdout(), c)
				if c.Breaks {
					breaks++
				}
			}
			if len(changes) == 0 {
				return nil
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "fsmgen: %d changes, %d of them break stable codes\n", len(changes), breaks)
			return errFinding
		},
	}
}

// loadPath reads a folder of specs, or one file that refers to no other.
func loadPath(path string) (*load.Set, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return load.Dir(path)
	}
	return load.File(path)
}
