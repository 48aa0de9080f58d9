// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/kvxfer/kvxfer/nixl"
)

// folder is where the module keeps an unpacked wheel.
const folder = "../.nixl"

// requireNIXL opens the real library or skips, saying what it looked for.
func requireNIXL(t testing.TB) *nixl.Library {
	t.Helper()
	lib, err := nixl.Open(nixl.Options{Folders: []string{folder}})
	if err != nil {
		t.Skipf("%s not available (make nixl fetches it): %v", nixl.LibraryName, err)
	}
	return lib
}

// newAgent creates an agent with a UCX backend; the test destroys it.
func newAgent(t testing.TB, lib *nixl.Library, name string, tr nixl.Transport) *nixl.Agent {
	t.Helper()
	a, err := lib.NewAgent(name, nixl.AgentConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Destroy(); err != nil {
			t.Errorf("destroy %s: %v", name, err)
		}
	})
	if _, err := a.CreateUCX(nixl.UCXConfig{Transport: tr, Device: "lo"}); err != nil {
		t.Fatal(err)
	}
	return a
}

// mapped returns memory that Go does not manage. It stays mapped for the life
// of the process: a peer may still have metadata that names it.
func mapped(t testing.TB, size int) []byte {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func addr(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// register registers all of b; the test deregisters it.
func register(t testing.TB, a *nixl.Agent, b []byte) *nixl.Registration {
	t.Helper()
	r, err := a.Register(nixl.Segment{Addr: addr(b), Len: uint64(len(b))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// introduce loads the metadata of to into from.
func introduce(t testing.TB, from, to *nixl.Agent) {
	t.Helper()
	md, err := to.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.LoadMetadata(md, to.Name()); err != nil {
		t.Fatal(err)
	}
}

// scattered pairs n blocks of size bytes of one buffer with the blocks of
// another in a different order.
func scattered(local, remote uint64, n, size int) (l, r []nixl.Segment) {
	for i := range n {
		l = append(l, nixl.Segment{Addr: local + uint64(2*i*size), Len: uint64(size)})
		r = append(r, nixl.Segment{Addr: remote + uint64(2*(n-1-i)*size), Len: uint64(size)})
	}
	return l, r
}

// finish polls until the request has ended, and fails the test when it never does.
func finish(t testing.TB, r *nixl.Request) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		s, err := r.Status()
		if err != nil {
			t.Fatal(err)
		}
		if s == nixl.StatusDone {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %v after 30 s", s)
		}
	}
}

func isInFlight(err error) bool { return errors.Is(err, nixl.ErrInFlight) }
func isFailed(err error) bool   { return errors.Is(err, nixl.ErrFailed) }
func isClosed(err error) bool   { return errors.Is(err, nixl.ErrClosed) }
func isBackend(err error) bool  { return errors.Is(err, nixl.ErrBackend) }

func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = seed + byte(i*7+i>>12)
	}
}

func TestMovesBytesBetweenAgents(t *testing.T) {
	lib := requireNIXL(t)
	t.Logf("%s, version %v, found in %s", lib.Path(), lib.Version(), lib.Found())
	for _, tr := range []nixl.Transport{nixl.TransportTCP, nixl.TransportCMA, nixl.TransportAuto} {
		for _, op := range []nixl.Op{nixl.Write, nixl.Read} {
			t.Run(fmt.Sprintf("%v/%v", tr, op), func(t *testing.T) {
				const n, size = 64, 16 << 10
				a := newAgent(t, lib, fmt.Sprintf("a-%v-%v", tr, op), tr)
				b := newAgent(t, lib, fmt.Sprintf("b-%v-%v", tr, op), tr)
				ours, theirs := mapped(t, 2*n*size), mapped(t, 2*n*size)
				src, dst := ours, theirs
				if op == nixl.Read {
					src, dst = theirs, ours
				}
				fill(src, 3)
				ra, rb := register(t, a, ours), register(t, b, theirs)
				introduce(t, a, b)

				l, r := scattered(addr(ours), addr(theirs), n, size)
				q, err := a.NewRequest(nixl.RequestConfig{Op: op, Peer: b.Name(), Local: l, Remote: r, Extra: nixl.Extra{Notify: []byte("moved")}})
				if err != nil {
					t.Fatal(err)
				}
				if s, err := q.Post(); err != nil || s != nixl.StatusDone && s != nixl.StatusInProgress {
					t.Fatalf("post: %v, %v", s, err)
				}
				finish(t, q)
				for i := range n {
					x, y := 2*i*size, 2*(n-1-i)*size
					if op == nixl.Read {
						x, y = y, x
					}
					if !bytes.Equal(dst[y:y+size], src[x:x+size]) {
						t.Fatalf("block %d differs", i)
					}
					if gap := dst[y+size : y+2*size]; !bytes.Equal(gap, make([]byte, size)) {
						t.Fatalf("bytes beside block %d were written", i)
					}
				}
				waitNotification(t, b, a.Name(), "moved")
				for _, err := range []error{q.Release(), q.Release(), ra.Deregister(), rb.Deregister()} {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

func waitNotification(t testing.TB, a *nixl.Agent, peer, message string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		got, err := a.Notifications()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range got {
			if n.Peer == peer && string(n.Message) == message {
				return
			}
			t.Fatalf("unexpected notification %q of %q", n.Message, n.Peer)
		}
	}
	t.Fatalf("no notification %q of %q", message, peer)
}

func sum(b []byte) string { s := sha256.Sum256(b); return fmt.Sprintf("%x", s[:8]) }

func TestMain(m *testing.M) {
	if role := os.Getenv(envRole); role != "" {
		os.Exit(runRole(role))
	}
	os.Exit(m.Run())
}
