// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
)

// tally counts the mutants of one file.
type tally struct{ all, killed, equivalent, survived, unjudged int }

func (t *tally) score() float64 {
	if n := t.all - t.equivalent - t.unjudged; n > 0 {
		return 100 * float64(t.killed) / float64(n)
	}
	return 100
}

// report prints the survivors and the table, and returns an error where too few are killed.
func report(o options, chosen []*mutant, rec *record, equivalent map[string]string) error {
	files, total := map[string]*tally{}, &tally{}
	for _, m := range chosen {
		t := files[m.File]
		if t == nil {
			t = &tally{}
			files[m.File] = t
		}
		v, judged := rec.done[m.key()]
		listed := equivalent[m.key()] != ""
		for _, t := range []*tally{t, total} {
			t.all++
			switch {
			case !judged:
				t.unjudged++
			case v.Killed:
				t.killed++
			case listed:
				t.equivalent++
			default:
				t.survived++
			}
		}
		switch {
		case judged && !v.Killed && !listed:
			fmt.Printf("survives: %s:%d (%d tests come to it)\n\t%s\n", m.File, m.Line, v.Reached, m.key())
		case v.Killed && listed:
			fmt.Printf("killed by %s, though equivalent.txt says that nothing can tell it:\n\t%s\n", v.By, m.key())
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "file\tmutants\tkilled\tequivalent\tsurvived\tnot judged\tscore\t")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		files[name].row(w, name)
	}
	total.row(w, o.pkg)
	w.Flush()
	if total.score() < o.least {
		return fmt.Errorf("mutate: %s: %.1f %% are killed, fewer than %v %%: write tests for those that survive, or say in equivalent.txt why none can tell them", o.pkg, total.score(), o.least)
	}
	return nil
}

func (t *tally) row(w *tabwriter.Writer, name string) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f %%\t\n", name, t.all, t.killed, t.equivalent, t.survived, t.unjudged, t.score())
}

// stale finds what the list knows and the package has no more.
func stale(equivalent map[string]string, mutants []*mutant, pkg string) error {
	there := map[string]bool{}
	for _, m := range mutants {
		there[m.key()] = true
	}
	var gone []string
	for key := range equivalent {
		file, _, _ := strings.Cut(key, " ")
		if path.Dir(file) == pkg && !there[key] {
			gone = append(gone, key)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		return fmt.Errorf("mutate: equivalent.txt lists mutants that are no more:\n\t%s", strings.Join(gone, "\n\t"))
	}
	return nil
}
