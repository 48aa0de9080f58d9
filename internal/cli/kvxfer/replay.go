// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/scenario"
)

type replayFlags struct {
	json    bool
	verbose bool
	record  bool
	schema  bool
	svg     string
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE|DIR...",
		Short: "Run scenarios against the ownership contract",
		Long: `replay runs scenario files step by step against the ownership registry, on a
virtual clock. Each step must end as the file says, each expectation must hold,
and the contract's invariants must hold after every step, whatever the file says.

Of a directory it runs the files that end in .yaml or .yml. For one scenario it
prints what every step did; for several, those that failed (with --verbose: all).

Exit codes: 0 all passed; 1 a scenario failed; 2 a file or the command line is wrong.`,
		Example: `  kvxfer replay incident.yaml
  kvxfer replay --svg incident.svg incident.yaml
  kvxfer replay --record incident.yaml > recorded.yaml
  kvxfer replay --json scenario/testdata`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notEmpty(cmd, "svg"); err != nil {
				return err
			}
			return a.replay(f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON object a step and one a scenario")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print every step of every scenario")
	flags.BoolVar(&f.record, "record", false, "print the scenario with what happened filled in: errors, and expectations where there are none")
	flags.BoolVar(&f.schema, "schema", false, "print the JSON Schema of scenario files, for editors")
	flags.StringVar(&f.svg, "svg", "", "draw the scenario's timeline into this `file`")
	return cmd
}

func (a *app) replay(f replayFlags, args []string) error {
	if others := f.json || f.verbose || f.svg != ""; f.record && f.schema || (f.record || f.schema) && others {
		return usagef("give one", "--record and --schema print one thing each and go with no other flag")
	}
	if f.schema {
		_, err := a.stdout.Write(scenario.Schema())
		return err
	}
	paths, err := scenarioFiles(args)
	if err != nil {
		return err
	}
	if (f.record || f.svg != "") && len(paths) != 1 {
		return usagef("name one file", "%d scenarios: --record and --svg take one", len(paths))
	}
	if f.record {
		return a.recordScenario(paths[0])
	}
	files, err := a.loadScenarios(paths)
	if err != nil {
		return err
	}
	p := &replayPrinter{app: a, flags: f, single: len(files) == 1}
	for _, file := range files {
		report, err := scenario.Run(file)
		if err != nil {
			return err
		}
		p.report(report)
		if f.svg != "" {
			if err := writeSVG(f.svg, report); err != nil {
				return err
			}
		}
	}
	return p.end()
}

// scenarioFiles returns the files that the arguments name, each once.
func scenarioFiles(args []string) ([]string, error) {
	const do = `see "kvxfer replay --help"`
	if len(args) == 0 {
		return nil, usagef(do, "no scenario is named")
	}
	var paths []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, usagef("", "%w", err)
		}
		if !info.IsDir() {
			paths = append(paths, arg)
			continue
		}
		entries, err := os.ReadDir(arg)
		if err != nil {
			return nil, usagef("", "%w", err)
		}
		before := len(paths)
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); e.Type()&fs.ModeDir == 0 && (ext == ".yaml" || ext == ".yml") {
				paths = append(paths, filepath.Join(arg, e.Name()))
			}
		}
		if len(paths) == before {
			return nil, usagef("name a directory with .yaml files", "%s: no scenario in it", arg)
		}
	}
	seen := make(map[string]bool)
	return slices.DeleteFunc(paths, func(p string) bool {
		again := seen[filepath.Clean(p)]
		seen[filepath.Clean(p)] = true
		return again
	}), nil
}

// loadScenarios loads all files before any is run. All mistakes of all files go
// to standard error, one a line with its place.
func (a *app) loadScenarios(paths []string) ([]*scenario.File, error) {
	var files []*scenario.File
	mistakes, wrong := 0, 0
	for _, path := range paths {
		file, err := scenario.Load(path)
		if err == nil {
			files = append(files, file)
			continue
		}
		wrong++
		mistakes += a.mistakes(err)
	}
	if wrong > 0 {
		return nil, usagef("", "%s in %s", plural(mistakes, "mistake"), plural(wrong, "file"))
	}
	return files, nil
}

// mistakes prints what is wrong with a file and returns how many things are.
func (a *app) mistakes(err error) int {
	var list scenario.Problems
	if !errors.As(err, &list) {
		fmt.Fprintln(a.stderr, err)
		return 1
	}
	for _, p := range list {
		fmt.Fprintln(a.stderr, p)
	}
	return len(list)
}

func (a *app) recordScenario(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return usagef("", "%w", err)
	}
	text, err := scenario.Record(path, data)
	var list scenario.Problems
	switch {
	case errors.As(err, &list):
		return usagef("", "%s in %s", plural(a.mistakes(err), "mistake"), path)
	case err != nil:
		return &failure{exit.Finding, err, ""}
	}
	_, err = a.stdout.Write(text)
	return err
}
