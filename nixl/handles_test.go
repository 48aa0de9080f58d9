// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl

import (
	"testing"

	"github.com/kvxfer/kvxfer/internal/nixltest"
)

// One of each is counted while it is there, and the end of the agent ends what was
// not given back.
func TestHandlesAreCounted(t *testing.T) {
	a := fakeAgent(t, nixltest.Wheel(t, "1.5.1"))
	lib, name := a.lib, "post=0;release=0"
	meet(t, a, name)
	before := lib.Handles()
	grown := func(what string, want Handles) {
		t.Helper()
		now := lib.Handles()
		got := Handles{
			Agents: now.Agents - before.Agents, Backends: now.Backends - before.Backends, Registrations: now.Registrations - before.Registrations,
			Peers: now.Peers - before.Peers, Requests: now.Requests - before.Requests, Lists: now.Lists - before.Lists, Views: now.Views - before.Views,
		}
		if got != want {
			t.Errorf("%s: %v more, want %v", what, got, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	q, err := a.NewRequest(fakeConfig(name))
	must(err)
	ours, err := a.Prepare(PrepareConfig{Segments: []Segment{{Addr: 0x10000, Len: 64}}})
	must(err)
	theirs, err := a.Prepare(PrepareConfig{Peer: name, Segments: []Segment{{Addr: 0x10000, Len: 64}}})
	must(err)
	made, err := a.MakeRequest(MakeConfig{Op: Write, Local: ours, LocalIndex: []int32{0}, Remote: theirs, RemoteIndex: []int32{0}})
	must(err)
	view, err := a.ViewLocal(DRAM, []Segment{{Addr: 0x10000, Len: 64}}, a.backends[0])
	must(err)
	reg, err := a.RegisterAll(RegisterConfig{Mem: File, Segments: []Segment{{Len: 9, Dev: 3}}})
	must(err)
	meet(t, a, "release=-2")
	stuck, err := a.NewRequest(fakeConfig("release=-2"))
	must(err)
	grown("one of each", Handles{Requests: 3, Lists: 2, Views: 1, Registrations: 1, Peers: 1})

	if stuck.Release() == nil {
		t.Error("the fake released what it was to keep")
	}
	for range 2 { // the second time gives nothing back
		must(q.Release())
		must(made.Release())
		must(ours.Release())
		must(view.Release())
	}
	must(reg[0].Deregister())
	grown("not given back", Handles{Requests: 1, Lists: 1, Peers: 1})

	must(a.Destroy())
	grown("after the end of the agent", Handles{Agents: -1, Backends: -before.Backends, Registrations: -before.Registrations, Peers: -before.Peers})
	if got := lib.Handles(); got.Requests+got.Lists > 0 {
		t.Errorf("after the end of the agent: %v", got)
	}
}
