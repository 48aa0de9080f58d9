// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/fsm/mutate"
)

func mutateCommand() *cobra.Command {
	var show int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "mutate NAME",
		Short: "List the changes of one cell or one output of a spec, to see whether tests find them",
		Long: "mutate lists every spec that differs from a machine in the answer of one cell, or from a table in one\n" +
			"output of one rule, numbered from 1. With --show it writes the changed spec to standard output: generate\n" +
			"from it in a copy of the module, and a test should fail. Changes of systems are made and judged by\n" +
			"fsmgen check --mutate.",
		Example: "  fsmgen mutate claim\n  fsmgen mutate claim --show 17 > copy/spec/claim.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sp, err := loadOne(cmd, args[0])
			if err != nil {
				return err
			}
			if sp.Header().Kind == load.KindSystem {
				return usageError("%s is a system; see fsmgen check --mutate", args[0])
			}
			mutants := mutate.Of(sp)
			switch {
			case !cmd.Flags().Changed("show"):
				return listMutants(cmd, mutants, asJSON)
			case show < 1 || show > len(mutants):
				return usageError("--show %d: expected a number from 1 to %d", show, len(mutants))
			}
			_, err = cmd.OutOrStdout().Write(mutants[show-1].Text())
			return err
		},
	}
	cmd.Flags().String("spec", "spec", "folder of the specs")
	cmd.Flags().IntVar(&show, "show", 0, "write the changed spec with this number")
	cmd.Flags().BoolVar(&asJSON, "json", false, "list as JSON, one object a line")
	return cmd
}

func listMutants(cmd *cobra.Command, mutants []mutate.Mutant, asJSON bool) error {
	type mutant struct {
		Number int    `json:"number"`
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
		Change string `json:"change"`
	}
	out := cmd.OutOrStdout()
	enc := json.NewEncoder(out)
	for i, m := range mutants {
		if !asJSON {
			fmt.Fprintf(out, "%d %s:%d:%d: %s\n", i+1, m.File, m.Pos.Line, m.Pos.Col, m.What)
		} else if err := enc.Encode(mutant{i + 1, m.File, m.Pos.Line, m.Pos.Col, m.What}); err != nil {
			return err
		}
	}
	return nil
}
