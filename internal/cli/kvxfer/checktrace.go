// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/trace"
	"github.com/kvxfer/kvxfer/trace/mapping"
)

type checkTraceFlags struct {
	mapping           string
	json              bool
	schema, mapSchema bool
}

func (a *app) checkTraceCommand() *cobra.Command {
	var f checkTraceFlags
	cmd := &cobra.Command{
		Use:   "check-trace FILE...",
		Short: "Check what endpoints did against the ownership contract, offline",
		Long: `check-trace reads traces, as "kvxfer run --trace" writes them, and judges each by
itself: every step is made again on the state machines of the spec, every effect
must be a legal move, and the contract's invariants must hold. It names the line
of everything that is not allowed, says what the spec says instead, and shows the
lines that led there. A file may stop anywhere, also in the middle of a line.

Several traces are judged together as well: what one endpoint heard, another has to
have said, by its full name; an operation stands on a claim that its owner published,
and not on memory that was released before. No clocks are compared: what came before
what is known from the messages between them.

With --map it reads another engine's log instead: a small YAML file says which
lines (or OpenTelemetry spans) mean what. See docs/traces.md.

A file is read once and forgotten: memory depends on what is owned at a time, and
not on the length; of several files, what is compared is kept. - is standard input.

Exit codes: 0 nothing found; 1 something is not allowed, or a line is no line of a
trace; 2 the mapping or the command line is wrong; 3 a file cannot be read.`,
		Example: `  kvxfer run --trace run.jsonl && kvxfer check-trace run.prefill.jsonl run.decode.jsonl
  kvxfer check-trace --json run.decode.jsonl
  kvxfer check-trace --map trace/testdata/engine.yaml trace/testdata/engine-right.log`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notEmpty(cmd, "map"); err != nil {
				return err
			}
			return a.checkTraces(&f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.mapping, "map", "", "the files are another engine's logs, which this YAML `file` explains")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a file, and with several one of all of them together")
	flags.BoolVar(&f.schema, "schema", false, "print the JSON Schema of the lines of a trace")
	flags.BoolVar(&f.mapSchema, "map-schema", false, "print the JSON Schema of mapping files, for editors")
	return cmd
}

func (a *app) checkTraces(f *checkTraceFlags, files []string) error {
	switch {
	case f.schema && f.mapSchema, (f.schema || f.mapSchema) && (len(files) > 0 || f.json || f.mapping != ""):
		return usagef("give one", "--schema and --map-schema print one thing each and go with nothing else")
	case f.schema:
		_, err := a.stdout.Write(trace.Schema())
		return err
	case f.mapSchema:
		_, err := a.stdout.Write(mapping.Schema())
		return err
	case len(files) == 0:
		return usagef(`see "kvxfer check-trace --help"`, "no trace is named")
	}
	var m *mapping.Mapping
	if f.mapping != "" {
		var err error
		if m, err = a.loadMapping(f.mapping); err != nil {
			return err
		}
	}
	found, wrong := 0, 0
	joint := trace.NewJoint()
	for i, path := range files {
		r, err := a.checkTrace(m, joint, path)
		if err != nil {
			return err
		}
		if r.Found() > 0 {
			found += r.Found()
			wrong++
		}
		if f.json {
			err = a.json(r)
		} else {
			if i > 0 {
				fmt.Fprintln(a.stdout)
			}
			a.printTrace(r)
		}
		if err != nil {
			return err
		}
	}
	together, err := a.checkTogether(f, joint, len(files))
	switch {
	case err != nil:
		return err
	case found > 0 && together > 0:
		return &failure{exit.Finding, fmt.Errorf("%s in %s, and %d between them", plural(found, "finding"), plural(wrong, "trace"), together), ""}
	case found > 0:
		return &failure{exit.Finding, fmt.Errorf("%s in %s", plural(found, "finding"), plural(wrong, "trace")), ""}
	case together > 0:
		return &failure{exit.Finding, fmt.Errorf("%s between %s", plural(together, "finding"), plural(len(files), "trace")), ""}
	}
	return nil
}

// checkTogether prints what several traces say of each other, and returns how many
// findings that were.
func (a *app) checkTogether(f *checkTraceFlags, joint *trace.Joint, files int) (int, error) {
	if files < 2 || f.mapping != "" {
		return 0, nil
	}
	r := joint.Judge()
	if f.json {
		return r.Found(), a.json(r)
	}
	fmt.Fprintln(a.stdout)
	a.printJoint(r)
	return r.Found(), nil
}

// checkTrace checks one file. A line that is none of a trace is a finding, too.
func (a *app) checkTrace(m *mapping.Mapping, joint *trace.Joint, path string) (*trace.Report, error) {
	var from io.Reader = a.stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, envf("give a file that can be read", "%w", err)
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	var source trace.Source = trace.NewReader(from)
	if m != nil {
		var err error
		if source, err = m.Source(from); err != nil {
			return nil, traceFailure(path, err)
		}
	}
	r, err := trace.Check(path, joint.Add(path, source))
	if err != nil {
		return nil, traceFailure(path, err)
	}
	return r, nil
}

func traceFailure(path string, err error) error {
	if syntax := (*trace.SyntaxError)(nil); errors.As(err, &syntax) {
		return &failure{exit.Finding, fmt.Errorf("%s:%d: %s", path, syntax.Line, syntax.What), `give what "kvxfer run --trace" wrote, or --map for another engine's log`}
	}
	return envf("give a file that can be read", "%s: %w", path, err)
}

// loadMapping reads a mapping. All its mistakes go to standard error, one a line with its place.
func (a *app) loadMapping(path string) (*mapping.Mapping, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, envf("give a file that can be read", "--map: %w", err)
	}
	m, err := mapping.Parse(path, data)
	var list mapping.Problems
	switch {
	case errors.As(err, &list):
		for _, p := range list {
			fmt.Fprintln(a.stderr, p)
		}
		return nil, usagef(`see "kvxfer check-trace --map-schema"`, "--map: %s in %s", plural(len(list), "mistake"), path)
	case err != nil:
		return nil, usagef("", "--map: %w", err)
	}
	return m, nil
}
