// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Command mutate shows that the tests can fail: it changes a package in one place at a
// time and runs the tests that come to that place. A change that no test notices is a
// test that is missing, unless equivalent.txt says why none can notice it.
//
// All changes of a package are compiled once, each behind a switch that the environment
// turns on, so that a mutant costs only the tests it runs. See docs/mutation.md.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

type options struct {
	pkg, suites, state string
	only               string
	shard              string
	parallel           int
	seed               uint64
	cpu, most          time.Duration
	least              float64
	list, verbose      bool
}

func main() {
	var o options
	flag.StringVar(&o.pkg, "pkg", "ownership", "the `package` to change, from the root of the module")
	flag.StringVar(&o.suites, "suites", "", "`packages` whose tests judge, the cheapest first (default: the changed one alone)")
	flag.StringVar(&o.state, "state", "bin/_mutate", "`folder` for what is built and for the verdicts, where a run that was stopped goes on")
	flag.StringVar(&o.only, "only", "", "only mutants whose file, function or change has this `text`")
	flag.StringVar(&o.shard, "shard", "1/1", "`i/n`: the i-th part of n")
	flag.IntVar(&o.parallel, "j", runtime.GOMAXPROCS(0), "mutants at a `time`")
	flag.Uint64Var(&o.seed, "seed", 0, "`number` that chooses the order of -cpu (default: by chance)")
	flag.DurationVar(&o.cpu, "cpu", 0, "stop after this much processor `time` of tests, mutants in random order and nothing kept")
	flag.DurationVar(&o.most, "most", time.Hour, "leave out tests that cost more processor `time`")
	flag.Float64Var(&o.least, "least", 95, "`percent` of the mutants that must be killed, equivalent ones apart")
	flag.BoolVar(&o.list, "list", false, "list the mutants and stop")
	flag.BoolVar(&o.verbose, "v", false, "a line for each verdict")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	src, err := load(o.pkg)
	if err != nil {
		return err
	}
	folder := filepath.Join(o.state, strings.ReplaceAll(o.pkg, "/", "-"))
	if folder, err = filepath.Abs(folder); err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err != nil {
		return err
	}
	mutants, overlay, err := src.mutate(folder)
	if err != nil {
		return err
	}
	equivalent, err := parseEquivalent(equivalentText)
	if err != nil {
		return err
	}
	if err := stale(equivalent, mutants, o.pkg); err != nil {
		return err
	}
	chosen, err := o.choose(mutants)
	if err != nil {
		return err
	}
	if o.list {
		for _, m := range chosen {
			fmt.Printf("%d\t%s\n", m.Line, m.key())
		}
		return nil
	}
	functions, err := src.hashes()
	if err != nil {
		return err
	}
	name := filepath.Join(folder, "verdicts-"+strings.ReplaceAll(o.shard, "/", "-of-")+".jsonl")
	if o.cpu > 0 {
		name = filepath.Join(folder, "sample.jsonl")
		functions = nil
	}
	rec, err := openRecord(name, functions)
	if err != nil {
		return err
	}
	defer rec.file.Close()
	todo := chosen
	if o.cpu > 0 {
		if o.seed == 0 {
			o.seed = rand.Uint64N(1e9) + 1
		}
		fmt.Printf("mutate: %s in random order, again with -seed %d\n", o.pkg, o.seed)
		rand.New(rand.NewPCG(o.seed, 0)).Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	}
	names := strings.Split(o.suites, ",")
	if o.suites == "" {
		names = []string{o.pkg}
	}
	tests, err := o.measure(names, overlay, folder, len(mutants))
	if err != nil {
		return err
	}
	if err := o.judge(ctx, tests, todo, rec); err != nil {
		return err
	}
	return report(o, chosen, rec, equivalent)
}

// choose picks the mutants of the shard that -only names.
func (o *options) choose(all []*mutant) ([]*mutant, error) {
	var i, n int
	if _, err := fmt.Sscanf(o.shard, "%d/%d", &i, &n); err != nil || i < 1 || i > n {
		return nil, fmt.Errorf("mutate: -shard %s is not i/n with i from 1 to n", o.shard)
	}
	var chosen []*mutant
	for _, m := range all {
		if m.ID%n == i-1 && strings.Contains(m.key(), o.only) {
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}

// measure builds the suites and returns their tests, the cheapest first.
func (o *options) measure(names []string, overlay, folder string, mutants int) ([]test, error) {
	var all []test
	for _, name := range names {
		s, err := build(name, overlay, folder)
		if err != nil {
			return nil, err
		}
		tests, err := s.measure(mutants, o.parallel)
		if err != nil {
			return nil, err
		}
		var cpu time.Duration
		for _, t := range tests {
			cpu += t.cpu
		}
		fmt.Fprintf(os.Stderr, "mutate: %s: %d tests, %v of processor time\n", name, len(tests), cpu.Round(10*time.Millisecond))
		all = append(all, tests...)
	}
	slices.SortFunc(all, func(a, b test) int { return cmp.Compare(a.cpu, b.cpu) })
	if o.verbose {
		for _, t := range all {
			fmt.Printf("%v\t%s %s\n", t.cpu, t.dir, t.name)
		}
	}
	return slices.DeleteFunc(all, func(t test) bool { return t.cpu > o.most }), nil
}

// judge runs the tests on the mutants that are not killed yet.
func (o *options) judge(ctx context.Context, tests []test, todo []*mutant, rec *record) error {
	begin := time.Now()
	todo = slices.DeleteFunc(slices.Clone(todo), func(m *mutant) bool { return rec.done[m.key()].Killed })
	var done counter
	var cpu atomic.Int64
	var failed atomic.Pointer[error]
	each(len(todo), o.parallel, func(i int) {
		m := todo[i]
		if ctx.Err() != nil || failed.Load() != nil || o.cpu > 0 && cpu.Load() > int64(o.cpu) {
			return
		}
		v := judge(ctx, tests, m.ID)
		if ctx.Err() != nil {
			return // it was stopped, not judged
		}
		cpu.Add(int64(v.CPU))
		if err := rec.add(m, v); err != nil {
			failed.Store(&err)
		}
		if o.verbose {
			fmt.Printf("%v\t%s\t%v\t%s\n", v.Killed, v.By, v.CPU.Round(time.Millisecond), m.key())
		}
		if n := done.next(); n%100 == 0 || n == len(todo) {
			fmt.Fprintf(os.Stderr, "mutate: %d of %d, %v\n", n, len(todo), time.Since(begin).Round(time.Second))
		}
	})
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
