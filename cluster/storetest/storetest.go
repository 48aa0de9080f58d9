// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package storetest checks that a cluster.Store does what ranks rely on.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
)

// Harness makes stores for the checks.
type Harness struct {
	// Open returns a way to the store under test, which may be shared: every
	// check uses keys of its own.
	Open func(t *testing.T) cluster.Store
	// Compact makes the store forget all changes so far.
	Compact func(t *testing.T)
	// Lease is how long the shortest lease of the store is.
	Lease time.Duration
}

// Run runs all checks.
func Run(t *testing.T, h Harness) {
	for name, check := range map[string]func(*testing.T, Harness, string){
		"conditions": conditions, "watch": watchInOrder, "compaction": compaction, "lease": leases, "ranges": ranges, "load": loadIsOneMoment,
	} {
		t.Run(name, func(t *testing.T) { check(t, h, "/storetest/"+name+"/") })
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func mustCommit(t *testing.T, s cluster.Store, txn cluster.Txn) cluster.Revision {
	t.Helper()
	at, err := s.Commit(within(t), txn)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func put(key, value string) cluster.Txn {
	return cluster.Txn{Put: []cluster.Put{{Key: key, Value: []byte(value)}}}
}

func conditions(t *testing.T, h Harness, prefix string) {
	s, key, other := h.Open(t), prefix+"a", prefix+"b"
	first := mustCommit(t, s, cluster.Txn{If: []cluster.Condition{{Key: key}}, Put: put(key, "1").Put})
	var unmet *cluster.ConditionError
	_, err := s.Commit(within(t), cluster.Txn{If: []cluster.Condition{{Key: other}, {Key: key}}, Put: put(other, "1").Put})
	if !errors.As(err, &unmet) || unmet.Key != key || unmet.Have != first || unmet.Want != 0 {
		t.Fatalf("a condition that does not hold: %v, want that %s is at %d", err, key, first)
	}
	if list, _, err := s.Load(within(t), other); err != nil || len(list) > 0 {
		t.Errorf("the refused transaction left %v, %v", list, err)
	}
	second := mustCommit(t, s, cluster.Txn{If: []cluster.Condition{{Key: key, Revision: first}}, Put: put(key, "2").Put})
	if second <= first {
		t.Errorf("revision %d after %d", second, first)
	}
}

// read reads changes until n have come.
func read(t *testing.T, w cluster.Watch, n int) (events []cluster.Event) {
	t.Helper()
	for len(events) < n {
		more, err := w.Next(within(t))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, more...)
	}
	return events
}

func watchInOrder(t *testing.T, h Harness, prefix string) {
	s := h.Open(t)
	before := mustCommit(t, s, put(prefix+"0", "before"))
	w, err := s.Watch(within(t), prefix, before)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const n = 50
	var want []string
	for i := range n {
		at := mustCommit(t, s, put(fmt.Sprintf("%s%d", prefix, i%7), fmt.Sprint(i)))
		mustCommit(t, s, put("/elsewhere", "x"))
		want = append(want, fmt.Sprintf("%d %s%d=%d", at, prefix, i%7, i))
	}
	var got []string
	for _, e := range read(t, w, n) {
		got = append(got, fmt.Sprintf("%d %s=%s", e.Revision, e.Key, e.Value))
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("changes were\n%s\nwant\n%s", g, w)
	}
}

func compaction(t *testing.T, h Harness, prefix string) {
	s := h.Open(t)
	first := mustCommit(t, s, put(prefix+"a", "1"))
	for range 3 {
		mustCommit(t, s, put(prefix+"a", "2"))
	}
	h.Compact(t)
	w, err := s.Watch(within(t), prefix, first)
	if err == nil {
		defer w.Close()
		_, err = w.Next(within(t))
	}
	if !errors.Is(err, cluster.ErrCompacted) {
		t.Errorf("a watch from a compacted revision: %v, want ErrCompacted", err)
	}
}

func leases(t *testing.T, h Harness, prefix string) {
	s, key := h.Open(t), prefix+"a"
	id, err := s.Grant(within(t), h.Lease)
	if err != nil {
		t.Fatal(err)
	}
	at := mustCommit(t, s, cluster.Txn{Put: []cluster.Put{{Key: key, Value: []byte("1"), Lease: id}}})
	w, err := s.Watch(within(t), prefix, at)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := s.KeepAlive(within(t), id); err != nil {
		t.Fatal(err)
	}
	if e := read(t, w, 1)[0]; !e.Deleted || e.Key != key {
		t.Errorf("at the end of the lease: %+v, want the deletion of %s", e, key)
	}
	if err := s.KeepAlive(within(t), id); !errors.Is(err, cluster.ErrLeaseEnded) {
		t.Errorf("keeping an ended lease: %v, want ErrLeaseEnded", err)
	}
	if _, err := s.Commit(within(t), cluster.Txn{Put: []cluster.Put{{Key: key, Lease: id}}}); !errors.Is(err, cluster.ErrLeaseEnded) {
		t.Errorf("a key under an ended lease: %v, want ErrLeaseEnded", err)
	}
	id, err = s.Grant(within(t), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, cluster.Txn{Put: []cluster.Put{{Key: key, Lease: id}}})
	if err := s.Revoke(within(t), id); err != nil {
		t.Fatal(err)
	}
	if list, _, err := s.Load(within(t), prefix); err != nil || len(list) > 0 {
		t.Errorf("after a revoke there is %v, %v", list, err)
	}
}

func ranges(t *testing.T, h Harness, prefix string) {
	s := h.Open(t)
	for _, k := range []string{"a", "b", "c", "d"} {
		mustCommit(t, s, put(prefix+k, k))
	}
	mustCommit(t, s, cluster.Txn{Delete: []cluster.Range{{From: prefix + "b", To: prefix + "c\x00"}}})
	list, _, err := s.Load(within(t), prefix)
	if err != nil || len(list) != 2 || list[0].Key != prefix+"a" || list[1].Key != prefix+"d" {
		t.Errorf("left are %v, %v; want a and d", list, err)
	}
}

// loadIsOneMoment: what Load returns is as of its revision, so that a watch
// from there misses nothing.
func loadIsOneMoment(t *testing.T, h Harness, prefix string) {
	s := h.Open(t)
	last := mustCommit(t, s, put(prefix+"a", "1"))
	list, at, err := s.Load(within(t), prefix)
	if err != nil || at < last || len(list) != 1 || list[0].Revision != last || string(list[0].Value) != "1" {
		t.Fatalf("load: %v at %d, %v; want a=1 at %d or later", list, at, err, last)
	}
	w, err := s.Watch(within(t), prefix, at)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	next := mustCommit(t, s, put(prefix+"a", "2"))
	if e := read(t, w, 1)[0]; e.Revision != next {
		t.Errorf("the watch begins with revision %d, want %d", e.Revision, next)
	}
}
