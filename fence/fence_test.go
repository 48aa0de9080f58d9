// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fence_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/fence"
	rules "github.com/kvxfer/kvxfer/gen/fence"
)

// named is a loop agent that says it is something else.
type named struct {
	*loop.Agent
	limits backend.Limits
}

func (n named) Limits() backend.Limits { return n.limits }

func destroyed(t *testing.T, limits backend.Limits) fence.Destroyed {
	t.Helper()
	agent, err := loop.New(loop.Config{}).Agent("a")
	if err != nil {
		t.Fatal(err)
	}
	d, err := fence.Destroy(named{agent, limits})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// everything is what the operator of a machine that is off can state.
var everything = map[fence.Fact]string{
	fence.ProcessGone: "power of node 17 is off", fence.ContextDestroyed: "power of node 17 is off", fence.RegionInvalid: "its switch port is down",
}

// Each half and the pair, for each transport (docs/nixl.md).
func TestWhatEvidenceProves(t *testing.T) {
	var (
		tcp      = backend.Limits{Transport: "nixl/tcp", OwnFence: true, PassiveFence: true}
		cma      = backend.Limits{Transport: "nixl/cma", OwnFence: true}
		auto     = backend.Limits{Transport: "nixl/auto"}
		own      = backend.Limits{Transport: "mine", OwnFence: true}
		both     = backend.Limits{Transport: "loop", OwnFence: true, PassiveFence: true}
		none     = backend.Limits{Transport: "mine"}
		unknown  = backend.Limits{OwnFence: true, PassiveFence: true}
		operator = fence.Statement{Who: "ops@example.org", Checked: everything, Own: true, Passive: true}
		half     = fence.Statement{Who: "ops@example.org", Checked: everything, Own: true}
		gone     = exited(t)
	)
	const agent, peer = 1, 2
	for name, test := range map[string]struct {
		limits       backend.Limits
		seen         int
		said         []fence.Evidence
		own, passive bool
		lacks        string // what the passive half needs
	}{
		"tcp: nothing":           {limits: tcp, lacks: "our own agent is destroyed"},
		"tcp: agent":             {limits: tcp, seen: agent, own: true, passive: true},
		"tcp: peer":              {limits: tcp, seen: peer, lacks: "our own agent is destroyed"},
		"tcp: both":              {limits: tcp, seen: agent | peer, own: true, passive: true},
		"cma: agent":             {limits: cma, seen: agent, own: true, lacks: "the peer's process has ended"},
		"cma: peer":              {limits: cma, seen: peer, passive: true},
		"cma: both":              {limits: cma, seen: agent | peer, own: true, passive: true},
		"not measured: both":     {limits: auto, seen: agent | peer, lacks: "operator"},
		"unnamed: both":          {limits: unknown, seen: agent | peer, lacks: "operator"},
		"own declared: both":     {limits: own, seen: agent | peer, own: true, lacks: "operator"},
		"both declared: agent":   {limits: both, seen: agent, own: true, passive: true},
		"both declared: peer":    {limits: both, seen: peer, lacks: "our own agent is destroyed"},
		"none declared: both":    {limits: none, seen: agent | peer, lacks: "operator"},
		"not measured: operator": {limits: auto, said: []fence.Evidence{operator}, own: true, passive: true},
		"not measured: half":     {limits: auto, said: []fence.Evidence{half}, own: true, lacks: "does not cover process ("},
		"tcp: half and peer":     {limits: tcp, seen: peer, said: []fence.Evidence{half}, own: true, lacks: "does not cover region ("},
	} {
		t.Run(name, func(t *testing.T) {
			evidence := test.said
			if test.seen&agent != 0 {
				evidence = append(evidence, destroyed(t, test.limits))
			}
			if test.seen&peer != 0 {
				evidence = append(evidence, gone)
			}
			for _, d := range []backend.Direction{0, backend.Write, backend.Read} {
				v, err := fence.Judge(fence.Case{Limits: test.limits, Direction: d}, evidence...)
				if v.Own.Proven != test.own || v.Passive.Proven != test.passive {
					t.Errorf("%v: %v", d, v)
				}
				if !test.passive && !strings.Contains(v.Passive.Why, test.lacks) {
					t.Errorf("%v: %q does not say %q", d, v.Passive.Why, test.lacks)
				}
				if nothing := !test.own && !test.passive; errors.Is(err, fence.ErrNotProven) != nothing || !nothing && err != nil {
					t.Errorf("%v: error %v", d, err)
				}
				for _, e := range evidence {
					if test.passive && !strings.Contains(v.Passive.Why, e.String()) {
						t.Errorf("%q does not name %q", v.Passive.Why, e)
					}
				}
			}
		})
	}
}

func TestEvidenceThatIsUnusable(t *testing.T) {
	tcp := backend.Limits{Transport: "nixl/tcp"}
	for name, e := range map[string]fence.Evidence{
		"nil": nil, "zero agent": fence.Destroyed{}, "zero process": fence.Exited{},
		"nobody":         fence.Statement{Checked: everything, Own: true},
		"nothing":        fence.Statement{Who: "x", Own: true},
		"about nothing":  fence.Statement{Who: "x", Checked: everything},
		"empty words":    fence.Statement{Who: "x", Checked: map[fence.Fact]string{fence.ProcessGone: " "}, Own: true},
		"another fact":   fence.Statement{Who: "x", Checked: map[fence.Fact]string{9: "y"}, Own: true},
		"another agent?": destroyed(t, backend.Limits{Transport: "loop"}),
	} {
		if v, err := fence.Judge(fence.Case{Limits: tcp}, e); !errors.Is(err, fence.ErrEvidence) || v.Own.Proven || v.Passive.Proven {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if _, err := fence.Judge(fence.Case{Limits: tcp, Direction: 7}); !errors.Is(err, fence.ErrEvidence) {
		t.Errorf("direction 7: %v", err)
	}
}

// plain is a backend without a Fence.
type plain struct{ backend.Backend }

func TestOnlyAFencerCanBeDestroyed(t *testing.T) {
	agent, err := loop.New(loop.Config{}).Agent("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fence.Destroy(plain{agent}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if _, err := agent.Metadata(); err != nil {
		t.Errorf("something was done to it: %v", err)
	}
}

// Without a statement only seen evidence proves anything, on every transport; and
// more evidence never proves less.
func TestTableIsMonotone(t *testing.T) {
	bools := []bool{false, true}
	for _, m := range rules.AllMemories() {
		for _, tr := range rules.AllTransports() {
			for _, d := range rules.AllDirections() {
				for _, declared := range bools {
					if rules.Decide(m, tr, d, false, false, declared, false).Proven {
						t.Errorf("%v %v %v is proven by nothing", m, tr, d)
					}
					for _, other := range bools {
						if rules.Decide(m, tr, d, false, other, declared, false).Proven && !rules.Decide(m, tr, d, true, other, declared, false).Proven ||
							rules.Decide(m, tr, d, other, false, declared, false).Proven && !rules.Decide(m, tr, d, other, true, declared, false).Proven {
							t.Errorf("%v %v %v: more evidence proves less", m, tr, d)
						}
					}
				}
			}
		}
	}
	if int(backend.Write) != int(rules.DirectionWrite) || int(backend.Read) != int(rules.DirectionRead) {
		t.Error("directions have other codes")
	}
}
