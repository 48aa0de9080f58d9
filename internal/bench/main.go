// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures owned transfers beside NIXL itself: a bare loop in C,
// the official Python API, and the owned path do the same work in turn, in one
// run. See docs/performance.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/transfer"
)

// Memory of each process, in bytes: all of it, and of each transfer where several
// are under way at a time.
const (
	arena     = 64 << 20
	slot      = 2 << 20
	maxWindow = 8
)

// work is one row.
type work struct {
	name      string
	op        string // WRITE or READ
	len       uint64 // of a block
	count     int    // blocks
	stride    uint64 // between their starts
	transfers int    // in one sample
	window    int    // how many at a time
}

func (w work) bytes() float64 { return float64(w.len) * float64(w.count) }

func (w work) blocks() []transfer.Block {
	out := make([]transfer.Block, w.count)
	for i := range out {
		out[i] = transfer.Block{Offset: uint64(i) * w.stride, Len: w.len}
	}
	return out
}

// shapes: of a KV cache every second block of 128, so that nothing merges.
var shapes = []work{
	{name: "KV 32×64×16 KiB", len: 16 << 10, count: 32 * 64, stride: 32 << 10, transfers: 4, window: 1},
	{name: "64 MiB", len: 64 << 20, count: 1, transfers: 3, window: 1},
	{name: "1 MiB", len: 1 << 20, count: 1, transfers: 60, window: 1},
	{name: "4 KiB", len: 4 << 10, count: 1, transfers: 300, window: 1},
	{name: "1 MiB, 8 at a time", len: 1 << 20, count: 1, transfers: 80, window: maxWindow},
	{name: "4 KiB, 8 at a time", len: 4 << 10, count: 1, transfers: 400, window: maxWindow},
}

// sample is what one contestant did in one turn.
type sample struct {
	took  []time.Duration // each transfer, from the post to its end
	whole []time.Duration // each transfer with what is around it
	wall  time.Duration   // all of them
	cpu   time.Duration   // of both processes
}

// contestant is a pair of processes.
type contestant interface {
	run(work) (sample, error)
	close()
}

var (
	rounds     = flag.Int("rounds", 20, "turns of each contestant on each row")
	transports = flag.String("transports", "tcp,cma", "comma-separated")
	budget     = flag.Duration("budget", 160*time.Second, "for one transport; fewer turns are made where they take longer")
	only       = flag.String("only", "", "rows whose name has this text")
	who        = flag.String("who", "", "contestants, separated by semicolons; empty: all that there are")
	idleTime   = flag.Duration("idle", 3*time.Second, "how long to watch idle processes")
	library    = flag.String("nixl", "", "path of NIXL")
	python     = flag.String("python", "", "folder of the official Python package")
)

func main() {
	if len(os.Args) > 3 && os.Args[1] == roleBare {
		if err := playBare(os.Args[2], os.Args[3]); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 4 && (os.Args[1] == roleInitiator || os.Args[1] == roleTarget) {
		if err := play(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure() error {
	lib, err := nixl.Open(nixl.Options{Library: *library, Folders: []string{".nixl"}})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kvxfer-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tools, err := prepare(dir, lib)
	if err != nil {
		return err
	}
	fmt.Printf("NIXL %v, %s, %d cores, %s, load %s\n\n", lib.Version(), runtime.Version(), runtime.NumCPU(), cpuModel(), load())
	for _, transport := range strings.Split(*transports, ",") {
		if err := tools.transport(transport); err != nil {
			return fmt.Errorf("%s: %w", transport, err)
		}
	}
	return nil
}

// compare runs all rows, the contestants in turn; each turn begins with another one.
func compare(transport string, all map[string]contestant) error {
	var names []string
	for _, n := range order {
		if all[n] != nil && (*who == "" || slices.Contains(strings.Split(*who, ";"), n)) {
			names = append(names, n)
		}
	}
	rows := works()
	if len(rows) == 0 {
		return fmt.Errorf("no row has %q in its name", *only)
	}
	results := make([]map[string][]sample, len(rows))
	began := time.Now()
	for round := -1; round < *rounds && time.Since(began) < *budget; round++ { // the first warms up
		for i, w := range rows {
			for k := range names {
				name := names[(k+max(round, 0))%len(names)]
				if w.window > 1 && alone[name] {
					continue
				}
				s, err := all[name].run(w)
				if err != nil {
					return fmt.Errorf("%s %s: %w", w.op, w.name, err)
				}
				if results[i] == nil {
					results[i] = map[string][]sample{}
				}
				if round >= 0 {
					results[i][name] = append(results[i][name], s)
				}
			}
		}
		fmt.Fprintf(os.Stderr, "\r%s: round %d of %d, %v ", transport, round+1, *rounds, time.Since(began).Round(time.Second))
	}
	fmt.Fprintln(os.Stderr)
	fmt.Printf("%s: %d turns of each\n\n", transport, len(results[0][names[0]]))
	table(os.Stdout, transport, rows, names, results)
	return nil
}

func works() (rows []work) {
	for _, op := range []string{"WRITE", "READ"} {
		for _, w := range shapes {
			if w.op = op; strings.Contains(op+" "+w.name, *only) {
				rows = append(rows, w)
			}
		}
	}
	return rows
}

// load is what the kernel says of the last minute: whether others disturb.
func load() string {
	b, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

// cpuModel is the processor as the kernel names it.
func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(name), ":"))
		}
	}
	return runtime.GOARCH
}
