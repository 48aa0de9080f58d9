// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package nixl_test

import (
	"bytes"
	"testing"
	"time"
	"unsafe"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/backendtest"
	adapter "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/nixl"
)

// Each side reads scattered blocks of the other at the same time, with a
// notification, over every transport.
func TestReadBothWays(t *testing.T) {
	for _, tr := range []nixl.Transport{nixl.TransportTCP, nixl.TransportCMA} {
		t.Run(tr.String(), func(t *testing.T) {
			cfg := adapter.Config{Transport: tr, NoProgressThread: true}
			sides := [2]backendtest.Side{newSide(t, cfg), newSide(t, cfg)}
			regs := [2]backend.Registration{}
			for i, s := range sides {
				for j := range s.Memory {
					s.Memory[j] = byte(j>>8) + byte(j*(i+3))
				}
				var err error
				if regs[i], err = s.Backend.Register(backend.Memory{Addr: base(s.Memory), Len: backendtest.MemoryLen}); err != nil {
					t.Fatal(err)
				}
			}
			ops := [2]backend.Operation{}
			for i := range sides {
				ours, theirs := sides[i], sides[1-i]
				md, err := theirs.Backend.Metadata()
				if err != nil {
					t.Fatal(err)
				}
				if err := ours.Backend.Connect(theirs.Name, md); err != nil {
					t.Fatal(err)
				}
				if ops[i], err = ours.Backend.Prepare(readAll(ours, theirs)); err != nil {
					t.Fatal(err)
				}
			}
			want := [2][]byte{bytes.Clone(sides[0].Memory), bytes.Clone(sides[1].Memory)}
			for i := range sides {
				for k := range blocks {
					copy(want[i][half+2*(blocks-1-k)*size:][:size], sides[1-i].Memory[2*k*size:])
				}
			}
			posted := postBoth(t, sides, ops)
			for i, s := range sides {
				if posted[i].Status != backend.Done {
					t.Errorf("side %d: %v, %v", i, posted[i].Status, posted[i].Err)
				}
				if !bytes.Equal(s.Memory, want[i]) {
					t.Errorf("side %d: memory differs", i)
				}
				if err := ops[i].Release(); err != nil {
					t.Error(err)
				}
			}
			for i, s := range sides {
				for _, err := range []error{s.Backend.Deregister(regs[i]), s.Backend.Disconnect(sides[1-i].Name), s.Backend.Close()} {
					if err != nil {
						t.Error(err)
					}
				}
			}
			for _, s := range sides {
				if err := s.Free(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

const (
	half         = backendtest.MemoryLen / 2
	blocks, size = 32, 16 << 10
)

// readAll reads blocks of the first half of one side's memory, in reverse, into
// the second half of the other's.
func readAll(ours, theirs backendtest.Side) backend.Request {
	r := backend.Request{Direction: backend.Read, Peer: theirs.Name, Notify: []byte("read")}
	for k := range blocks {
		r.Remote = append(r.Remote, backend.Segment{Addr: uint64(base(theirs.Memory)) + uint64(2*k*size), Len: size})
		r.Local = append(r.Local, backend.Segment{Addr: uint64(base(ours.Memory)) + half + uint64(2*(blocks-1-k)*size), Len: size})
	}
	return r
}

// postBoth runs an operation of each side until both have ended and both sides
// were notified.
func postBoth(t *testing.T, sides [2]backendtest.Side, ops [2]backend.Operation) [2]backend.Observation {
	t.Helper()
	seen := [2]backend.Observation{ops[0].Post(), ops[1].Post()}
	heard := [2]int{}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		running := 0
		for i, s := range sides {
			if o := &seen[i]; o.Status == backend.Submitted || o.Status == backend.InProgress {
				s.Backend.Poll(ops[i:i+1], seen[i:i+1])
				running++
			}
			notes, err := s.Backend.Progress()
			if err != nil {
				t.Fatal(err)
			}
			heard[i] += len(notes)
		}
		if running == 0 && heard == [2]int{1, 1} {
			return seen
		}
	}
	t.Fatalf("after 30 s: %v, %v, notifications %v", seen[0].Status, seen[1].Status, heard)
	return seen
}

func base(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
