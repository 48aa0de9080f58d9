// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/explain"
)

// Fenced is a fence that was applied. Explain shows the latest of them.
type Fenced struct {
	ownership.FenceSpec
	At       time.Time
	Elapsed  time.Duration        // since the endpoint was made
	Evidence string               // who stated, or saw, what
	Freed    int                  // claims
	Retained []ownership.Retained // what is owned still because of the same accessor
}

// maxFences is how many fences Explain remembers; Config.Log has had all of them.
const maxFences = 256

// byTheCaller is the evidence of Endpoint.Fence.
const byTheCaller = "the program vouches for it"

// Fence applies outside proof that an accessor can no longer reach memory. The caller
// vouches for it; FenceBy judges evidence instead, and FenceGone finds it.
func (e *Endpoint) Fence(spec ownership.FenceSpec) error {
	_, err := e.fence(spec, byTheCaller)
	return err
}

// FenceBy applies a fence if the evidence proves it of all the memory in its scope, by
// what package fence knows of the backend's transport (spec/fence.yaml,
// spec/statement.yaml). For local copies, accessor ownership.Local, the scope is
// ownership.Own. The fence is logged, and Explain shows it from then on.
//
// Nothing happens where the error matches fence.ErrNotProven, which says what is missing;
// fence.ErrEvidence, where the evidence is incomplete or what is known of the peer's
// process contradicts it; or ErrNoPeer, where nobody of that name was ever attached.
func (e *Endpoint) FenceBy(spec ownership.FenceSpec, evidence ...fence.Evidence) (Fenced, error) {
	what := "fence of " + string(spec.Accessor)
	if err := e.fenceable(spec); err != nil {
		return Fenced{}, err
	}
	if p := e.lookup(spec.Accessor); p != nil {
		if err := p.contradicts(spec.Incarnation, evidence); err != nil {
			return Fenced{}, &Error{What: what, Kind: fence.ErrEvidence, Err: err}
		}
	}
	v, err := fence.Judge(e.fenceCase(spec.Accessor), evidence...)
	if errors.Is(err, fence.ErrEvidence) {
		return Fenced{}, &Error{What: what, Kind: fence.ErrEvidence, Err: err}
	}
	own, passive := parts(spec)
	switch {
	case own && !v.Own.Proven:
		return Fenced{}, &Error{What: what, Kind: fence.ErrNotProven, Err: errors.New("own memory: " + v.Own.Why)}
	case passive && !v.Passive.Proven:
		return Fenced{}, &Error{What: what, Kind: fence.ErrNotProven, Err: errors.New("passive memory: " + v.Passive.Why)}
	case own:
		return e.fence(spec, v.Own.Why)
	}
	return e.fence(spec, v.Passive.Why)
}

// FenceDemand returns what an operator's statement has to cover for a fence to be
// believed by FenceBy, and the transport. The errors are those of FenceBy.
func (e *Endpoint) FenceDemand(spec ownership.FenceSpec) (facts []fence.Fact, transport string, err error) {
	if err := e.fenceable(spec); err != nil {
		return nil, "", err
	}
	c := e.fenceCase(spec.Accessor)
	own, passive := parts(spec)
	return fence.Demand(c, own, passive), c.Limits.Transport, nil
}

// parts says of which memory a fence is to be proven. All of a local copy is own.
func parts(spec ownership.FenceSpec) (own, passive bool) {
	if spec.Accessor == ownership.Local {
		return true, false
	}
	return spec.Scope != ownership.Passive, spec.Scope != ownership.Own
}

// fenceable refuses what nobody can mean: a fence of a stranger, or of a life that
// nobody has seen.
func (e *Endpoint) fenceable(spec ownership.FenceSpec) error {
	what := "fence of " + string(spec.Accessor)
	switch {
	case !spec.Scope.IsValid():
		return invalid(what, "%v", spec.Scope)
	case spec.Accessor == ownership.Local && spec.Scope == ownership.Passive:
		return invalid(what, "a local copy reaches no passive memory: the scope is own")
	case spec.Accessor == ownership.Local:
		return nil
	}
	p := e.lookup(spec.Accessor)
	if p == nil || !p.lived(spec.Incarnation) {
		if !spec.Incarnation.IsZero() {
			what += " incarnation " + spec.Incarnation.String()
		}
		return &Error{What: what, Kind: ErrNoPeer, Err: errors.New("nor ever was")}
	}
	return nil
}

