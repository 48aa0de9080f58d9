// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/codegen"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// templates are the files that init writes; NAME and the other words in capitals
// are replaced.
//
//go:embed init
var templates embed.FS

func initCommand() *cobra.Command {
	var standalone bool
	cmd := &cobra.Command{
		Use:   "init [NAME]",
		Short: "Start a machine in your module: a spec, its code, a test and a generate line",
		Long: "init writes spec/NAME.yaml (a turnstile, to be changed), generates gen/NAME from it, and writes a test\n" +
			"of every cell beside it. Nothing that is there already is overwritten. With --standalone the generated\n" +
			"code imports the standard library alone.",
		Example: "  fsmgen init\n  fsmgen init door --standalone",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "turnstile"
			if len(args) == 1 {
				name = args[0]
			}
			return runInit(cmd, name, standalone)
		},
	}
	cmd.Flags().BoolVar(&standalone, "standalone", false, "generate packages that import the standard library alone")
	cmd.Flags().String("spec", "spec", "folder of the specs")
	cmd.Flags().String("out", "gen", "folder of the generated packages")
	cmd.Flags().String("docs", "docs/machines", "folder of the pages and pictures; empty for none")
	return cmd
}

func runInit(cmd *cobra.Command, name string, standalone bool) error {
	mod, err := findModule()
	if err != nil {
		return err
	}
	specDir, err := mod.resolve(cmd, "spec")
	if err != nil {
		return err
	}
	outDir, err := mod.resolve(cmd, "out")
	if err != nil {
		return err
	}
	importPath, err := mod.importPath(outDir)
	if err != nil {
		return err
	}
	runtime := "github.com/kvxfer/kvxfer/fsm"
	if standalone {
		runtime = ""
		if set, _, err := mod.loadSpecs(cmd); err == nil && slices.ContainsFunc(set.Specs, codegen.IsSystem) {
			runtime = path.Join(importPath, "fsm") // machines share it with the system
		}
	}
	words := initWords(name, importPath, generateLine(cmd, mod, standalone), runtime)
	files := map[string]string{
		"init/spec.yaml": filepath.Join(specDir, name+".yaml"),
		"init/doc.txt":   filepath.Join(outDir, "doc.go"),
		"init/test.txt":  filepath.Join(outDir, name, name+"_test.go"),
	}
	spec, err := templates.ReadFile("init/spec.yaml")
	if err != nil {
		return err
	}
	// The name is judged before anything is written.
	if _, err := load.Bytes(name+".yaml", []byte(words.Replace(string(spec)))); err != nil {
		return usageError("name %q: %w", name, err)
	}
	for _, from := range []string{"init/spec.yaml", "init/doc.txt", "init/test.txt"} {
		if err := writeNew(cmd, mod, from, files[from], words); err != nil {
			return err
		}
	}
	out, err := render(cmd, standalone)
	if err != nil {
		return err
	}
	n, err := out.write()
	if err != nil {
		return err
	}
	next := "go test ./..."
	if !standalone && !mod.knows("github.com/kvxfer/kvxfer") {
		next = "go get github.com/kvxfer/kvxfer && " + next
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "fsmgen: generated %d files; now: %s\n", n, next)
	return nil
}

// initWords are the words in capitals of the templates. The runtime is the import path
// of the package fsm; empty if the machine's package has its own.
func initWords(name, importPath, generate, runtime string) *strings.Replacer {
	result, imports := "fsm.", "\t\""+runtime+"\"\n"
	if runtime == "" {
		result, imports = name+".Result", ""
	}
	return strings.NewReplacer("NAME", name, "IMPORTPATH", importPath, "GENERATE", generate, "FSMIMPORT", imports,
		"MOVED", result+"Moved", "REJECTED", result+"Rejected", "DUPLICATE", result+"Duplicate",
		"RESULT", strings.TrimSuffix(result, "Result")+"Result")
}

// generateLine is the command that a //go:generate line runs: the tool of the
// module where go.mod names it, else the program in the path.
func generateLine(cmd *cobra.Command, mod *module, standalone bool) string {
	line := "fsmgen generate"
	if mod.knows("github.com/kvxfer/kvxfer/cmd/fsmgen") {
		line = "go tool fsmgen generate"
	}
	if standalone {
		line += " --standalone"
	}
	if f := cmd.Flags().Lookup("docs"); f.Value.String() == "" {
		line += " --docs="
	}
	return line
}

// writeNew writes a template, unless the file is there.
func writeNew(cmd *cobra.Command, mod *module, from, to string, words *strings.Replacer) error {
	if _, err := os.Stat(to); err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "fsmgen: kept %s\n", mod.rel(to))
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := templates.ReadFile(from)
	if err != nil {
		return err
	}
	data := []byte(words.Replace(string(text)))
	if filepath.Ext(to) == ".go" {
		if data, err = format.Source(data); err != nil { // sorts the imports
			return err
		}
	}
	if err := replace(to, data); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "fsmgen: wrote %s\n", mod.rel(to))
	return nil
}
