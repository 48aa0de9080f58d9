// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/internal/cli/exit"
)

// checkFlags are what the user asks of a check.
type checkFlags struct {
	replicas    string
	environment string
	format      string
	symmetry    bool
	mutate      bool
	part        int
	seed        uint64
	memory      int
	states      int
}

func checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [SYSTEM...]",
		Short: "Explore every reachable state of systems and judge their properties",
		Long: "check visits every state that a system can reach, with a number of replicas, and judges its properties:\n" +
			"of states, of steps, after events, and liveness under fairness. A broken property comes with a shortest\n" +
			"run that breaks it. It exits 1 unless every property is proved (or refuted, where the spec says so);\n" +
			"what it could not finish is never called proved.",
		Example: "  fsmgen check\n  fsmgen check receive --replicas 1..4 --symmetry\n  fsmgen check receive --mutate\n  fsmgen check --mutate --part 20",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return runCheck(ctx, cmd, args, &f)
		},
	}
	cmd.Flags().String("spec", "spec", "folder of the specs")
	cmd.Flags().StringVar(&f.replicas, "replicas", "1..3", "members of each set of replicas, a number or low..high")
	cmd.Flags().StringVar(&f.environment, "environment", "", "the environment to explore in; all if not given")
	cmd.Flags().StringVar(&f.format, "format", "text", "text, json, mermaid (runs as sequence diagrams), or scenario (runs by the spec's templates)")
	cmd.Flags().BoolVar(&f.symmetry, "symmetry", false, "visit one of the states that differ by an exchange of replicas")
	cmd.Flags().BoolVar(&f.mutate, "mutate", false, "change one guard, cell or statement at a time, and list changes that no property finds")
	cmd.Flags().IntVar(&f.part, "part", 100, "per cent of the changes that --mutate tries, chosen by chance")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "choose the --part of a run that printed this number")
	cmd.Flags().IntVar(&f.memory, "max-memory", 4096, "MiB that an exploration may take")
	cmd.Flags().IntVar(&f.states, "max-states", 0, "states to visit at most; 0 for no bound")
	return cmd
}

// bounds reads N or LOW..HIGH.
func (f *checkFlags) bounds() (low, high int, err error) {
	lo, hi, isRange := strings.Cut(f.replicas, "..")
	if !isRange {
		hi = lo
	}
	low, err1 := strconv.Atoi(lo)
	high, err2 := strconv.Atoi(hi)
	if err1 != nil || err2 != nil || low < 1 || high < low || high > 8 {
		return 0, 0, usageError("--replicas %s: expected a number or low..high, from 1 to 8", f.replicas)
	}
	return low, high, nil
}

func runCheck(ctx context.Context, cmd *cobra.Command, names []string, f *checkFlags) error {
	low, high, err := f.bounds()
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"text", "json", "mermaid", "scenario"}, f.format) {
		return usageError("--format %s: expected text, json, mermaid or scenario", f.format)
	}
	if f.memory < 1 || f.states < 0 {
		return usageError("--max-memory %d, --max-states %d: expected at least 1 MiB, and no negative number", f.memory, f.states)
	}
	systems, err := loadSystems(cmd, names)
	if err != nil {
		return err
	}
	good := true
	for _, sys := range systems {
		ok, err := checkAll(ctx, cmd, sys, f.options(sys, low, high, progress(cmd.ErrOrStderr())), f)
		if err != nil {
			return usageError("%w", err)
		}
		good = good && ok
		if !good && f.format == "scenario" {
			break // one file, of the first system that is broken
		}
		if ctx.Err() != nil {
			return &codeError{exit.Interrupted, fmt.Errorf("interrupted; what was not finished is not proved")}
		}
	}
	if !good {
		return errFinding
	}
	return nil
}

// options are the explorations of one system: each environment, with each number of replicas.
func (f *checkFlags) options(sys *load.System, low, high int, progress func(check.Progress)) []check.Options {
	if len(sys.Sets) == 0 {
		low, high = 1, 1
	}
	var out []check.Options
	for _, env := range f.environments(sys) {
		for n := low; n <= high; n++ {
			out = append(out, check.Options{Replicas: n, Environment: env, Symmetry: f.symmetry, MaxMemory: f.memory << 20, MaxStates: f.states, Progress: progress})
		}
	}
	return out
}

