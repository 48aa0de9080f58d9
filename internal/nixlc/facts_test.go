// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixlc_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/kvxfer/kvxfer/internal/nixlc"
	"github.com/kvxfer/kvxfer/nixl"
)

// These tests state facts of the real library that the binding is built on. If
// one fails with a new version of NIXL, the binding's reasoning must be read
// again before the fact is changed here.

// side is a raw agent with registered memory.
type side struct {
	api   nixlc.API
	agent nixlc.Agent
	name  string
	mem   []byte
	notes nixlc.NotifMap
}

var names atomic.Int64

func newSide(t *testing.T) *side {
	t.Helper()
	lib, err := nixl.Open(nixl.Options{Folders: []string{"../../.nixl"}})
	if err != nil {
		t.Skipf("%s not available (make nixl fetches it): %v", nixl.LibraryName, err)
	}
	if lib.Version().Less(nixl.Version{Major: 1, Minor: 5}) {
		t.Skipf("version %v answers every error with one code", lib.Version())
	}
	s := &side{name: fmt.Sprintf("fact-%d", names.Add(1))}
	if s.api, err = nixlc.Load(lib.Path()); err != nil {
		t.Fatal(err)
	}
	var code nixlc.Code
	s.agent, code = s.api.CreateAgent(s.name, nixlc.AgentConfig{Sync: nixlc.SyncStrict})
	is(t, "create agent", code, nixlc.CodeSuccess)
	t.Cleanup(func() { is(t, "destroy agent", s.api.DestroyAgent(s.agent), nixlc.CodeSuccess) })
	_, code = s.api.CreateBackend(s.agent, "UCX", []string{"engine_config", "TLS=tcp,NET_DEVICES=lo"})
	is(t, "create backend", code, nixlc.CodeSuccess)
	s.notes, code = s.api.CreateNotifMap()
	is(t, "create notif map", code, nixlc.CodeSuccess)
	// Mapped for good: a peer's metadata names it.
	s.mem, err = syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	is(t, "register", s.api.RegisterMem(s.agent, s.all(), 0), nixlc.CodeSuccess)
	return s
}

func (s *side) all() nixlc.List {
	addr := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(s.mem))))
	return nixlc.List{Mem: nixlc.MemDRAM, Descs: []nixlc.Desc{{Addr: addr, Len: uint64(len(s.mem))}}}
}

func (s *side) metadata(t *testing.T) []byte {
	t.Helper()
	md, code := s.api.LocalMD(s.agent)
	is(t, "local metadata", code, nixlc.CodeSuccess)
	return md
}

func (s *side) load(t *testing.T, o *side) {
	t.Helper()
	name, code := s.api.LoadRemoteMD(s.agent, o.metadata(t))
	is(t, "load", code, nixlc.CodeSuccess)
	if name != o.name {
		t.Fatalf("loaded %q, want %q", name, o.name)
	}
}

func (s *side) write(t *testing.T, o *side) nixlc.Request {
	t.Helper()
	r, code := s.api.CreateRequest(s.agent, &nixlc.RequestSpec{Op: nixlc.OpWrite, Local: s.all(), Remote: o.all(), Peer: o.name})
	is(t, "create request", code, nixlc.CodeSuccess)
	return r
}

// progress lets both sides work for a while.
func progress(t *testing.T, sides ...*side) {
	t.Helper()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		for _, s := range sides {
			_, code := s.api.TakeNotifs(s.agent, s.notes)
			is(t, "get notifs", code, nixlc.CodeSuccess)
		}
	}
}

func is(t *testing.T, what string, got, want nixlc.Code) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %v (%d), want %v", what, got, got, want)
	}
}

// The binding takes this answer to a first post for "nothing was queued".
func TestFirstPostToForgottenPeerQueuesNothing(t *testing.T) {
	for name, again := range map[string]bool{"forgotten": false, "loaded again": true} {
		t.Run(name, func(t *testing.T) {
			a, b := newSide(t), newSide(t)
			a.load(t, b)
			b.load(t, a)
			r := a.write(t, b)
			copy(a.mem, "never to arrive")
			is(t, "invalidate", a.api.InvalidateRemoteMD(a.agent, b.name), nixlc.CodeSuccess)
			if again {
				a.load(t, b)
			}
			is(t, "post", a.api.Post(a.agent, r), nixlc.CodeNotFound)
			progress(t, a, b)
			if !bytes.Equal(b.mem, make([]byte, len(b.mem))) {
				t.Error("bytes arrived")
			}
			is(t, "release", a.api.ReleaseRequest(a.agent, r), nixlc.CodeSuccess)
		})
	}
}

