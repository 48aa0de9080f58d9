// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/format"
)

func formatCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:     "fmt [FILE...]",
		Short:   "Give specs their canonical layout",
		Long:    "fmt rewrites the given spec files, or all of the folder of specs, and names those that changed.",
		Example: "  fsmgen fmt\n  fsmgen fmt --check spec/claim.yaml",
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				mod, err := findModule()
				if err != nil {
					return err
				}
				dir, err := mod.resolve(cmd, "spec")
				if err != nil {
					return err
				}
				if files, err = filepath.Glob(filepath.Join(dir, "*.yaml")); err != nil {
					return err
				}
			}
			return formatFiles(cmd, files, check)
		},
	}
	cmd.Flags().String("spec", "spec", "folder of the specs")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 1 with a diff if a layout differs")
	return cmd
}

// formatFiles goes through all files, so that one run shows every mistake.
func formatFiles(cmd *cobra.Command, files []string, check bool) error {
	var mistakes []error
	differs := false
	for _, file := range files {
		file = shown(file)
		before, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		after, err := format.Source(filepath.ToSlash(file), before)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		if bytes.Equal(before, after) {
			continue
		}
		differs = true
		if check {
			cmd.OutOrStdout().Write(diff.Diff(file, before, file+" formatted", after))
			continue
		}
		if err := replace(file, after); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), file)
	}
	if len(mistakes) > 0 {
		return errors.Join(mistakes...)
	}
	if check && differs {
		return errFinding
	}
	return nil
}
