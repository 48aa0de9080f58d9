// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Command coverage says which cells of the spec the tests exercise: it runs the
// quick suites on generated code that notes what it is asked, draws a heat map, and
// fails where a cell of a machine, a combination of a table's inputs, an action or guard
// of a system, or an invariant that a registry can break is never met. See "make coverage".
//
// Nothing of it is in the product: the noting code exists in an overlay of the build
// (go test -overlay) for the time of the run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// suites are the packages whose tests are the quick suite, each a column of the report.
var suites = []string{"spec", "fsm/codegen", "fsm/interpret", "ownership", "scenario", "proptest", "transfer", "fence", "cluster", "trace"}

func main() {
	out := flag.String("out", "bin/coverage", "`folder` for the report")
	only := flag.String("suites", strings.Join(suites, ","), "`packages` whose tests are run")
	count := flag.Bool("statements", true, "count the statements of the core too, which takes another run of each suite")
	flag.Parse()
	if err := run(*out, strings.Split(*only, ","), *count); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func run(out string, packages []string, count bool) error {
	set, err := load.Dir("spec")
	if err != nil {
		return err
	}
	// In the same folder each time: the go command then finds what it built before.
	work, err := filepath.Abs(filepath.Join(out, "_work")) // no package of ./...
	if err := errors.Join(err, os.RemoveAll(work), os.MkdirAll(work, 0o755)); err != nil {
		return err
	}
	guards, err := instrument(set, work)
	if err != nil {
		return err
	}
	r := newReport(set, guards)
	for _, p := range packages {
		fmt.Fprintf(os.Stderr, "coverage: %s\n", p)
		met, err := meet(work, p)
		if err != nil {
			return err
		}
		statements := "-"
		if count {
			if statements, err = measure(p); err != nil {
				return err
			}
		}
		r.add(p, met, statements)
	}
	page := filepath.Join(out, "index.html")
	if err := os.WriteFile(page, r.html(), 0o644); err != nil {
		return err
	}
	fmt.Print(r.text())
	fmt.Printf("report      %s\n", page)
	if missing := r.missing(); len(missing) > 0 {
		return fmt.Errorf("%d cells, combinations, guards and invariants are never met:\n  %s", len(missing), strings.Join(missing, "\n  "))
	}
	return nil
}

// core are the packages whose statements are counted.
const core = "./ownership,./transfer,./trace,./backend/loop"

// meet runs the tests of a package on the code that notes, and returns what they met.
func meet(work, pkg string) (map[string]bool, error) {
	notes := filepath.Join(work, "notes", strings.ReplaceAll(pkg, "/", "-"))
	if err := os.MkdirAll(notes, 0o755); err != nil {
		return nil, err
	}
	if _, err := test(pkg, []string{"KVXFER_COVERAGE=" + notes}, "-overlay", filepath.Join(work, "overlay.json")); err != nil {
		return nil, err
	}
	return readNotes(notes)
}

// measure runs them once more, as the go command counts statements without looking at
// an overlay, and returns the share of the core's statements that they ran.
func measure(pkg string) (string, error) {
	text, err := test(pkg, nil, "-coverpkg", core)
	if err != nil {
		return "", err
	}
	_, after, _ := strings.Cut(text, "coverage: ")
	if share, _, _ := strings.Cut(after, " "); strings.HasSuffix(share, "%") {
		return share, nil
	}
	return "none", nil
}

func test(pkg string, env []string, flags ...string) (string, error) {
	args := append([]string{"test", "-count=1", "-timeout", "9m"}, flags...)
	if args = append(args, "./"+pkg); pkg == "proptest" {
		args = append(args, "-rapid.seed=1") // what is met by chance is met again
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", pkg, err, text)
	}
	return string(text), nil
}

func readNotes(folder string) (map[string]bool, error) {
	met := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			met[strings.TrimSpace(line)] = true
		}
	}
	return met, nil
}
