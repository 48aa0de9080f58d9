// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"fmt"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/codegen"
)

func generateCommand() *cobra.Command {
	var check, standalone bool
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write the Go packages, pages and pictures of all specs",
		Long: "generate writes one Go package, one page and one picture for each spec, and removes generated\n" +
			"files whose spec is gone. Folders default to spec, gen and docs/machines below the folder of go.mod,\n" +
			"wherever in the module it runs; folders that you give lie below the current one.",
		Example: "  fsmgen generate\n  fsmgen generate --check",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := render(cmd, standalone)
			if err != nil {
				return err
			}
			if check {
				return out.check(cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			n, err := out.write()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "fsmgen: %d of %d files changed\n", n, len(out.files)+len(out.stale))
			return nil
		},
	}
	cmd.Flags().String("spec", "spec", "folder of the specs")
	cmd.Flags().String("out", "gen", "folder of the generated packages")
	cmd.Flags().String("docs", "docs/machines", "folder of the pages and pictures; empty for none")
	cmd.Flags().BoolVar(&standalone, "standalone", false, "generate packages that import the standard library alone")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 1 with a diff if files are missing, different or stale")
	return cmd
}

// render builds everything that generate writes, in memory.
func render(cmd *cobra.Command, standalone bool) (*output, error) {
	mod, err := findModule()
	if err != nil {
		return nil, err
	}
	set, specDir, err := mod.loadSpecs(cmd)
	if err != nil {
		return nil, err
	}
	outDir, err := mod.resolve(cmd, "out")
	if err != nil {
		return nil, err
	}
	importPath, err := mod.importPath(outDir)
	if err != nil {
		return nil, err
	}
	specName := func(file string) string { return mod.rel(filepath.Join(specDir, path.Base(file))) }
	files, err := codegen.Generate(set, codegen.Options{ImportPath: importPath, Standalone: standalone, SpecName: specName})
	if err != nil {
		return nil, err
	}
	out := newOutput(mod.root)
	for _, f := range files {
		out.add(filepath.Join(outDir, filepath.FromSlash(f.Path)), f.Data)
	}
	if err := out.findStale(outDir, "*/*.gen.go"); err != nil {
		return nil, err
	}
	if cmd.Flags().Lookup("docs").Value.String() == "" {
		return out, nil
	}
	docs, err := mod.resolve(cmd, "docs")
	if err != nil {
		return nil, err
	}
	out.addDocuments(docs, set, specName)
	return out, out.findStale(docs, "*.md", "*.svg")
}