// fenceCase is what evidence about an accessor is judged for.
func (e *Endpoint) fenceCase(a ownership.Accessor) fence.Case {
	device := slices.ContainsFunc(e.everyRegion(), func(r *Region) bool { return r.memory.Kind != backend.DRAM })
	return fence.Case{Limits: e.backend().Limits(), Device: device, Local: a == ownership.Local}
}

// fence applies a fence and keeps a record of it.
func (e *Endpoint) fence(spec ownership.FenceSpec, evidence string) (Fenced, error) {
	at := e.now()
	effects, err := e.registry.Fence(at, spec)
	done := Fenced{FenceSpec: spec, At: e.epoch.Add(at), Elapsed: at, Evidence: evidence}
	for _, effect := range effects {
		if moved, ok := effect.(*ownership.ClaimMoved); ok && moved.Event == claim.Fence {
			done.Freed++
		}
	}
	e.apply(effects)
	if err != nil {
		return done, err
	}
	e.mu.Lock()
	if len(e.fences) == maxFences {
		e.fences = slices.Delete(e.fences, 0, 1)
	}
	e.fences = append(e.fences, done)
	e.mu.Unlock()
	e.noteAt(at, nil, "fence: "+done.String())
	e.config.Log.Warn("fence", "endpoint", e.config.Name, "accessor", spec.Accessor, "incarnation", spec.Incarnation,
		"scope", spec.Scope, "evidence", evidence, "freed", done.Freed)
	// The operations stay in the poller: their handles are ours to release, and
	// what they answer is stale.
	if p := e.lookup(spec.Accessor); p != nil {
		p.fence(spec)
	}
	for _, r := range e.registry.Retained() {
		if r.Accessor == spec.Accessor {
			done.Retained = append(done.Retained, r)
		}
	}
	return done, nil
}

// String returns the fence in one line.
func (f Fenced) String() string { return f.explained().Text }

func (f Fenced) explained() explain.Fence {
	x := explain.Fence{At: f.At, Elapsed: f.Elapsed, Accessor: string(f.Accessor), Scope: f.Scope.String(), Evidence: f.Evidence, Freed: f.Freed}
	if !f.Incarnation.IsZero() {
		x.Incarnation = f.Incarnation.String()
	}
	return explain.FenceOf(x)
}

func (e *Endpoint) explainFences() []explain.Fence {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []explain.Fence
	for _, f := range e.fences {
		list = append(list, f.explained())
	}
	return list
}

// lived reports whether a life of the peer was ever attached; any, for the zero value.
func (p *peer) lived(life ownership.Incarnation) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if life.IsZero() {
		return !p.life.IsZero() || len(p.gone) > 0
	}
	return p.life == life || slices.Contains(p.gone, life)
}

// contradicts says where evidence is not what is known of the peer's process.
func (p *peer) contradicts(life ownership.Incarnation, evidence []fence.Evidence) error {
	for _, known := range p.identities() {
		if known.err != nil || !life.IsZero() && known.life != life {
			continue
		}
		_, alive := known.process.Gone()
		for _, seen := range evidence {
			switch seen := seen.(type) {
			case fence.Exited:
				if seen.Process() != known.process {
					return fmt.Errorf("%v, but incarnation %v is in %v", seen, known.life, known.process)
				}
			case fence.Statement:
				if seen.Checked[fence.ProcessGone] != "" && errors.Is(alive, fence.ErrAlive) {
					return fmt.Errorf("it says that the process is gone, but incarnation %v is in one that lives: %w", known.life, alive)
				}
			}
		}
	}
	return nil
}