// The reason for the binding's envelope: NIXL takes metadata that was cut
// short, and the peer's name is unusable from then on, even with whole data.
func TestCutMetadataPoisonsThePeer(t *testing.T) {
	a, b := newSide(t), newSide(t)
	whole := b.metadata(t)
	a.load(t, b)
	if _, code := a.api.LoadRemoteMD(a.agent, whole[:len(whole)-10]); code == nixlc.CodeSuccess {
		t.Fatal("cut metadata was accepted")
	}
	if code := a.api.CheckRemoteMD(a.agent, b.name, nixlc.List{}); code == nixlc.CodeSuccess {
		t.Skip("this version keeps the peer: the envelope is needed less than it was")
	}
	if _, code := a.api.LoadRemoteMD(a.agent, whole); code == nixlc.CodeSuccess {
		t.Error("whole metadata cured it")
	}
}

// The reason for Request.Release refusing: NIXL says success and goes on.
func TestReleaseInFlightStopsNothing(t *testing.T) {
	a, b := newSide(t), newSide(t)
	a.load(t, b)
	first := a.write(t, b) // the first transfer makes the connection
	for code := a.api.Post(a.agent, first); code != nixlc.CodeSuccess; code = a.api.Status(a.agent, first) {
		is(t, "first transfer", code, nixlc.CodeInProgress)
		progress(t, b)
	}
	for i := range a.mem {
		a.mem[i] = 'x'
	}
	r := a.write(t, b) // b does not progress: it stays in flight
	is(t, "post", a.api.Post(a.agent, r), nixlc.CodeInProgress)
	is(t, "release in flight", a.api.ReleaseRequest(a.agent, r), nixlc.CodeSuccess)
	progress(t, a, b)
	if n := bytes.Count(b.mem, []byte("x")); n == 0 {
		t.Error("nothing arrived after the release")
	}
}

// The binding asks these itself, because NIXL's answer says nothing: a status
// before any post has the code of a broken transfer.
func TestStatusBeforePostLooksLikeFailure(t *testing.T) {
	a, b := newSide(t), newSide(t)
	a.load(t, b)
	r := a.write(t, b)
	is(t, "status before post", a.api.Status(a.agent, r), nixlc.CodeBackend)
	is(t, "destroy before release", a.api.DestroyRequest(r), nixlc.CodeInvalidState)
	is(t, "release", a.api.ReleaseRequest(a.agent, r), nixlc.CodeSuccess)
	is(t, "release twice", a.api.ReleaseRequest(a.agent, r), nixlc.CodeInvalidParam)
	is(t, "destroy", a.api.DestroyRequest(r), nixlc.CodeSuccess)
}

// Everything that the library exports is called, or there is a reason not to.
func TestTheWholeInterfaceIsKnown(t *testing.T) {
	lib, err := nixl.Open(nixl.Options{Folders: []string{"../../.nixl"}})
	if err != nil {
		t.Skipf("%s not available (make nixl fetches it): %v", nixl.LibraryName, err)
	}
	file, err := elf.Open(lib.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, s := range nixlc.Symbols() {
		called[s] = true
	}
	exported := map[string]bool{}
	for _, s := range symbols {
		name, ours := strings.CutPrefix(s.Name, nixlc.Prefix)
		if !ours || s.Section == elf.SHN_UNDEF {
			continue
		}
		exported[name] = true
		if why := nixlc.Unused[name]; called[name] == (why != "") {
			t.Errorf("%s: called %v, reason not to: %q", name, called[name], why)
		}
	}
	for s := range called {
		if !exported[s] {
			t.Logf("%v does not export %s", lib.Version(), s)
		}
	}
	t.Logf("%d exported, %d called", len(exported), len(called))
}
