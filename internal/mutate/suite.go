// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// suite is a test binary with all mutants of a package in it.
type suite struct {
	dir    string // of its package
	binary string
}

// test is one test, example or seed corpus, with what it costs and which mutants it
// comes to.
type test struct {
	*suite
	name  string
	cpu   time.Duration
	wall  time.Duration
	reach []byte
}

// limits of a run: a mutant that loops or allocates for ever must end, and one on a slow
// machine must not.
const (
	cpuFactor, cpuLeast   = 10, 2 * time.Second
	wallFactor, wallLeast = 10, 20 * time.Second
	dataLimit             = 3 << 30
)

// build compiles the tests of a package with the overlay.
func build(dir, overlay, folder string) (*suite, error) {
	s := &suite{dir: dir, binary: filepath.Join(folder, strings.ReplaceAll(dir, "/", "-")+".test")}
	_, err := goTool("test", "-c", "-vet=off", "-overlay", overlay, "-o", s.binary, "./"+dir)
	return s, err
}

// measure runs each test alone, with no mutant alive.
func (s *suite) measure(mutants, parallel int) ([]test, error) {
	out, err := s.run(context.Background(), nil, "-test.list", ".")
	if err != nil {
		return nil, fmt.Errorf("mutate: %s: the tests cannot be listed: %w\n%s", s.dir, err, out.text)
	}
	names := regexp.MustCompile(`(?m)^(Test|Example|Fuzz)\w*$`).FindAllString(out.text, -1)
	tests, fails := make([]test, len(names)), make([]error, len(names))
	each(len(names), parallel, func(i int) { tests[i], fails[i] = s.one(names[i], mutants) })
	return tests, errors.Join(fails...)
}

func (s *suite) one(name string, mutants int) (test, error) {
	f, err := os.CreateTemp(filepath.Dir(s.binary), "reach")
	if err != nil {
		return test{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := f.Truncate(int64(mutants) + 1); err != nil {
		return test{}, err
	}
	begin := time.Now()
	out, err := s.run(context.Background(), []string{"MUTANT_REACH=" + f.Name()}, "-test.short", "-test.run", "^"+name+"$")
	if err != nil {
		return test{}, fmt.Errorf("mutate: %s: %s fails with no mutant alive: %w\n%s", s.dir, name, err, out.text)
	}
	reach, err := os.ReadFile(f.Name())
	return test{s, name, out.cpu, time.Since(begin), reach}, err
}

// result of a test binary's run.
type result struct {
	text string
	cpu  time.Duration
}

func (s *suite) run(ctx context.Context, env []string, args ...string) (result, error) {
	cmd := exec.CommandContext(ctx, s.binary, args...)
	// What fails for a mutant is no failure to keep for the next run.
	cmd.Dir, cmd.Env = s.dir, append(append(os.Environ(), "RAPID_NOFAILFILE=true"), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return result{string(out), 0}, err
	}
	return result{string(out), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, err
}

// verdict on a mutant.
type verdict struct {
	Killed  bool          `json:"killed"`
	By      string        `json:"by,omitempty"` // suite and test, or the limit that it hit
	Reached int           `json:"reached"`      // tests that come to it
	CPU     time.Duration `json:"cpu"`
}

// judge runs the tests that come to the mutant, in groups of growing cost, until one fails.
// They are sorted by cost.
func judge(ctx context.Context, tests []test, id int) verdict {
	tests = slices.DeleteFunc(slices.Clone(tests), func(t test) bool { return t.reach[id] == 0 })
	v := verdict{Reached: len(tests)}
	for limit := 20 * time.Millisecond; len(tests) > 0; limit *= 5 {
		n, cpu := 1, tests[0].cpu
		for ; n < len(tests) && cpu+tests[n].cpu < limit; n++ {
			cpu += tests[n].cpu
		}
		group := map[*suite][]test{}
		for _, t := range tests[:n] {
			group[t.suite] = append(group[t.suite], t)
		}
		for s, g := range group {
			if s.group(ctx, g, id, &v); v.Killed || ctx.Err() != nil {
				return v
			}
		}
		tests = tests[n:]
	}
	return v
}

// group runs some tests of one binary.
func (s *suite) group(ctx context.Context, tests []test, id int, v *verdict) {
	cpu, wall, names := cpuLeast, wallLeast, make([]string, len(tests))
	for i, t := range tests {
		cpu, wall, names[i] = cpu+cpuFactor*t.cpu, wall+wallFactor*t.wall, t.name
	}
	ctx, cancel := context.WithTimeout(ctx, wall)
	defer cancel()
	out, err := s.run(ctx, []string{
		fmt.Sprint("MUTANT=", id), fmt.Sprint("MUTANT_DATA=", dataLimit), fmt.Sprint("MUTANT_CPU=", int(cpu.Seconds())),
	}, "-test.short", "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	v.CPU += out.cpu
	if err != nil {
		v.Killed, v.By = true, s.dir+" "+cause(ctx, out.text, err)
	}
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

func cause(ctx context.Context, text string, err error) string {
	if m := failed.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "time"
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return "processor time"
	case strings.Contains(text, "out of memory"), strings.Contains(text, "cannot allocate memory"):
		return "memory"
	}
	return "crash"
}

// each calls do for 0 to n-1, some at a time.
func each(n, parallel int, do func(i int)) {
	var all sync.WaitGroup
	var at counter
	for range parallel {
		all.Go(func() {
			for i := at.next() - 1; i < n; i = at.next() - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}
