// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ranks

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/etcd"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// diskSize holds the two segments that etcd reserves for its log, 64 MiB each, and
// little more.
const diskSize = "size=160m"

// TestDiskWithoutRoom: the disk under etcd fills up for real. etcd ends itself then,
// the rank says that it is cut off, nothing retires, and what is held is listed. With
// room on the disk and etcd started again everything goes on.
func TestDiskWithoutRoom(t *testing.T) {
	ctx := within(t, 4*time.Minute)
	m := &member{config: etcd.ServerConfig{Dir: filepath.Join(smallDisk(t), "etcd"), Listen: freeAddress(t)}}
	m.start(t)
	m.ready(t, ctx)
	store := dialMember(t, ctx, m)
	rank, err := cluster.Join(ctx, cluster.Config{Group: "g", Ranks: 1, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rank.Close() })
	epoch, err := rank.Epoch()
	if err != nil {
		t.Fatal(err)
	}
	q, err := rank.Open(ctx, session(1), epoch)
	if err != nil {
		t.Fatal(err)
	}

	filler := filepath.Join(filepath.Dir(m.config.Dir), "filler")
	fillDisk(t, filler)
	for !m.State().Gone() { // until its database has to grow
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, _ = store.Commit(one, cluster.Txn{Put: []cluster.Put{{Key: "/filler", Value: make([]byte, 256<<10)}}})
		cancel()
		if ctx.Err() != nil {
			t.Fatal("etcd lives on without room on its disk")
		}
	}
	if err := q.Publish(cluster.State{Outcome: outcome.Failed, Drained: true}); err != nil {
		t.Fatal(err)
	}
	for rank.Status().Standing != cluster.CutOff {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the rank stands %v", rank.Status())
		}
	}
	select {
	case <-q.Retired():
		t.Fatal("it retired although nothing can be written")
	default:
	}
	if len(rank.Retained()) != 1 {
		t.Errorf("retained: %v, want the request", rank.Retained())
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	m.start(t)
	m.ready(t, ctx)
	select {
	case <-q.Retired():
	case <-ctx.Done():
		t.Fatalf("not retired with room again; the rank stands %v", rank.Status())
	}
}

// smallDisk mounts one in memory.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, diskSize); err != nil {
		t.Skipf("no small disk to fill: mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

func fillDisk(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for block := make([]byte, 1<<20); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// freeAddress is one at which a server can be started again.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func dialMember(t *testing.T, ctx context.Context, m *member) *etcd.Store {
	t.Helper()
	store, err := Dial(ctx, Access{Endpoints: []string{m.url}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}
