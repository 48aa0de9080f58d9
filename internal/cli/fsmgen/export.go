// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/export"
)

func exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Write specs in forms that other programs read",
		Example: "  fsmgen export json claim\n  fsmgen export schema > spec.schema.json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return usageError("export what? see fsmgen export --help") },
	}
	cmd.AddCommand(exportJSONCommand(), exportSchemaCommand(), exportPromelaCommand())
	return cmd
}

func exportJSONCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "json NAME",
		Short:   "Write every cell of a machine, or every combination of a table, as JSON",
		Example: "  fsmgen export json claim\n  fsmgen export json operation",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sp, err := loadOne(cmd, args[0])
			if err != nil {
				return err
			}
			data, err := export.JSON(sp)
			if err != nil {
				return usageError("%w", err)
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
	cmd.Flags().String("spec", "spec", "folder of the specs")
	return cmd
}

func exportSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Write the JSON Schema of the spec language, for editors",
		Long: "schema writes the JSON Schema of the spec language. An editor with a YAML language server completes\n" +
			"and checks specs that start with: # yaml-language-server: $schema=PATH",
		Example: "  fsmgen export schema > spec.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(export.Schema())
			return err
		},
	}
}
