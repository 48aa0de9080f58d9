// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kvxfer/kvxfer/backend"
	rules "github.com/kvxfer/kvxfer/gen/fence"
)

// Errors that callers match with errors.Is.
var (
	// ErrNotProven: the evidence is no fence for any memory.
	ErrNotProven = errors.New("fence: not proven")
	// ErrEvidence: a piece of evidence is incomplete, and counts for nothing.
	ErrEvidence = errors.New("fence: unusable evidence")
)

// Case is what the evidence is to be judged for: the memory that one peer and we
// share through one backend.
type Case struct {
	// Limits are those of our backend. A transport that was measured is judged by
	// what was measured, any other one by what its limits declare.
	Limits backend.Limits
	// Direction is what the operations do; zero asks for both, and what is proven
	// is what is proven for both.
	Direction backend.Direction
}

// Verdict says of which memory the evidence is a fence.
type Verdict struct {
	// Own: memory in operations that our own agent posted.
	Own Finding
	// Passive: memory that the peer reaches by itself.
	Passive Finding
}

// Finding is the answer about one kind of memory.
type Finding struct {
	Proven bool
	Why    string // the evidence, or what would be needed
}

// String returns both findings in one line.
func (v Verdict) String() string {
	return "own memory " + v.Own.String() + "; passive memory " + v.Passive.String()
}

// String returns the finding in words.
func (f Finding) String() string {
	if f.Proven {
		return "proven: " + f.Why
	}
	return "not proven: " + f.Why
}

// Judge says what the evidence proves. The error matches ErrNotProven, with the
// reason, where that is nothing at all, and ErrEvidence where a piece of it is
// unusable; the verdict then proves nothing.
func Judge(c Case, evidence ...Evidence) (Verdict, error) {
	seen := facts{transport: transportOf(c.Limits.Transport), limits: c.Limits, directions: []rules.Direction{rules.Direction(c.Direction)}}
	switch c.Direction {
	case 0:
		seen.directions = rules.AllDirections()
	case backend.Write, backend.Read:
	default:
		return Verdict{}, fmt.Errorf("%w: %v", ErrEvidence, c.Direction)
	}
	for _, e := range evidence {
		if e == nil {
			return Verdict{}, fmt.Errorf("%w: it is nil", ErrEvidence)
		}
		if err := e.validate(); err != nil {
			return Verdict{}, fmt.Errorf("%w: %w", ErrEvidence, err)
		}
		if d, ok := e.(Destroyed); ok && d.transport != c.Limits.Transport {
			return Verdict{}, fmt.Errorf("%w: the agent that was destroyed is of %s, asked about is %s", ErrEvidence, d.transport, c.Limits.Transport)
		}
		seen.add(e)
	}
	v := Verdict{Own: seen.finding(rules.MemoryOwn), Passive: seen.finding(rules.MemoryPassive)}
	if !v.Own.Proven && !v.Passive.Proven {
		return v, fmt.Errorf("%w: %v", ErrNotProven, v)
	}
	return v, nil
}

// Foresee says what the end of our own agent would prove, before it is brought about.
func Foresee(c Case) Verdict {
	v, _ := Judge(c, Destroyed{made: true, transport: c.Limits.Transport})
	return v
}

// transportOf maps a backend's own name of its transport to the table's.
func transportOf(name string) rules.Transport {
	switch {
	case name == "nixl/tcp":
		return rules.TransportTCP
	case name == "nixl/cma":
		return rules.TransportCma
	case name == "" || strings.HasPrefix(name, "nixl/"):
		return rules.TransportUnmeasured
	}
	return rules.TransportDeclared
}

// facts are the inputs of the table.
type facts struct {
	transport              rules.Transport
	limits                 backend.Limits
	directions             []rules.Direction
	agent, peer            bool
	statedOwn, statedOther bool
	words                  []string
}

func (f *facts) add(e Evidence) {
	f.words = append(f.words, e.String())
	switch e := e.(type) {
	case Destroyed:
		f.agent = true
	case Exited:
		f.peer = true
	case Statement:
		f.statedOwn = f.statedOwn || e.Own
		f.statedOther = f.statedOther || e.Passive
	}
}

// proves asks the table, for every direction.
func (f facts) proves(m rules.Memory) bool {
	declared, stated := f.limits.OwnFence, f.statedOwn
	if m == rules.MemoryPassive {
		declared, stated = f.limits.PassiveFence, f.statedOther
	}
	for _, d := range f.directions {
		if !rules.Decide(m, f.transport, d, f.agent, f.peer, declared, stated).Proven {
			return false
		}
	}
	return true
}

// finding is the answer with its reason: what was seen, or the least that is
// missing, which is found by asking the table as well.
func (f facts) finding(m rules.Memory) Finding {
	if f.proves(m) {
		return Finding{Proven: true, Why: strings.Join(f.words, ", and ")}
	}
	const agent, peer = "our own agent is destroyed", "the peer's process has ended"
	for _, more := range []struct {
		agent, peer bool
		why         string
	}{{true, f.peer, agent}, {f.agent, true, peer}, {true, true, agent + " and " + peer}} {
		with := f
		with.agent, with.peer = more.agent, more.peer
		if with.proves(m) {
			return Finding{Why: "it takes evidence that " + more.why}
		}
	}
	return Finding{Why: "of " + f.limits.Transport + " nothing but an operator's statement is known to prove it"}
}
