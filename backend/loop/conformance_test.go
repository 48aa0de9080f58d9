// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"testing"

	"github.com/kvxfer/kvxfer/backend/backendtest"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
)

// TestConformance runs the kit in each mode of the fabric: time driven by the
// caller, by the polls, by the passive side, and copies that end inside Post.
func TestConformance(t *testing.T) {
	for name, config := range map[string]loop.Config{
		"driven":           {BytesPerTick: 100_000},
		"auto":             {Auto: true},
		"passive progress": {PassiveProgress: true, BytesPerTick: 1 << 20},
		"inline":           {Auto: true, Inline: true},
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) *backendtest.Pair { return newPair(t, config) })
		})
	}
}

func newPair(t *testing.T, config loop.Config) *backendtest.Pair {
	t.Helper()
	f := loop.New(config)
	p := &backendtest.Pair{A: newSide(t, f, "a"), B: newSide(t, f, "b")}
	if !config.Auto && !config.PassiveProgress {
		p.Step = f.Step
	}
	if !config.Inline { // a stalled peer would hold Post itself
		p.Stall = func() { hook(t, f.Stall("b")) }
		p.Resume = func() { _ = f.Continue("b") } // refused when b is closed
		p.Break = func() { hook(t, f.Break("a", "b", 1000)) }
	}
	return p
}

func hook(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func newSide(t *testing.T, f *loop.Fabric, name string) backendtest.Side {
	t.Helper()
	arena, err := memory.New(memory.Spec{Len: backendtest.MemoryLen})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := f.Agent(name)
	if err != nil {
		t.Fatal(err)
	}
	return backendtest.Side{
		Name: name, Backend: agent, Memory: arena.Bytes(),
		Free: func() error {
			if err := arena.Check(); err != nil {
				return err
			}
			return arena.Close()
		},
	}
}
