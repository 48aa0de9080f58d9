// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/explain"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/admin"
)

type fenceFlags struct {
	addr, by string
	checked  []string // FACT=TEXT
	json     bool
	target   admin.Target
}

func (a *app) fenceCommand() *cobra.Command {
	var f fenceFlags
	cmd := &cobra.Command{
		Use:   "fence ACCESSOR",
		Short: "State that an accessor can no longer reach memory, and what was checked",
		Long: `fence frees memory that a running endpoint keeps for an accessor, on your word
that the accessor can no longer reach it. It shows what is kept, says what has to
be checked for that on the endpoint's transport, and asks how each thing was:

  process  the process that held the mapping has ended, or its machine is off
  context  its device context is destroyed, with all work in it
  region   the transport reaches the memory no more: the NIC's memory region is
           invalid, and no socket holds bytes for it

Your name and your words are logged, and "kvxfer explain" shows them. A wrong
statement lets memory be reused while somebody writes into it.

What does not cover all that is asked is refused, and so is what the endpoint
knows to be wrong: that a process is gone which lives. From a script give
everything by flags: --by and, for each thing, --checked THING=HOW.

The scope is own: operations that the endpoint posted towards the accessor, or
its own copies if the accessor is "local"; passive: memory that the accessor
reaches by itself; or all.

Exit codes: 0 fenced, 5 not proven, 1 the endpoint does not know the accessor,
2 the statement is not complete, 3 nobody answers, 4 FATAL: it would free nothing.`,
		Example: `  kvxfer fence prefill-0 --addr unix:/run/decode-0.sock --scope passive
  kvxfer fence prefill-0 --addr unix:/run/decode-0.sock --scope passive --by ops@example.org --checked process="node 17 is off" --checked context="node 17 is off" --checked region="its port is down"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return usagef(`"kvxfer explain" names those that hold memory`, "%d accessors are named, want 1", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notEmpty(cmd, "by", "incarnation"); err != nil {
				return err
			}
			f.target.Accessor = args[0]
			return a.fence(cmd.Context(), &f)
		},
	}
	cmd.Flags().StringVar(&f.addr, "addr", "", "`address` of the endpoint: unix:PATH")
	cmd.Flags().StringVar(&f.target.Scope, "scope", "", "what it can no longer reach: `own`, passive or all")
	cmd.Flags().StringVar(&f.target.Incarnation, "incarnation", "", "the one `life` of the accessor that is meant; all of them if left out")
	cmd.Flags().StringVar(&f.by, "by", "", "your `name`, to be asked later")
	cmd.Flags().StringArrayVar(&f.checked, "checked", nil, "`thing=how` it was checked; once for each thing")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the answer as one JSON object")
	return cmd
}

// order checks the flags.
func (f *fenceFlags) order() (admin.FenceOrder, error) {
	order := admin.FenceOrder{Target: f.target, By: f.by, Checked: map[string]string{}}
	switch {
	case f.addr == "":
		return order, usagef("give unix:PATH", "--addr is missing")
	case f.target.Scope == "":
		return order, usagef("give own, passive or all", "--scope is missing")
	}
	for _, text := range f.checked {
		name, how, _ := strings.Cut(text, "=")
		fact, err := fence.ParseFact(name)
		switch {
		case err != nil:
			return order, usagef("give process, context or region, and = and how it was checked", "--checked: %q", text)
		case strings.TrimSpace(how) == "":
			return order, usagef("say what was looked at, and what was seen", "--checked %v: does not say how it was checked", fact)
		}
		order.Checked[name] = how
	}
	return order, nil
}

func (a *app) fence(ctx context.Context, f *fenceFlags) error {
	order, err := f.order()
	if err != nil {
		return err
	}
	client, err := admin.NewClient(f.addr)
	if err != nil {
		return adminFailure("--addr", err)
	}
	demand, held, err := survey(ctx, client, f.target)
	if err != nil {
		return err
	}
	if !f.json {
		a.printHeld(held, f.target, &demand)
	}
	if err := a.complete(ctx, &order, &demand); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	done, err := client.Fence(ctx, order)
	switch {
	case err != nil:
		return fenceFailure(err)
	case f.json:
		return a.json(done)
	}
	fmt.Fprintf(a.stdout, "fenced %s, scope %s: %s freed; on record: %s\n", done.Accessor, done.Scope, plural(done.Freed, "claim"), done.Evidence)
	for _, r := range done.Retained {
		fmt.Fprintf(a.stdout, "still held  %s\n", r)
	}
	return nil
}

// survey asks what a fence demands, and what is held of the accessor.
func survey(ctx context.Context, client *admin.Client, t admin.Target) (admin.Demand, *explain.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	r, err := client.Explain(ctx)
	switch {
	case err != nil:
		return admin.Demand{}, nil, adminFailure("--addr", err)
	case r.Fatal != nil:
		return admin.Demand{}, nil, &failure{exit.Fatal, fmt.Errorf("FATAL: %s: a fence frees nothing any more", r.Fatal.Text), "end or isolate the process"}
	}
	demand, err := client.FenceDemand(ctx, t)
	if err != nil {
		return demand, nil, fenceFailure(err)
	}
	return demand, heldBy(r, t), nil
}

// heldBy keeps of a report what one accessor holds.
func heldBy(r *explain.Report, t admin.Target) *explain.Report {
	held := *r
	held.Regions = nil
	for _, g := range r.Regions {
		owners := g.Owners
		g.Owners = nil
		for _, o := range owners {
			o.Reasons = slices.DeleteFunc(slices.Clone(o.Reasons), func(r explain.Reason) bool {
				return r.Accessor != t.Accessor || t.Incarnation != "" && r.Incarnation != t.Incarnation
			})
			if len(o.Reasons) > 0 {
				g.Owners = append(g.Owners, o)
			}
		}
		if len(g.Owners) > 0 {
			held.Regions = append(held.Regions, g)
		}
	}
	return &held
}

func (a *app) printHeld(held *explain.Report, t admin.Target, d *admin.Demand) {
	if len(held.Regions) == 0 {
		fmt.Fprintf(a.stdout, "%s holds nothing of %s\n", t.Accessor, held.Endpoint)
	}
	a.reportTable(held)
	for _, f := range held.Fences {
		if f.Accessor == t.Accessor {
			fmt.Fprintf(a.stdout, "fenced      %s\n", f.Text)
		}
	}
	fmt.Fprintf(a.stdout, "transport   %s: a fence of scope %s takes\n", d.Transport, t.Scope)
	for _, f := range d.Facts {
		fmt.Fprintf(a.stdout, "  %-9s %s\n", f.Name, f.Meaning)
	}
}

// fenceFailure gives an endpoint's refusal its exit code.
func fenceFailure(err error) error {
	switch {
	case errors.Is(err, fence.ErrNotProven), errors.Is(err, fence.ErrEvidence):
		return &failure{exit.Retained, err, ""}
	case errors.Is(err, transfer.ErrNoPeer):
		return &failure{exit.Finding, err, `"kvxfer explain" names those that hold memory`}
	case errors.Is(err, transfer.ErrConfig):
		return usagef(`see "kvxfer fence --help"`, "%w", err)
	case errors.Is(err, ownership.ErrFatal):
		return &failure{exit.Fatal, err, "end or isolate the process"}
	}
	return adminFailure("--addr", err)
}
