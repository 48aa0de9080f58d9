// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"errors"
	"fmt"
	"strings"

	stated "github.com/kvxfer/kvxfer/gen/statement"
)

// Fact is one thing that a person can check, and state with his name.
type Fact uint8

// The facts. Which of them a statement has to cover is spec/statement.yaml.
const (
	_ Fact = iota
	// ProcessGone: the process that held the mapping has ended, or its machine is off.
	ProcessGone
	// ContextDestroyed: its device context is destroyed, with all work in it.
	ContextDestroyed
	// RegionInvalid: nothing of the transport reaches the memory any more. The NIC's
	// memory region is invalid, and no socket holds bytes for it.
	RegionInvalid
)

// AllFacts returns every fact, in order.
func AllFacts() []Fact { return []Fact{ProcessGone, ContextDestroyed, RegionInvalid} }

var factWords = [...]struct{ name, meaning string }{
	ProcessGone:      {"process", "the process that held the mapping is gone: it has ended, or its machine is off"},
	ContextDestroyed: {"context", "its device context is destroyed, with all work in it; or it never had one"},
	RegionInvalid:    {"region", "the transport reaches the memory no more: the NIC's memory region is invalid, and no socket holds bytes for it"},
}

// String returns process, context or region.
func (f Fact) String() string {
	if f == 0 || int(f) >= len(factWords) {
		return "invalid fact"
	}
	return factWords[f].name
}

// Meaning says in words what is stated.
func (f Fact) Meaning() string {
	if f == 0 || int(f) >= len(factWords) {
		return f.String()
	}
	return factWords[f].meaning
}

// ParseFact is the inverse of Fact.String. The error matches ErrEvidence.
func ParseFact(name string) (Fact, error) {
	for _, f := range AllFacts() {
		if f.String() == name {
			return f, nil
		}
	}
	return 0, fmt.Errorf("%w: %q is no fact: process, context and region are", ErrEvidence, name)
}

// Statement is a person's word. It is believed, so it says whose word it is and, for
// each fact, how that was checked: both end up in logs.
type Statement struct {
	Who     string          // a name that can be asked later
	Checked map[Fact]string // "power of node 17 is off"; an empty text states nothing
	Own     bool            // he states it of memory in operations that we posted, or of local copies
	Passive bool            // he states it of memory that the peer reaches by itself
}

// String says who has checked what.
func (s Statement) String() string {
	var words []string
	for _, f := range AllFacts() {
		if s.states(f) {
			words = append(words, fmt.Sprintf("%v: %s", f, strings.TrimSpace(s.Checked[f])))
		}
	}
	return fmt.Sprintf("%s states: %s", strings.TrimSpace(s.Who), strings.Join(words, "; "))
}

func (s Statement) states(f Fact) bool { return strings.TrimSpace(s.Checked[f]) != "" }

func (s Statement) validate() error {
	if strings.TrimSpace(s.Who) == "" {
		return errors.New("the statement does not say whose it is")
	}
	if !s.Own && !s.Passive {
		return errors.New("the statement is about no memory")
	}
	any := false
	for f := range s.Checked {
		if f == 0 || int(f) >= len(factWords) {
			return fmt.Errorf("the statement is about %v %d", f, f)
		}
		any = any || s.states(f)
	}
	if !any {
		return errors.New("the statement does not say what was checked")
	}
	return nil
}

// Demand returns what a statement has to cover, in order, to be a fence of the kinds of
// memory that are asked for.
func Demand(c Case, own, passive bool) []Fact {
	transport := stated.Transport(c.transport())
	var needs []stated.Decision
	switch {
	case c.Local:
		needs = append(needs, stated.Decide(stated.MemoryLocal, transport))
	default:
		if own {
			needs = append(needs, stated.Decide(stated.MemoryOwn, transport))
		}
		if passive {
			needs = append(needs, stated.Decide(stated.MemoryPassive, transport))
		}
	}
	var list []Fact
	for _, f := range AllFacts() {
		for _, d := range needs {
			if f == ProcessGone && d.Process || f == ContextDestroyed && d.Context || f == RegionInvalid && d.Region {
				list = append(list, f)
				break
			}
		}
	}
	return list
}
