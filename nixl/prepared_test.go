// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/nixl"
)

// blocks are n segments of size bytes, one behind the other.
func blocks(base uint64, n, size int) (s []nixl.Segment) {
	for i := range n {
		s = append(s, nixl.Segment{Addr: base + uint64(i*size), Len: uint64(size)})
	}
	return s
}

func TestPreparedListsByIndexAndAgain(t *testing.T) {
	const n, size = 32, 4096
	lib := requireNIXL(t)
	a, b := newAgent(t, lib, "prep-a", nixl.TransportTCP), newAgent(t, lib, "prep-b", nixl.TransportTCP)
	src, dst := mapped(t, n*size), mapped(t, n*size)
	reg := register(t, a, src)
	register(t, b, dst)
	introduce(t, a, b)
	local, err := a.Prepare(nixl.PrepareConfig{Segments: blocks(addr(src), n, size)})
	if err != nil {
		t.Fatal(err)
	}
	remote, err := a.Prepare(nixl.PrepareConfig{Peer: b.Name(), Segments: blocks(addr(dst), n, size)})
	if err != nil {
		t.Fatal(err)
	}
	q, err := a.MakeRequest(nixl.MakeConfig{
		Op: nixl.Write, Local: local, LocalIndex: []int32{0, 5, 31}, Remote: remote, RemoteIndex: []int32{9, 1, 0},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []*nixl.Prepared{local, remote} { // the request does not need them any more
		if err := list.Release(); err != nil {
			t.Error(err)
		}
	}
	for round := range byte(3) { // the same request, posted again when it is done
		fill(src, 40+round)
		if _, err := q.Post(); err != nil {
			t.Fatal(err)
		}
		finish(t, q)
		want := make([]byte, n*size)
		for l, r := range map[int]int{0: 9, 5: 1, 31: 0} {
			copy(want[r*size:][:size], src[l*size:])
		}
		if !bytes.Equal(dst, want) {
			t.Fatalf("round %d: wrong bytes", round)
		}
	}
	for _, err := range []error{q.Release(), reg.Deregister()} {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := a.MakeRequest(nixl.MakeConfig{
		Op: nixl.Write, Local: local, LocalIndex: []int32{0}, Remote: remote, RemoteIndex: []int32{0},
	}); !errors.Is(err, nixl.ErrClosed) {
		t.Errorf("from released lists: %v, want ErrClosed", err)
	}
}

func TestPreparedListsRefuseBadInput(t *testing.T) {
	const n, size = 4, 4096
	lib := requireNIXL(t)
	a, b := newAgent(t, lib, "bad-a", nixl.TransportTCP), newAgent(t, lib, "bad-b", nixl.TransportTCP)
	src, dst := mapped(t, n*size), mapped(t, n*size)
	reg := register(t, a, src)
	register(t, b, dst)
	introduce(t, a, b)
	local, err := a.Prepare(nixl.PrepareConfig{Segments: blocks(addr(src), n, size)})
	if err != nil {
		t.Fatal(err)
	}
	remote, err := a.Prepare(nixl.PrepareConfig{Peer: b.Name(), Segments: append(blocks(addr(dst), n-1, size), nixl.Segment{Addr: addr(dst), Len: 7})})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg  nixl.MakeConfig
		want error
	}{
		"no op":          {nixl.MakeConfig{Local: local, LocalIndex: []int32{0}, Remote: remote, RemoteIndex: []int32{0}}, nixl.ErrArgument},
		"no lists":       {nixl.MakeConfig{Op: nixl.Read}, nixl.ErrArgument},
		"sides swapped":  {nixl.MakeConfig{Op: nixl.Write, Local: remote, LocalIndex: []int32{0}, Remote: local, RemoteIndex: []int32{0}}, nixl.ErrArgument},
		"no indices":     {nixl.MakeConfig{Op: nixl.Write, Local: local, Remote: remote}, nixl.ErrArgument},
		"counts differ":  {nixl.MakeConfig{Op: nixl.Write, Local: local, LocalIndex: []int32{0, 1}, Remote: remote, RemoteIndex: []int32{0}}, nixl.ErrArgument},
		"index outside":  {nixl.MakeConfig{Op: nixl.Write, Local: local, LocalIndex: []int32{n}, Remote: remote, RemoteIndex: []int32{0}}, nixl.ErrArgument},
		"negative index": {nixl.MakeConfig{Op: nixl.Write, Local: local, LocalIndex: []int32{-1}, Remote: remote, RemoteIndex: []int32{0}}, nixl.ErrArgument},
		"lengths differ": {nixl.MakeConfig{Op: nixl.Write, Local: local, LocalIndex: []int32{0}, Remote: remote, RemoteIndex: []int32{n - 1}}, nixl.ErrArgument},
	} {
		if _, err := a.MakeRequest(c.cfg); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := a.Prepare(nixl.PrepareConfig{Segments: blocks(addr(dst), 1, size)}); !errors.Is(err, nixl.ErrNotRegistered) {
		t.Errorf("memory that is not ours: %v", err)
	}
	if _, err := a.Prepare(nixl.PrepareConfig{Peer: "nobody", Segments: blocks(addr(dst), 1, size)}); !errors.Is(err, nixl.ErrUnknownPeer) {
		t.Errorf("unknown peer: %v", err)
	}
	if err := reg.Deregister(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.MakeRequest(nixl.MakeConfig{
		Op: nixl.Write, Local: local, LocalIndex: []int32{0}, Remote: remote, RemoteIndex: []int32{0},
	}); !errors.Is(err, nixl.ErrNotRegistered) {
		t.Errorf("after deregistration: %v", err)
	}
}
