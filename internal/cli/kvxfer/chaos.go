// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/chaos"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/hazard"
	"github.com/kvxfer/kvxfer/internal/proc"
)

type chaosFlags struct {
	faults, transports []string
	runs, cancels      int
	seed               uint64
	full, json, list   bool
	timeout            time.Duration
	library, traces    string
}

func (a *app) chaosCommand() *cobra.Command {
	var f chaosFlags
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Do harm to processes that move data, and check every byte afterwards",
		Long: `chaos starts two or three processes that move data to each other through NIXL, in
both directions, by WRITE and by READ, and does one fault to them: a process is
stopped, slowed down, killed, restarted under its name, gets another agent, hears
control messages in pieces, and so on; --list tells them all.

Afterwards every byte is compared with what it should be: none was written to, or
read from, memory after its release; every owner is released, or retained with a
reason that the fault explains; no handle of NIXL, file, thread or memory is left
over. The traces of all processes are checked as by "kvxfer check-trace", each by
itself and all of them together; those of a run that broke a rule are kept.

The seed decides who and what; it is printed, and --seed makes the same choices
again. Exit code 1 says that a rule was broken.`,
		Example: `  kvxfer chaos
  kvxfer chaos --fault kill-in-flight --transport tcp --runs 20
  kvxfer chaos --list
  kvxfer chaos --seed 42 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if f.list {
				return a.listFaults(&f)
			}
			return a.chaos(cmd.Context(), &f)
		},
	}
	names := chaos.Names()
	fl := cmd.Flags()
	fl.StringSliceVar(&f.faults, "fault", names, "`faults` to do")
	fl.StringSliceVar(&f.transports, "transport", []string{hazard.TCP, hazard.CMA}, "`transports` to do them on")
	fl.BoolVar(&f.list, "list", false, "tell what the faults are, and do none")
	fl.IntVar(&f.runs, "runs", 1, "how many `times` each")
	fl.IntVar(&f.cancels, "cancels", 1000, "how many `transfers` a run of the fault cancels has")
	fl.Uint64Var(&f.seed, "seed", 0, "`number` that decides who and what (default: the time)")
	fl.BoolVar(&f.full, "full", false, "longer runs")
	fl.StringVar(&f.traces, "traces", "", "keep the traces of all processes in this `folder`")
	fl.DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long one run may take")
	fl.BoolVar(&f.json, "json", false, "print one JSON object for each run and the summary")
	addLibraryFlag(cmd, &f.library)
	completeWords(cmd, "fault", names...)
	completeWords(cmd, "transport", hazard.TCP, hazard.CMA)
	return cmd
}

func (f *chaosFlags) check() error {
	for _, fault := range f.faults {
		if !slices.Contains(chaos.Names(), fault) {
			return usagef(`see "kvxfer chaos --list"`, "--fault: unknown fault %q", fault)
		}
	}
	for _, t := range f.transports {
		if t != hazard.TCP && t != hazard.CMA {
			return usagef("give tcp or cma", "--transport: unknown transport %q", t)
		}
	}
	switch {
	case f.runs < 1:
		return usagef("give 1 or more", "--runs: %d runs show nothing", f.runs)
	case f.cancels < 1:
		return usagef("give 1 or more", "--cancels: %d transfers show nothing", f.cancels)
	case f.timeout <= 0:
		return usagef(`see "kvxfer chaos --help"`, "--timeout: %v is no time to wait", f.timeout)
	}
	if f.seed == 0 {
		f.seed = uint64(time.Now().UnixNano())
	}
	return nil
}

// listFaults prints what each fault does.
func (a *app) listFaults(f *chaosFlags) error {
	if f.json {
		for _, fault := range chaos.Faults {
			if err := a.json(map[string]string{"event": "fault", "fault": string(fault.Fault), "does": fault.Does}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, fault := range chaos.Faults {
		fmt.Fprintf(a.stdout, "%-17s %s\n", fault.Fault, fault.Does)
	}
	fmt.Fprintln(a.stdout, "\nEach is done over tcp and over cma, the shared memory of UCX between processes, while\ndata moves in both directions, by WRITE and by READ.")
	return nil
}

// chaosEvent is one line of --json.
type chaosEvent struct {
	Event     string        `json:"event"` // chaos, run, summary
	Version   string        `json:"version,omitempty"`
	Seed      uint64        `json:"seed,omitempty"`
	Run       *chaos.Result `json:"run,omitempty"`
	Runs      int           `json:"runs,omitempty"`
	Transfers int           `json:"transfers,omitempty"`
	Checked   int64         `json:"checked,omitempty"`
	Retained  int           `json:"retained,omitempty"`
	Aborted   int           `json:"aborted,omitempty"`
	Steps     int           `json:"steps,omitempty"`    // of traces
	Messages  int           `json:"messages,omitempty"` // found in both traces
	Findings  int           `json:"findings"`
}

func (a *app) chaos(ctx context.Context, f *chaosFlags) error {
	lib, err := openLibrary(f.library)
	if err != nil {
		return libraryFailure(err)
	}
	config := chaos.Config{
		Library: lib.Path(), Full: f.full, Cancels: f.cancels, Traces: f.traces,
		Start: func(stderr io.Writer) (*proc.Child, error) {
			a.started.Store(true)
			return proc.Start(proc.Spec{Args: append(append([]string(nil), a.peer...), jobChaos), Stderr: stderr})
		},
	}
	if f.json {
		_ = a.json(chaosEvent{Event: "chaos", Version: lib.Version().String(), Seed: f.seed})
	} else {
		fmt.Fprintf(a.stdout, "NIXL %s, seed %d\n", lib.Version(), f.seed)
	}
	var results []*chaos.Result
	for n := range f.runs {
		for _, fault := range f.faults {
			for i, transport := range f.transports {
				seed := f.seed + uint64(n)
				r, err := a.chaosOnce(ctx, config, f.timeout, chaos.Spec{
					Fault: chaos.Fault(fault), Transport: transport, Nodes: 2 + int((seed+uint64(i))%2), Seed: seed,
				})
				if err != nil {
					return err
				}
				results = append(results, r)
				a.chaosRan(f, r)
			}
		}
	}
	return a.chaosEnded(f, results)
}

func (a *app) chaosOnce(ctx context.Context, config chaos.Config, timeout time.Duration, spec chaos.Spec) (*chaos.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done after %v (--timeout)", timeout))
	defer cancel()
	return chaos.Run(ctx, config, spec)
}

func (a *app) chaosRan(f *chaosFlags, r *chaos.Result) {
	if f.json {
		_ = a.json(chaosEvent{Event: "run", Run: r, Findings: len(r.Findings)})
		return
	}
	word := a.paint("ok", text.FgGreen)
	if len(r.Findings) > 0 {
		word = a.paint("BROKEN", text.FgRed, text.Bold)
	}
	cut := ""
	if n := r.Traces.Cut; n > 0 {
		cut = fmt.Sprintf(", %s without an end", plural(n, "trace"))
	}
	fmt.Fprintf(a.stdout, "%-6s %-17s %-4s %d processes, seed %d, %v%s\n", word, r.Fault, r.Transport, r.Nodes, r.Seed, round(r.Took), cut)
	for _, finding := range r.Findings {
		fmt.Fprintf(a.stdout, "       %s\n", finding)
	}
	if len(r.Findings) > 0 {
		fmt.Fprintf(a.stdout, "       the traces are in %s\n", r.Kept)
	}
}

// chaosEnded prints the table, and fails where a rule was broken.
func (a *app) chaosEnded(f *chaosFlags, results []*chaos.Result) error {
	sum := chaosEvent{Event: "summary", Seed: f.seed}
	t := a.newTable()
	t.AppendHeader(table.Row{"fault", "runs", "transfers", "bytes checked", "steps traced", "messages compared", "retained", "ended by UCX", "broken rules"})
	for _, fault := range f.faults {
		var row chaosEvent
		for _, r := range results {
			if string(r.Fault) == fault {
				row.Runs++
				row.Transfers += r.Transfers
				row.Checked += r.Checked
				row.Retained += len(r.Retained)
				row.Aborted += r.Aborted
				row.Findings += len(r.Findings)
				row.Steps += r.Traces.Steps
				row.Messages += r.Traces.Messages
			}
		}
		t.AppendRow(table.Row{fault, row.Runs, row.Transfers, hazard.Grouped(row.Checked), number(row.Steps), number(row.Messages), row.Retained, row.Aborted, row.Findings})
		sum.Runs, sum.Transfers, sum.Checked = sum.Runs+row.Runs, sum.Transfers+row.Transfers, sum.Checked+row.Checked
		sum.Steps, sum.Messages = sum.Steps+row.Steps, sum.Messages+row.Messages
		sum.Retained, sum.Aborted, sum.Findings = sum.Retained+row.Retained, sum.Aborted+row.Aborted, sum.Findings+row.Findings
	}
	if f.json {
		_ = a.json(sum)
	} else {
		t.AppendSeparator()
		t.AppendRow(table.Row{"all", sum.Runs, sum.Transfers, hazard.Grouped(sum.Checked), number(sum.Steps), number(sum.Messages), sum.Retained, sum.Aborted, sum.Findings})
		var columns []table.ColumnConfig
		for n := 2; n <= 9; n++ {
			columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight})
		}
		t.SetColumnConfigs(columns)
		t.Render()
	}
	if sum.Findings > 0 {
		return &failure{exit.Finding, fmt.Errorf("%d broken rules in %d runs", sum.Findings, sum.Runs),
			fmt.Sprintf("make them again with --seed %d --fault %s", f.seed, strings.Join(f.faults, ","))}
	}
	return nil
}
