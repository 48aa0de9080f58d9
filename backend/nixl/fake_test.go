// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl_test

import (
	"testing"

	"github.com/kvxfer/kvxfer/backend/backendtest"
	adapter "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/internal/nixltest"
	"github.com/kvxfer/kvxfer/nixl"
)

// The kit against the fake library: the adapter's own part is checked where
// NIXL is not, and READ is broken here, which the real library must not be.
func TestConformanceOnTheFake(t *testing.T) {
	lib, err := nixl.Open(nixl.Options{Library: nixltest.Wheel(t, "1.5.1")})
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]adapter.Config{
		"polled":   {Transport: nixl.TransportTCP, NoProgressThread: true},
		"threaded": {Transport: nixl.TransportTCP},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Library = lib
			backendtest.Run(t, func(t *testing.T) *backendtest.Pair {
				p := &backendtest.Pair{A: sideOf(t, cfg), B: sideOf(t, cfg)}
				p.Break = func() {
					if err := p.A.Backend.(*adapter.Backend).Agent().Notify(nixltest.Control, []byte(nixltest.Break)); err != nil {
						t.Error(err)
					}
				}
				return p
			})
		})
	}
}
