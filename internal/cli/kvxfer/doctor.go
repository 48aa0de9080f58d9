// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/doctor"
	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/nixl"
)

type doctorFlags struct {
	library string
	json    bool
}

func (a *app) doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at what this machine offers, and say what to do about each problem",
		Long: `doctor tries everything that kvxfer may use on this machine: NIXL, each of its
plugins in a process of its own, UCX's transports, GPUs, memory limits, huge
pages, what the kernel lets processes do, and etcd. It says what will be used,
why the rest cannot be, and what to do about it. It changes nothing.

It ends with 0 where nothing is wrong, with 1 where something should be done,
and with 3 where there is no NIXL that works.`,
		Example: `  kvxfer doctor
  kvxfer doctor --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), &f) },
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	addLibraryFlag(cmd, &f.library)
	return cmd
}

func (a *app) doctor(ctx context.Context, f *doctorFlags) error {
	r := doctor.Examine(ctx, a.doctorConfig(f.library))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.json {
		if err := a.json(r); err != nil {
			return err
		}
	} else {
		a.printDoctor(r)
	}
	return judgeDoctor(r)
}

func (a *app) doctorConfig(library string) doctor.Config {
	return doctor.Config{
		Open: func() (*nixl.Library, error) { return openLibrary(library) },
		Start: func(stderr io.Writer) (*proc.Child, error) {
			return proc.Start(proc.Spec{Args: append(append([]string(nil), a.peer...), jobDoctor), Stderr: stderr})
		},
		Get: getNIXL,
	}
}

// judgeDoctor turns what was found into an exit code.
func judgeDoctor(r *doctor.Report) error {
	switch n := r.Problems(); {
	case !r.Usable:
		return &failure{exit.Env, errors.New("no NIXL that works"), getNIXL}
	case n == 1:
		return &failure{exit.Finding, errors.New("1 problem"), "see the table"}
	case n > 1:
		return &failure{exit.Finding, fmt.Errorf("%d problems", n), "see the table"}
	}
	return nil
}

// levels are how a level looks.
var levels = map[doctor.Level]struct {
	mark  string
	color text.Color
}{
	doctor.OK:      {"ok", text.FgGreen},
	doctor.Note:    {"-", text.Faint},
	doctor.Problem: {"PROBLEM", text.FgRed},
}

func (a *app) printDoctor(r *doctor.Report) {
	t := a.newTable()
	t.AppendHeader(table.Row{"part", "what", "", "found"})
	part := ""
	for _, f := range r.Findings {
		name := ""
		if f.Part != part {
			if part != "" {
				t.AppendSeparator()
			}
			name, part = f.Part, f.Part
		}
		said := f.Text
		if f.Do != "" {
			said += "\n→ " + f.Do
		}
		l := levels[f.Level]
		t.AppendRow(table.Row{name, f.Name, a.paint(l.mark, l.color), said})
	}
	t.Render()
}
