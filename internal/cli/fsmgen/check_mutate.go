// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// mutateOne changes the system in every single way and lists what no property finds.
func mutateOne(ctx context.Context, cmd *cobra.Command, sys *load.System, options []check.Options, f *checkFlags) (bool, error) {
	out := cmd.OutOrStdout()
	if err := f.choosePart(cmd.ErrOrStderr(), sys.Name, options); err != nil {
		return false, err
	}
	r, err := check.Mutate(ctx, sys, mutateProgress(cmd, sys.Name), options...)
	if err != nil {
		return false, err
	}
	if f.format == "json" {
		return r.Survived() == 0, json.NewEncoder(out).Encode(mutationJSON(sys.Name, r))
	}
	replicas := fmt.Sprint(options[0].Replicas)
	if last := options[len(options)-1].Replicas; last != options[0].Replicas {
		replicas += fmt.Sprintf("..%d", last)
	}
	fmt.Fprintf(out, "%s: %s replicas: %d changes, %d found, %d change nothing that can be reached, %d survive, %d explained\n",
		sys.Name, replicas, len(r.Mutants), r.Killed(), r.Equivalent(), r.Survived(), r.Explained())
	for _, m := range r.Mutants {
		switch m.Fate {
		case check.Survived:
			fmt.Fprintf(out, "  %s:%d:%d: %s\n", m.File, m.Pos.Line, m.Pos.Col, m.What)
		case check.Unknown:
			fmt.Fprintf(out, "  %s:%d:%d: %s (not finished)\n", m.File, m.Pos.Line, m.Pos.Col, m.What)
		}
	}
	return r.Survived() == 0, nil
}

// choosePart has a part of the changes tried, by chance, and says how to have it again.
func (f *checkFlags) choosePart(w io.Writer, system string, options []check.Options) error {
	switch {
	case f.part < 1 || f.part > 100:
		return usageError("--part %d: expected a number from 1 to 100", f.part)
	case f.part == 100:
		return nil
	}
	if f.seed == 0 {
		f.seed = 1 + rand.Uint64N(1e9)
		fmt.Fprintf(w, "%d %% of the changes; --seed %d tries the same again\n", f.part, f.seed)
	}
	chance := rand.New(rand.NewPCG(f.seed, uint64(crc32.ChecksumIEEE([]byte(system)))))
	options[0].Pick = func(int) bool { return chance.IntN(100) < f.part }
	return nil
}

// mutateProgress writes one line that moves, if somebody is there to see it.
func mutateProgress(cmd *cobra.Command, system string) func(done, all int) {
	file, ok := cmd.ErrOrStderr().(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return func(done, all int) {
		fmt.Fprintf(file, "\r\x1b[K%s: change %d of %d", system, done+1, all)
		if done+1 == all {
			fmt.Fprint(file, "\r\x1b[K")
		}
	}
}

// mutationJSON is a mutation run in the form that --format json writes.
func mutationJSON(system string, r *check.Mutation) any {
	type mutant struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
		Change string `json:"change"`
		Fate   string `json:"fate"`
		By     string `json:"by,omitempty"`
	}
	mutants := []mutant{}
	for _, m := range r.Mutants {
		mutants = append(mutants, mutant{m.File, m.Pos.Line, m.Pos.Col, m.What, m.Fate.String(), m.By})
	}
	return struct {
		System  string   `json:"system"`
		Mutants []mutant `json:"mutants"`
	}{system, mutants}
}
