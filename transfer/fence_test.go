// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

func states(facts ...fence.Fact) fence.Statement {
	s := fence.Statement{Who: "ops@example.org", Checked: map[fence.Fact]string{}, Own: true, Passive: true}
	for _, f := range facts {
		s.Checked[f] = "looked"
	}
	return s
}

// A fence is applied if the evidence proves it of all memory in its scope, and then it
// is on record; otherwise nothing has happened.
func TestFenceBy(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, _ := g.request()
		spec := ownership.FenceSpec{Accessor: sender, Scope: ownership.Passive}
		facts, transport, err := g.r.FenceDemand(spec)
		must(t, err)
		if want := fence.AllFacts(); !slices.Equal(facts, want) || transport != "loop" {
			t.Errorf("demands %v of %s", facts, transport)
		}
		for _, tc := range []struct {
			name     string
			spec     ownership.FenceSpec
			evidence []fence.Evidence
			want     error
			says     string
		}{
			{"nothing", spec, nil, fence.ErrNotProven, "passive memory: it takes evidence that our own agent is destroyed"},
			{"too little", spec, []fence.Evidence{states(fence.ProcessGone, fence.ContextDestroyed)}, fence.ErrNotProven, "does not cover region ("},
			{"of no memory", spec, []fence.Evidence{fence.Statement{Who: "x", Checked: states(facts...).Checked}}, fence.ErrEvidence, ""},
			{"of other memory", spec, []fence.Evidence{fence.Statement{Who: "x", Checked: states(facts...).Checked, Own: true}}, fence.ErrNotProven, ""},
			{"half of all", ownership.FenceSpec{Accessor: sender, Scope: ownership.All},
				[]fence.Evidence{fence.Statement{Who: "x", Checked: states(facts...).Checked, Own: true}}, fence.ErrNotProven, "passive memory: "},
			{"a stranger", ownership.FenceSpec{Accessor: "nobody", Scope: ownership.All}, []fence.Evidence{states(facts...)}, transfer.ErrNoPeer, "nobody"},
			{"a life of nobody", ownership.FenceSpec{Accessor: sender, Incarnation: ownership.Incarnation{7}, Scope: ownership.All},
				[]fence.Evidence{states(facts...)}, transfer.ErrNoPeer, "incarnation"},
			{"no scope", ownership.FenceSpec{Accessor: sender}, []fence.Evidence{states(facts...)}, transfer.ErrConfig, "scope"},
			{"local, passive", ownership.FenceSpec{Accessor: ownership.Local, Scope: ownership.Passive}, []fence.Evidence{states(facts...)}, transfer.ErrConfig, "own"},
			{"local, without its context", ownership.FenceSpec{Accessor: ownership.Local, Scope: ownership.Own},
				[]fence.Evidence{states(fence.ProcessGone, fence.RegionInvalid)}, fence.ErrNotProven, "does not cover context ("},
		} {
			_, err := g.r.FenceBy(tc.spec, tc.evidence...)
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v", tc.name, err)
			}
		}
		wantErr(t, g.r.region.Reuse(), ownership.ErrRefused)
		if list := g.r.Explain().Fences; len(list) != 0 {
			t.Errorf("fences: %+v", list)
		}

		spec.Incarnation = g.s.Incarnation()
		done, err := g.r.FenceBy(spec, states(facts...))
		must(t, err)
		if done.Freed != 1 || len(done.Retained) != 0 || !strings.HasPrefix(done.Evidence, "ops@example.org states: process: looked; ") {
			t.Errorf("got %+v", done)
		}
		must(t, errors.Join(rs.Drain(t.Context()), g.r.region.Reuse()))
		wantAnswer(t, rs, "FAILED, cause fenced, origin local")
		_, err = g.r.FenceBy(ownership.FenceSpec{Accessor: ownership.Local, Scope: ownership.Own}, states(fence.ContextDestroyed))
		must(t, err)
		list := g.r.Explain().Fences
		if len(list) != 2 || list[0].Accessor != sender || list[0].Scope != "passive" || list[0].Freed != 1 ||
			list[0].Incarnation != g.s.Incarnation().String() || list[1].Accessor != "local" || list[1].Freed != 0 {
			t.Errorf("fences: %+v", list)
		}
		g.r.expect("fence: prefill-0 incarnation", "fence: local, scope own")
	})
}

// Explain keeps the latest fences only, and says of one that the program vouches for.
func TestFencesAreBounded(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		for range 300 {
			must(t, g.r.Fence(ownership.FenceSpec{Accessor: sender, Scope: ownership.Own}))
		}
		list := g.r.Explain().Fences
		if len(list) != 256 || !strings.Contains(list[0].Text, "0 claims freed: the program vouches for it") {
			t.Errorf("%d, the first is %+v", len(list), list[0])
		}
	})
}

