// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package nixl_test

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	adapter "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
)

// What is said to be a GPU's and is not, or where no GPU is, the real NIXL refuses: the
// error is typed, nothing is registered, and the same memory works as what it is.
func TestHostMemoryIsNoDevices(t *testing.T) {
	lib := requireNIXL(t)
	for _, tr := range []nixl.Transport{nixl.TransportAuto, nixl.TransportTCP} {
		b, err := adapter.New(adapter.Config{Name: "space-" + tr.String(), Library: lib, Transport: tr})
		if err != nil {
			t.Fatal(err)
		}
		arena, err := memory.New(memory.Spec{Len: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		m := backend.Memory{Addr: arena.Addr(), Len: 1 << 20, Space: backend.Space{Kind: backend.VRAM}}
		if r, err := b.Register(m); err == nil { // a driver that takes it for managed memory
			t.Logf("%v: registered", tr)
			err = b.Deregister(r)
			if err != nil {
				t.Fatal(err)
			}
		} else if !errors.Is(err, backend.ErrMemoryKind) {
			t.Errorf("%v: %v", tr, err)
		}
		m.Space = backend.Space{}
		r, err := b.Register(m)
		if err := errors.Join(err, b.Deregister(r), b.Close(), arena.Close()); err != nil {
			t.Errorf("%v: %v", tr, err)
		}
	}
}
