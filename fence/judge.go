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
	// Device: some of our registered memory is a device's. What was measured of a
	// transport was measured of host memory, so nothing is known of it then.
	Device bool
	// Local: it is about our own gather or scatter, which no agent and no peer
	// carries out. Its memory is Own.
	Local bool
}

// transport is the table's name of what moves the bytes.
func (c Case) transport() rules.Transport {
	t := transportOf(c.Limits.Transport)
	if c.Device && t != rules.TransportDeclared {
		return rules.TransportUnmeasured
	}
	return t
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
	seen := facts{of: c, directions: []rules.Direction{rules.Direction(c.Direction)}}
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

// ForeseeGone says what the end of the peer's process would prove.
func ForeseeGone(c Case) Verdict {
	v, _ := Judge(c, Exited{process: Process{PID: -1}})
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
	of          Case
	directions  []rules.Direction
	agent, peer bool
	statements  []Statement
	words       []string
}

func (f *facts) add(e Evidence) {
	f.words = append(f.words, e.String())
	switch e := e.(type) {
	case Destroyed:
		f.agent = true
	case Exited:
		f.peer = true
	case Statement:
		f.statements = append(f.statements, e)
	}
}

// lacks returns the facts that nobody states of a kind of memory, and that were not
// seen either.
func (f facts) lacks(m rules.Memory) (missing []Fact) {
	passive := m == rules.MemoryPassive
	for _, need := range Demand(f.of, !passive, passive) {
		known := need == ProcessGone && f.peer
		for _, s := range f.statements {
			known = known || s.states(need) && (passive && s.Passive || !passive && s.Own)
		}
		if !known {
			missing = append(missing, need)
		}
	}
	return missing
}

// stated: somebody states all that a statement has to cover.
func (f facts) stated(m rules.Memory) bool { return len(f.statements) > 0 && len(f.lacks(m)) == 0 }

// proves asks the table, for every direction.
func (f facts) proves(m rules.Memory) bool {
	if f.of.Local {
		return m == rules.MemoryOwn && f.stated(m)
	}
	declared := f.of.Limits.OwnFence
	if m == rules.MemoryPassive {
		declared = f.of.Limits.PassiveFence
	}
	for _, d := range f.directions {
		if !rules.Decide(m, f.of.transport(), d, f.agent, f.peer, declared, f.stated(m)).Proven {
			return false
		}
	}
	return true
}

// finding is the answer with its reason: what was seen, or the least that is
// missing, which is found by asking the table as well.
func (f facts) finding(m rules.Memory) Finding {
	switch {
	case f.of.Local && m == rules.MemoryPassive:
		return Finding{Why: "a local copy reaches no passive memory"}
	case f.proves(m):
		return Finding{Proven: true, Why: strings.Join(f.words, ", and ")}
	case len(f.statements) > 0:
		return Finding{Why: "the statement does not cover " + f.missing(m)}
	case f.of.Local:
		return Finding{Why: "of a local copy nothing but its own end, or an operator's statement, is known to prove it"}
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
	return Finding{Why: "of " + f.of.words() + " nothing but an operator's statement is known to prove it"}
}

// words names what moves the bytes.
func (c Case) words() string {
	if c.Device {
		return c.Limits.Transport + " with a device's memory"
	}
	return c.Limits.Transport
}

// missing says which facts a statement lacks.
func (f facts) missing(m rules.Memory) string {
	var list []string
	for _, fact := range f.lacks(m) {
		list = append(list, fmt.Sprintf("%v (%s)", fact, fact.Meaning()))
	}
	return strings.Join(list, ", nor ")
}