// FenceGone says what it does not know.
func TestFenceGoneOfAnUnknownProcess(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		_, err := g.r.FenceGone(sender)
		wantErr(t, err, transfer.ErrNoPeer)
		attach(t, g.s, g.r)
		done, err := g.r.FenceGone(sender)
		must(t, err) // nothing is held
		rs, request := g.request()
		done2, err := g.r.FenceGone(sender)
		wantErr(t, err, fence.ErrNotProven)
		if len(done)+len(done2) != 0 || !strings.Contains(err.Error(), "only a Unix socket does") {
			t.Errorf("got %v, %v, %v", done, done2, err)
		}
		must(t, request.Refuse("no"))
		must(t, rs.Drain(t.Context()))
	})
}

// A statement, or evidence, that what is known of the peer's process contradicts is no
// evidence, whoever gives it.
func TestEvidenceIsContradicted(t *testing.T) {
	fabric := loop.New(loop.Config{Auto: true})
	s, r := newParty(t, fabric, sender), newParty(t, fabric, receiver)
	folder, err := os.MkdirTemp("", "kvx") // a socket's path is short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	l, err := rpc.Listen("unix:" + folder + "/s")
	if err != nil {
		t.Skip("no Unix socket here: ", err)
	}
	defer func() { _ = l.Close() }()
	attached := make(chan error, 1)
	go func() {
		stream, err := rpc.Dial(t.Context(), l.Addr())
		if err == nil {
			_, err = s.Attach(t.Context(), stream)
		}
		attached <- err
	}()
	stream, err := l.Accept(t.Context())
	must(t, err)
	_, err = r.Attach(t.Context(), stream)
	must(t, errors.Join(err, <-attached))
	rs, err := r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers(sender)})
	must(t, err)
	spec := ownership.FenceSpec{Accessor: sender, Scope: ownership.Passive}
	_, err = r.FenceBy(spec, states(fence.AllFacts()...))
	if !errors.Is(err, fence.ErrEvidence) || !strings.Contains(err.Error(), "in one that lives") {
		t.Errorf("of a process that lives: %v", err)
	}
	if _, err := r.FenceGone(sender); !errors.Is(err, fence.ErrNotProven) || !errors.Is(err, fence.ErrAlive) {
		t.Errorf("gone: %v", err)
	}
	another := exec.Command("true")
	if err := another.Start(); err != nil {
		t.Skip("no process to look at: ", err)
	}
	p, err := fence.Find(another.Process.Pid)
	must(t, errors.Join(err, another.Wait()))
	exited, err := p.Gone()
	must(t, err)
	if _, err := r.FenceBy(spec, exited); !errors.Is(err, fence.ErrEvidence) || !strings.Contains(err.Error(), "has ended, but incarnation") {
		t.Errorf("of another process: %v", err)
	}
	if err := r.region.Reuse(); !errors.Is(err, ownership.ErrRefused) {
		t.Errorf("reuse: %v", err)
	}
	must(t, r.Fence(spec))
	must(t, rs.Drain(t.Context()))
}

// newParty is an endpoint in real time.
func newParty(t *testing.T, fabric *loop.Fabric, name string) *party {
	t.Helper()
	g := &rig{t: t, fabric: fabric}
	p := g.party(name)
	t.Cleanup(func() { p.Halt(); _ = p.arena.Close() })
	return p
}

// deviceMemory is what a GPU's allocator would give, without a GPU.
type deviceMemory struct {
	*party
	ordinal int
	on      bool
	held    int
	length  int // in place of the arena's, unless zero
}

func (d *deviceMemory) Addr() uintptr         { return d.arena.Addr() }
func (d *deviceMemory) Len() int              { return cmp.Or(d.length, d.arena.Len()) }
func (d *deviceMemory) Device() (int, bool)   { return d.ordinal, d.on }
func (d *deviceMemory) Hold() (func(), error) { d.held++; return func() { d.held-- }, nil }

// Memory of a GPU is refused by a backend that has none, and let go again; memory that a
// driver pinned is the host's.
func TestRegisterDevice(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		other := g.party("other")
		m := &deviceMemory{party: other, ordinal: 1, on: true}
		_, err := g.r.RegisterDevice("vram", m)
		wantErr(t, err, backend.ErrMemoryKind)
		_, err = g.r.RegisterDevice("none", nil)
		wantErr(t, err, transfer.ErrConfig)
		m.ordinal = -1
		_, err = g.r.RegisterDevice("vram", m)
		wantErr(t, err, transfer.ErrConfig)
		if m.held != 0 {
			t.Errorf("held %d times", m.held)
		}
		m.on, m.length = false, -1
		_, err = g.r.RegisterDevice("vram", m)
		wantErr(t, err, transfer.ErrConfig)
		wantText(t, err, "0 bytes")
		if m.held != 0 {
			t.Errorf("held %d times", m.held)
		}
		m.length = 0
		region, err := g.r.RegisterDevice("vram", m) // the name is free again
		must(t, err)
		if m.held != 1 || region.Memory().Space != (backend.Space{}) {
			t.Errorf("held %d times, %v", m.held, region.Memory())
		}
		must(t, region.Deregister())
		if m.held != 0 {
			t.Errorf("held %d times", m.held)
		}
	})
}
