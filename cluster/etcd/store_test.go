// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/etcd"
	"github.com/kvxfer/kvxfer/cluster/storetest"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

func start(t *testing.T, c etcd.ServerConfig) *etcd.Server {
	t.Helper()
	c.Dir = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := etcd.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func dial(t *testing.T, urls ...string) *etcd.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := etcd.Dial(ctx, etcd.Config{Endpoints: urls})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStore(t *testing.T) {
	server := start(t, etcd.ServerConfig{Heartbeat: 10 * time.Millisecond})
	storetest.Run(t, storetest.Harness{
		Open: func(t *testing.T) cluster.Store { return dial(t, server.URL()) },
		Compact: func(t *testing.T) {
			s := dial(t, server.URL())
			_, at, err := s.Load(t.Context(), "/")
			if err == nil {
				err = s.Compact(t.Context(), at)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		Lease: time.Second,
	})
}

// TestFullDisk: with the database over its quota nothing retires, and that is
// to be seen; with room made everything goes on.
func TestFullDisk(t *testing.T) {
	server := start(t, etcd.ServerConfig{Heartbeat: 10 * time.Millisecond, Quota: 4 << 20})
	full := make(chan struct{})
	rank, err := cluster.Join(t.Context(), cluster.Config{
		Group: "g", Ranks: 1, Store: dial(t, server.URL()),
		OnStatus: func(s cluster.Status) {
			if s.Standing == cluster.Full {
				close(full)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rank.Close() })
	filler := dial(t, server.URL())
	for err == nil {
		_, err = filler.Commit(t.Context(), cluster.Txn{Put: []cluster.Put{{Key: "/filler", Value: make([]byte, 512<<10)}}})
	}
	if !errors.Is(err, cluster.ErrFull) {
		t.Fatalf("a full etcd says %v, want ErrFull", err)
	}
	epoch, err := rank.Epoch()
	if err != nil {
		t.Fatal(err)
	}
	q, err := rank.Open(t.Context(), ownership.SessionName{Request: ownership.RequestID{Endpoint: "e", Number: 1}, Attempt: 1}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Publish(cluster.State{Outcome: outcome.Failed, Drained: true}); err != nil {
		t.Fatal(err)
	}
	<-full
	select {
	case <-q.Retired():
		t.Fatal("it retired although nothing can be written")
	default:
	}
	if len(rank.Retained()) != 1 {
		t.Errorf("retained: %v, want the request", rank.Retained())
	}
	if _, err := filler.Commit(t.Context(), cluster.Txn{Delete: []cluster.Range{{From: "/filler", To: "/filler\x00"}}}); err != nil {
		t.Fatal(err)
	}
	if err := filler.MakeRoom(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-q.Retired()
}

func TestConfig(t *testing.T) {
	for _, c := range []etcd.ServerConfig{{}, {Dir: "d", Listen: "0.0.0.0:0"}, {Dir: "d", Peers: "nonsense"}} {
		if _, err := etcd.Start(t.Context(), c); !errors.Is(err, etcd.ErrConfig) {
			t.Errorf("%+v: %v, want ErrConfig", c, err)
		}
	}
	if _, err := etcd.Dial(t.Context(), etcd.Config{}); !errors.Is(err, etcd.ErrConfig) {
		t.Errorf("no endpoint: %v, want ErrConfig", err)
	}
}
