// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backend_test

import (
	"testing"

	"github.com/kvxfer/kvxfer/backend/backendtest"
	"github.com/kvxfer/kvxfer/memory"
)

// The backend of the example keeps every promise that the kit can check.
func TestExampleConforms(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) *backendtest.Pair {
		m := &machine{agents: map[string]*agent{}}
		side := func(name string) backendtest.Side {
			arena, err := memory.New(memory.Spec{Len: backendtest.MemoryLen})
			if err != nil {
				t.Fatal(err)
			}
			return backendtest.Side{Name: name, Backend: m.agent(name), Memory: arena.Bytes(), Free: arena.Close}
		}
		return &backendtest.Pair{A: side("a"), B: side("b")}
	})
}
