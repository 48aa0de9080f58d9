// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// Fate is what became of a mutant. The zero value is no fate.
type Fate uint8

// The fates of mutants.
const (
	_          Fate = iota
	Killed          // a property finds it
	Equivalent      // every reachable state and step is as before
	Survived        // nobody notices: a property is missing
	Explained       // it survives, and the spec says why it may
	Unknown         // its exploration did not finish
)

// String returns the fate in words.
func (f Fate) String() string {
	switch f {
	case Killed:
		return "found"
	case Equivalent:
		return "changes nothing"
	case Survived:
		return "survives"
	case Explained:
		return "explained"
	case Unknown:
		return "not finished"
	}
	return "no fate"
}

// Mutant is a system with one thing changed.
type Mutant struct {
	What string   // what was changed, in one line
	File string   // of the spec
	Pos  load.Pos // of the action, reaction, procedure or cell
	Fate Fate
	By   string // the first property that finds it
}

// Mutation is what a mutation run found.
type Mutation struct {
	Mutants []Mutant
}

func (m *Mutation) count(f Fate) int {
	n := 0
	for _, mu := range m.Mutants {
		if mu.Fate == f {
			n++
		}
	}
	return n
}

// Killed is the number of mutants that a property finds.
func (m *Mutation) Killed() int { return m.count(Killed) }

// Equivalent is the number of mutants that do what the system does.
func (m *Mutation) Equivalent() int { return m.count(Equivalent) }

// Survived is the number of mutants that nobody notices, unfinished ones included.
func (m *Mutation) Survived() int { return m.count(Survived) + m.count(Unknown) }

// Explained is the number of mutants that the spec lets live, with a reason.
func (m *Mutation) Explained() int { return m.count(Explained) }

// Mutate checks every system that differs from sys in one guard, refusal,
// statement, reaction or cell of a machine, once for each of the options, until a
// property finds it. The assumptions about the outside world are left as they are. sys
// itself has to be as its spec says; it is changed while Mutate runs, and as before
// when it returns. A mutant that has far more states than sys is not finished, unless
// an option bounds them otherwise. progress, unless nil, is called before each mutant.
func Mutate(ctx context.Context, sys *load.System, progress func(done, all int), options ...Options) (*Mutation, error) {
	var bases []*Result
	for i := range options {
		o := &options[i]
		o.Progress, o.print = nil, true
		base, err := System(ctx, sys, *o)
		if err != nil {
			return nil, err
		}
		if !base.OK() {
			return nil, &ArgumentError{sys.Name, "mutation needs a system whose properties are as the spec says"}
		}
		if o.MaxStates == 0 {
			o.MaxStates = 1<<16 + 16*base.States
		}
		bases = append(bases, base)
	}
	out := &Mutation{}
	all := mutations(sys)
	for i, mu := range all {
		if progress != nil {
			progress(i, len(all))
		}
		if len(options) > 0 && options[0].Pick != nil && !options[0].Pick(i) {
			continue
		}
		m := Mutant{What: mu.what, File: cmp.Or(mu.file, sys.Source.File), Pos: mu.pos}
		undo := mu.apply()
		err := m.meet(ctx, sys, bases, options)
		undo()
		if err != nil {
			return nil, err
		}
		if m.Fate == Survived && sys.Tolerates(mu.what) {
			m.Fate = Explained
		}
		out.Mutants = append(out.Mutants, m)
		if ctx.Err() != nil {
			return out, nil
		}
	}
	return out, nil
}

// meet finds the fate of a mutant that sys is at the moment.
func (m *Mutant) meet(ctx context.Context, sys *load.System, bases []*Result, options []Options) error {
	m.Fate = Equivalent
	for i, o := range options {
		r, err := System(ctx, sys, o)
		if err != nil {
			return err
		}
		switch f, by := fate(bases[i], r); {
		case f == Killed:
			m.Fate, m.By = Killed, by
			return nil
		case f == Unknown, f == Survived && m.Fate != Unknown:
			m.Fate = f
		}
	}
	return nil
}

func fate(base, r *Result) (Fate, string) {
	for _, f := range r.Findings {
		was := base.Find(f.Name)
		if was == nil || f.Verdict == Violated && was.Verdict == Proved || f.Verdict == Proved && was.Verdict == Violated {
			return Killed, f.Name
		}
	}
	switch {
	case !r.Complete:
		return Unknown, ""
	case r.print == base.print && r.States == base.States && r.Edges == base.Edges:
		return Equivalent, ""
	}
	return Survived, ""
}
