// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
)

// Report is what a run of a file did.
type Report struct {
	File  *File
	Steps []StepReport
	// Final is the registry after the last step that ran.
	Final ownership.Snapshot
}

// StepReport is what one step did.
type StepReport struct {
	Step    *Step
	At      time.Duration // virtual time after the step
	Effects ownership.Effects
	// Err is the step's error, expected or not; nil if it succeeded.
	Err error
	// Failures says in words what was not as the file says, or which invariant
	// was broken; empty if the step passed.
	Failures []Failure
}

// Failure is one thing that was not as the file says.
type Failure struct {
	Pos  Pos // of the expectation, else of the step
	Text string
}

// Failed reports whether any step failed.
func (r *Report) Failed() bool {
	for i := range r.Steps {
		if len(r.Steps[i].Failures) > 0 {
			return true
		}
	}
	return false
}

// Err returns nil for a run that passed, else all failures with their places.
func (r *Report) Err() error {
	var all []error
	for _, s := range r.Steps {
		for _, f := range s.Failures {
			all = append(all, Problem{File: r.File.Path, Pos: f.Pos, Text: strings.TrimSpace(s.Step.Kind+" "+s.Step.Text) + ": " + f.Text})
		}
	}
	return errors.Join(all...)
}

// errContain is what the containment callback of a file with containment: fails returns.
var errContain = errors.New("scenario: containment fails, as the file asks")

// Run runs a file against a new registry on a virtual clock that starts at 0.
// It goes on after a failure, except after a broken invariant.
func Run(f *File) (*Report, error) { return Trace(f, nil) }

// Trace is Run, and calls trace with every call of the registry; see ownership.Config.
func Trace(f *File, trace func(ownership.Step)) (*Report, error) {
	r, err := newRunner(f, trace)
	if err != nil {
		return nil, err
	}
	report := &Report{File: f}
	for i := range f.Steps {
		s := r.run(&f.Steps[i])
		report.Steps = append(report.Steps, s)
		if r.broken {
			break
		}
	}
	report.Final = r.reg.Snapshot()
	return report, nil
}

// runner is one run.
type runner struct {
	file    *File
	reg     *ownership.Registry
	now     time.Duration
	names   *names
	memory  memory
	checker ownership.Checker
	broken  bool
	calls   map[callStep]bool // open ones
	last    map[string]uint64 // of each peer, the number of its last delivered message

	step      *StepReport
	pos       Pos                     // of what is judged
	cancelled *ownership.CancelResult // of the step, if it is a cancel
}

func newRunner(f *File, trace func(ownership.Step)) (*runner, error) {
	r := &runner{file: f, names: newNames(), calls: make(map[callStep]bool), last: make(map[string]uint64)}
	r.memory.init()
	c := f.Config
	reg, err := ownership.New(ownership.Config{
		Name: "self", Incarnation: r.names.own, RequestTimeout: max(c.RequestTimeout, 0), Grace: max(c.Grace, 0),
		Quarantine: c.Quarantine, Owners: c.Owners, Sessions: c.Sessions, Tombstones: c.Tombstones, Outbox: c.Outbox, Trace: trace,
		PeerTombstones: cmp.Or(c.PeerTombstones, c.Tombstones), PeerOutbox: cmp.Or(c.PeerOutbox, c.Outbox),
		Contain: func(ownership.Containment) error {
			if c.ContainFails {
				return errContain
			}
			return nil
		},
	})
	r.reg = reg
	return r, err
}

// run runs one step and judges it.
func (r *runner) run(s *Step) StepReport {
	r.step, r.pos, r.cancelled = &StepReport{Step: s}, s.Pos, nil
	err := r.act(s.act)
	r.step.Err = err
	if got := ownership.KindOf(err); got != s.Error || err != nil && got == 0 {
		r.fail("error is %s, want %s", errorText(err), kindText(s.Error))
	}
	if !r.file.Config.Manual {
		r.deliverAll()
	}
	for i := range s.Expect {
		r.pos = s.Expect[i].Pos
		r.judge(&s.Expect[i])
	}
	r.step.At = r.now
	return *r.step
}

func (r *runner) fail(format string, args ...any) {
	r.step.Failures = append(r.step.Failures, Failure{r.pos, fmt.Sprintf(format, args...)})
}

func errorText(err error) string {
	if err == nil {
		return "none"
	}
	return err.Error()
}

func kindText(k ownership.Kind) string {
	if k == 0 {
		return "none"
	}
	return k.String()
}

// saw takes in what one call of the registry did, and checks the invariants.
func (r *runner) saw(effects ownership.Effects, err error, timeOnly bool) error {
	after := r.reg.Snapshot()
	r.memory.take(after, effects)
	r.step.Effects = append(r.step.Effects, effects...)
	if bad := r.checker.Step(after, effects, err, timeOnly); bad != nil {
		r.broken = true
		r.fail("%v", bad)
	}
	return err
}

// deliverAll lets every message leave, peer by peer.
func (r *runner) deliverAll() (any bool) {
	for _, to := range r.reg.WaitingFor() {
		for r.deliver(string(to)) {
			any = true
		}
	}
	return any
}

// deliver takes the oldest message for a peer out and checks its order (I13).
func (r *runner) deliver(to string) bool {
	out, ok := r.reg.Peek(ownership.Accessor(to))
	if !ok {
		return false
	}
	if out.Number <= r.last[to] {
		r.broken = true
		r.fail("invariant I13: message %d to %s after %d", out.Number, to, r.last[to])
	}
	r.last[to] = out.Number
	return r.reg.Delivered(out.To.Accessor, out.Number)
}
