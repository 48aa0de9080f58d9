// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/nixl"
)

// A peer gets the way first, then one registration, then the other.
func TestPartialMetadata(t *testing.T) {
	lib := requireNIXL(t)
	a, b := newAgent(t, lib, "part-a", nixl.TransportTCP), newAgent(t, lib, "part-b", nixl.TransportTCP)
	ours, first, second := mapped(t, 4096), mapped(t, 4096), mapped(t, 4096)
	register(t, a, ours)
	one, two := register(t, b, first), register(t, b, second)
	fill(ours, 77)
	load := func(regs ...*nixl.Registration) {
		t.Helper()
		md, err := b.PartialMetadata(regs)
		if err != nil {
			t.Fatal(err)
		}
		if name, err := a.LoadMetadata(md, b.Name()); err != nil || name != b.Name() {
			t.Fatalf("load: %q, %v", name, err)
		}
	}
	write := func(to []byte) error {
		q, err := a.NewRequest(nixl.RequestConfig{
			Op: nixl.Write, Peer: b.Name(),
			Local: []nixl.Segment{{Addr: addr(ours), Len: 4096}}, Remote: []nixl.Segment{{Addr: addr(to), Len: 4096}},
		})
		if err != nil {
			return err
		}
		if _, err := q.Post(); err != nil {
			return err
		}
		finish(t, q)
		return q.Release()
	}
	load()
	if err := write(first); err == nil {
		t.Error("wrote with the way alone")
	}
	load(one)
	if err := write(first); err != nil || sum(first) != sum(ours) {
		t.Errorf("the first: %v", err)
	}
	if err := write(second); err == nil {
		t.Error("wrote to what was not in the metadata")
	}
	load(two)
	if err := write(second); err != nil || sum(second) != sum(ours) {
		t.Errorf("the second: %v", err)
	}
	if _, err := b.PartialMetadata([]*nixl.Registration{register(t, a, mapped(t, 4096))}); !errors.Is(err, nixl.ErrArgument) {
		t.Errorf("another agent's registration: %v", err)
	}
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// listener is an agent that exchanges metadata by itself.
func listener(t *testing.T, name string) (*nixl.Agent, netip.AddrPort) {
	t.Helper()
	port := freePort(t)
	a, err := requireNIXL(t).NewAgent(name, nixl.AgentConfig{ListenPort: port, ListenDelay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Destroy(); err != nil {
			t.Error(err)
		}
	})
	if _, err := a.CreateUCX(nixl.UCXConfig{Transport: nixl.TransportTCP, Device: "lo"}); err != nil {
		t.Fatal(err)
	}
	return a, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
}

// until waits for NIXL's thread to have done what was asked of it.
func until(t *testing.T, a *nixl.Agent, peer string, want bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		got, err := a.CheckMetadata(peer, nixl.DRAM)
		if err != nil || time.Now().After(end) {
			t.Fatalf("metadata of %s: %v, %v, want %v", peer, got, err, want)
		}
		if got == want {
			break
		}
	}
	if a.Knows(peer) != want {
		t.Errorf("knows %s: %v", peer, !want)
	}
}

// exchange moves bytes after a has got b's metadata by get, and until it is
// withdrawn.
func exchange(t *testing.T, a, b *nixl.Agent, publish, get, withdraw func() error) {
	t.Helper()
	ours, theirs := mapped(t, 4096), mapped(t, 4096)
	register(t, a, ours)
	register(t, b, theirs)
	fill(ours, 31)
	if err := errors.Join(publish(), get()); err != nil {
		t.Fatal(err)
	}
	until(t, a, b.Name(), true)
	for covered, s := range map[bool]nixl.Segment{true: {Addr: addr(theirs), Len: 4096}, false: {Addr: addr(theirs), Len: 1 << 20}} {
		if got, err := a.CheckMetadata(b.Name(), nixl.DRAM, s); got != covered || err != nil {
			t.Errorf("covers %+v: %v, %v", s, got, err)
		}
	}
	cfg := nixl.RequestConfig{
		Op: nixl.Write, Peer: b.Name(),
		Local: []nixl.Segment{{Addr: addr(ours), Len: 4096}}, Remote: []nixl.Segment{{Addr: addr(theirs), Len: 4096}},
	}
	if err := oneTransfer(a, cfg); err != nil || sum(ours) != sum(theirs) {
		t.Errorf("transfer: %v", err)
	}
	if err := withdraw(); err != nil {
		t.Fatal(err)
	}
	until(t, a, b.Name(), false)
	if _, err := a.NewRequest(cfg); !errors.Is(err, nixl.ErrUnknownPeer) {
		t.Errorf("a request after the metadata went: %v", err)
	}
}

func TestMetadataFromAPeer(t *testing.T) {
	t.Run("fetched", func(t *testing.T) {
		a, at := listener(t, "fetch-a")
		b, from := listener(t, "fetch-b")
		exchange(t, a, b,
			func() error { return nil },
			func() error { return a.FetchMetadata(b.Name(), from) },
			func() error { return b.WithdrawMetadata(at) })
	})
	t.Run("sent", func(t *testing.T) {
		a, at := listener(t, "send-a")
		b, _ := listener(t, "send-b")
		exchange(t, a, b,
			func() error { return nil },
			func() error { return b.SendMetadata(at) },
			func() error { return b.WithdrawMetadata(at) })
	})
}

// A part goes to a peer that has the way already.
func TestPartOfMetadataSentToAPeer(t *testing.T) {
	a, at := listener(t, "sendpart-a")
	b, from := listener(t, "sendpart-b")
	if err := a.FetchMetadata(b.Name(), from); err != nil {
		t.Fatal(err)
	}
	until(t, a, b.Name(), true)
	mem := mapped(t, 4096)
	reg := register(t, b, mem)
	s := nixl.Segment{Addr: addr(mem), Len: 4096}
	if got, err := a.CheckMetadata(b.Name(), nixl.DRAM, s); got || err != nil {
		t.Fatalf("memory that was not announced: %v, %v", got, err)
	}
	if err := b.SendPartialMetadata([]*nixl.Registration{reg}, at); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		got, err := a.CheckMetadata(b.Name(), nixl.DRAM, s)
		if err != nil || time.Now().After(end) {
			t.Fatalf("it did not arrive: %v, %v", got, err)
		}
		if got {
			break
		}
	}
}

func TestMetadataFromNowhere(t *testing.T) {
	t.Setenv(nixl.EnvEtcd, "") // to be restored
	if err := os.Unsetenv(nixl.EnvEtcd); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, requireNIXL(t), "nowhere", nixl.TransportTCP)
	for call, err := range map[string]error{
		"send": a.SendMetadata(netip.AddrPort{}), "fetch": a.FetchMetadata("x", netip.AddrPort{}),
		"withdraw": a.WithdrawMetadata(netip.AddrPort{}), "partial": a.SendPartialMetadata(nil, netip.AddrPort{}),
	} {
		if !errors.Is(err, nixl.ErrArgument) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if got, err := a.CheckMetadata("x", nixl.DRAM); got || err != nil {
		t.Errorf("check: %v, %v", got, err)
	}
}
