// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package fsmgen is the command line of fsmgen, one file a command. Results go to
// stdout, words about them to stderr; exit codes are those of package exit.
package fsmgen

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/internal/cli/exit"
)

// codeError carries the exit code of an error; an empty text prints nothing.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// errFinding ends a command that found what it looked for and said so already.
var errFinding = errors.New("finding")

func usageError(format string, args ...any) error {
	return &codeError{exit.Usage, fmt.Errorf(format, args...)}
}

// Main runs fsmgen with args and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := command()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return exit.OK
	}
	if errors.Is(err, errFinding) {
		return exit.Finding
	}
	var mistake *load.Error
	var code *codeError
	var path *fs.PathError
	switch {
	case errors.As(err, &mistake):
		fmt.Fprintln(stderr, err) // one file:line:col line a mistake, for editors
		return exit.Usage
	case errors.As(err, &code):
		fmt.Fprintf(stderr, "fsmgen: %v\n", err)
		return code.code
	case errors.As(err, &path):
		fmt.Fprintf(stderr, "fsmgen: %v\n", err)
		return exit.Env
	}
	fmt.Fprintf(stderr, "fsmgen: %v\n", err)
	return exit.Usage
}

// command builds the command tree.
func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "fsmgen",
		Short: "State machines and decision tables: from a YAML spec to Go code, pictures and checks",
		Long: "fsmgen reads specs (YAML, one machine or decision table a file) and writes Go packages,\n" +
			"documents and diagrams from them. Nothing is written when any spec has a mistake.",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError("%w", err) })
	root.AddCommand(generateCommand(), lintCommand(), checkCommand(), drawCommand(), diffCommand(), exportCommand(),
		initCommand(), simCommand(), traceCommand(), formatCommand(), mutateCommand())
	return root
}

// version is that of the module fsmgen was built from, or "devel".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}
