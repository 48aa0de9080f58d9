// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/export"
)

func exportPromelaCommand() *cobra.Command {
	var replicas int
	var environment string
	cmd := &cobra.Command{
		Use:     "promela SYSTEM",
		Short:   "Write a system with a number of replicas as a model for Spin",
		Example: "  fsmgen export promela receive --replicas 2 > receive.pml\n  spin -a receive.pml && cc -O2 -DNOREDUCE -o pan pan.c && ./pan -m100000",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if replicas < 1 || replicas > 8 {
				return usageError("--replicas %d: expected 1 to 8", replicas)
			}
			systems, err := loadSystems(cmd, args)
			if err != nil {
				return err
			}
			data, err := export.Promela(systems[0], replicas, environment)
			if err != nil {
				return usageError("%w", err)
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
	cmd.Flags().String("spec", "spec", "folder of the specs")
	cmd.Flags().IntVar(&replicas, "replicas", 2, "members of each set of replicas")
	cmd.Flags().StringVar(&environment, "environment", "", "the environment; the first if not given")
	return cmd
}