// loadSystems returns the named systems, or all.
func loadSystems(cmd *cobra.Command, names []string) ([]*load.System, error) {
	mod, err := findModule()
	if err != nil {
		return nil, err
	}
	set, dir, err := mod.loadSpecs(cmd)
	if err != nil {
		return nil, err
	}
	var out []*load.System
	for _, name := range names {
		sys, ok := set.Lookup(name).(*load.System)
		if !ok {
			return nil, usageError("no system %s in %s", name, mod.rel(dir))
		}
		out = append(out, sys)
	}
	for _, sp := range set.Specs {
		if sys, ok := sp.(*load.System); ok && len(names) == 0 {
			out = append(out, sys)
		}
	}
	if len(out) == 0 {
		return nil, usageError("no system in %s", mod.rel(dir))
	}
	return out, nil
}

func (f *checkFlags) environments(sys *load.System) []string {
	if f.environment != "" || len(sys.Environments) == 0 {
		return []string{f.environment}
	}
	return sys.Environments
}

// checkAll judges one system; it reports whether everything is as the spec says.
func checkAll(ctx context.Context, cmd *cobra.Command, sys *load.System, options []check.Options, f *checkFlags) (bool, error) {
	if f.mutate {
		return mutateOne(ctx, cmd, sys, options, f)
	}
	good := true
	for _, o := range options {
		ok, err := checkOne(ctx, cmd, sys, o, f)
		if err != nil {
			return false, err
		}
		if good = good && ok; ctx.Err() != nil || !good && f.format == "scenario" {
			break
		}
	}
	return good, nil
}

func checkOne(ctx context.Context, cmd *cobra.Command, sys *load.System, o check.Options, f *checkFlags) (bool, error) {
	r, err := check.System(ctx, sys, o)
	if err != nil {
		return false, err
	}
	out := cmd.OutOrStdout()
	switch f.format {
	case "json":
		enc := json.NewEncoder(out)
		return r.OK(), enc.Encode(resultJSON(r))
	case "scenario":
		printScenario(out, r, sys)
		return r.OK(), nil
	case "mermaid":
		for _, fi := range r.Findings {
			if fi.Trace != nil && !fi.Expected() {
				fmt.Fprintf(out, "%%%% %s\n%s", fi.Name, fi.Trace.Sequence(r.System))
			}
		}
		return r.OK(), nil
	}
	printResult(out, r)
	return r.OK(), nil
}

// printScenario writes one scenario, of the shortest run that was found: a file that can
// be replayed. The other properties that are broken are named in it.
func printScenario(out io.Writer, r *check.Result, sys *load.System) {
	var broken []*check.Finding
	for _, f := range r.Findings {
		if f.Trace != nil && !f.Expected() {
			broken = append(broken, f)
		}
	}
	slices.SortStableFunc(broken, func(a, b *check.Finding) int {
		if (a.Trace.Loop < 0) != (b.Trace.Loop < 0) {
			return cmp.Compare(a.Trace.Loop, b.Trace.Loop) // runs that end show their mistake when replayed
		}
		return len(a.Trace.Steps) - len(b.Trace.Steps)
	})
	for i, f := range broken {
		if i > 0 {
			fmt.Fprint(out, "# also broken, by another run: ")
		} else {
			fmt.Fprint(out, "# ")
		}
		fmt.Fprintf(out, "%s: %s\n", f.Name, f.Doc)
	}
	if len(broken) > 0 {
		fmt.Fprint(out, broken[0].Trace.Scenario(sys, r.Replicas))
	}
}

func printResult(out io.Writer, r *check.Result) {
	fmt.Fprintln(out, r.Summary())
	for _, f := range r.Findings {
		if f.Verdict == check.Proved && f.Expected() {
			continue
		}
		fmt.Fprintf(out, "  %s\n", f)
		if f.Trace != nil && !f.Expected() {
			fmt.Fprint(out, f.Trace)
		}
	}
	if len(r.Dead) > 0 {
		fmt.Fprintf(out, "  never changes anything: %s\n", strings.Join(r.Dead, ", "))
	}
	proved := 0
	for _, f := range r.Findings {
		if f.Verdict == check.Proved {
			proved++
		}
	}
	fmt.Fprintf(out, "  %d of %d properties proved\n", proved, len(r.Findings))
}

// progress writes one line that moves, if somebody is there to see it.
func progress(w io.Writer) func(check.Progress) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return func(p check.Progress) {
		fmt.Fprintf(file, "\r\x1b[K%d states, %d waiting, depth %d, %s states/s, %s, %s", p.States, p.Queued, p.Depth,
			check.Rate(p.States, p.Elapsed), check.Size(p.Bytes), p.Elapsed.Round(100*time.Millisecond))
		if p.Done {
			fmt.Fprint(file, "\r\x1b[K")
		}
	}
}
