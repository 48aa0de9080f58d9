// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package etcdtest exchanges NIXL's metadata through a real etcd. It is apart
// from package nixl, whose tests need no server.
package etcdtest

import (
	"errors"
	"net/netip"
	"net/url"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/kvxfer/kvxfer/nixl"
)

// store starts an etcd of one member, in this process, and names it to NIXL.
func store(t *testing.T) {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	cfg.LogLevel = "fatal" // closing its own listeners is an error to it
	any, err := url.Parse("http://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*any}, []url.URL{*any}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*any}, []url.URL{*any}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd is not ready after a minute")
	}
	t.Setenv(nixl.EnvEtcd, "http://"+e.Clients[0].Addr().String())
}

func newAgent(t *testing.T, lib *nixl.Library, name string, mem []byte) (*nixl.Agent, *nixl.Registration) {
	t.Helper()
	a, err := lib.NewAgent(name, nixl.AgentConfig{ListenDelay: time.Millisecond})
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
	r, err := a.Register(segment(mem), nil)
	if err != nil {
		t.Fatal(err)
	}
	return a, r
}

func mapped(t *testing.T) []byte {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func segment(b []byte) nixl.Segment {
	return nixl.Segment{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), Len: uint64(len(b))}
}

func until(t *testing.T, a *nixl.Agent, peer string, want bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got, err := a.CheckMetadata(peer, nixl.DRAM)
		if err != nil || time.Now().After(end) {
			t.Fatalf("metadata of %s: %v, %v, want %v", peer, got, err, want)
		}
		if got == want {
			return
		}
	}
}

func TestMetadataThroughEtcd(t *testing.T) {
	lib, err := nixl.Open(nixl.Options{Folders: []string{"../../.nixl"}})
	if err != nil {
		t.Skipf("%s not available (make nixl fetches it): %v", nixl.LibraryName, err)
	}
	store(t)
	ours, theirs := mapped(t), mapped(t)
	copy(ours, "through etcd")
	a, _ := newAgent(t, lib, "etcd-a", ours)
	b, reg := newAgent(t, lib, "etcd-b", theirs)
	etcd := netip.AddrPort{}
	// A part needs a label in the store, which the C interface cannot give it.
	if err := b.SendPartialMetadata([]*nixl.Registration{reg}, etcd); !errors.Is(err, nixl.ErrInvalidParam) {
		t.Errorf("a part of the metadata to the store: %v", err)
	}
	if err := errors.Join(b.SendMetadata(etcd), a.FetchMetadata(b.Name(), etcd)); err != nil {
		t.Fatal(err)
	}
	until(t, a, b.Name(), true)
	cfg := nixl.RequestConfig{
		Op: nixl.Write, Peer: b.Name(), Local: []nixl.Segment{segment(ours)}, Remote: []nixl.Segment{segment(theirs)},
	}
	q, err := a.NewRequest(cfg)
	if err != nil {
		t.Fatal(err)
	}
	status, err := q.Post()
	for end := time.Now().Add(time.Minute); status == nixl.StatusInProgress && time.Now().Before(end); {
		status, err = q.Status()
	}
	if status != nixl.StatusDone || err != nil || string(theirs[:12]) != "through etcd" {
		t.Fatalf("transfer: %v, %v", status, err)
	}
	if err := q.Release(); err != nil {
		t.Error(err)
	}
	if err := b.WithdrawMetadata(etcd); err != nil {
		t.Fatal(err)
	}
	until(t, a, b.Name(), false)
	if _, err := a.NewRequest(cfg); !errors.Is(err, nixl.ErrUnknownPeer) {
		t.Errorf("after the metadata was withdrawn: %v", err)
	}
}
