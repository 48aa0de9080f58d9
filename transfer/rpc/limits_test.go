// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

func connected(t *testing.T, server, client rpc.Config) (dialled, accepted *rpc.Stream) {
	t.Helper()
	l := secureListener(t, server)
	dialled, err := client.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close() })
	if accepted, err = l.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dialled, accepted
}

// A message beyond the limit ends the stream of who sends it, with a typed error.
func TestMessageSizeIsLimited(t *testing.T) {
	counters := &rpc.Counters{}
	dialled, accepted := connected(t, rpc.Config{Limits: rpc.Limits{MessageBytes: 1000}, Counters: counters}, rpc.Config{})
	small := wire.Hello{Version: wire.Current, Endpoint: "p", Incarnation: wire.Incarnation{1}, Metadata: make([]byte, 500)}
	large := small
	large.Metadata = make([]byte, 1000)
	if err := errors.Join(dialled.Send(t.Context(), small), dialled.Send(t.Context(), large)); err != nil {
		t.Fatal(err)
	}
	if _, err := accepted.Recv(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := accepted.Recv(t.Context())
	var limit *rpc.LimitError
	if !errors.Is(err, rpc.ErrLimit) || !errors.As(err, &limit) || limit.Limit != 1000 {
		t.Errorf("got %v, want a *LimitError of 1000", err)
	}
	if n := counters.Oversize.Load(); n != 1 {
		t.Errorf("%d counted, want 1", n)
	}
}

// A peer that is faster than it may be waits, and loses nothing.
func TestMessageRateIsLimited(t *testing.T) {
	counters := &rpc.Counters{}
	dialled, accepted := connected(t, rpc.Config{Limits: rpc.Limits{MessagesPerSecond: 2000, Burst: 10}, Counters: counters}, rpc.Config{})
	go func() {
		for i := range uint64(100) {
			_ = dialled.Send(t.Context(), wire.Receipt{Received: i})
		}
	}()
	for i := range uint64(100) {
		if m, err := accepted.Recv(t.Context()); err != nil || m != (wire.Receipt{Received: i}) {
			t.Fatalf("message %d: got %v, %v", i, m, err)
		}
	}
	if counters.Delayed.Load() == 0 {
		t.Error("nothing was delayed")
	}
}

// One name has a few streams and no more; another name has its own.
func TestStreamsOfANameAreLimited(t *testing.T) {
	dir := t.TempDir()
	issue(t, dir, "server", "a", "b")
	counters := &rpc.Counters{}
	l := secureListener(t, rpc.Config{Identity: identity(t, dir, "server"), Limits: rpc.Limits{Streams: 2}, Counters: counters})
	a := rpc.Config{Identity: identity(t, dir, "a")}
	var streams []*rpc.Stream
	for range 2 {
		s, err := a.Dial(t.Context(), l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		streams = append(streams, s)
	}
	if s, err := a.Dial(t.Context(), l.Addr()); !errors.Is(err, rpc.ErrLimit) || s != nil {
		t.Errorf("a third stream: %v, want ErrLimit", err)
	}
	if n := counters.TurnedAway.Load(); n != 1 {
		t.Errorf("%d counted, want 1", n)
	}
	s, err := rpc.Config{Identity: identity(t, dir, "b")}.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatalf("another name: %v", err)
	}
	s.Close()
	streams[0].Close()
	for { // the listener notices that the stream is closed, soon
		s, err := a.Dial(t.Context(), l.Addr())
		if err == nil {
			s.Close()
			return
		}
		if !errors.Is(err, rpc.ErrLimit) || t.Context().Err() != nil {
			t.Fatalf("in place of a closed stream: %v", err)
		}
	}
}

// Who waits for Accept longer than there is room is turned away.
func TestBacklogIsLimited(t *testing.T) {
	counters := &rpc.Counters{}
	l := secureListener(t, rpc.Config{Counters: counters})
	var all sync.WaitGroup
	defer all.Wait()
	var err error
	for n := 0; err == nil; n++ { // a stream waits a moment after its dialler knows of it
		var s *rpc.Stream
		s, err = rpc.Dial(t.Context(), l.Addr())
		switch {
		case err == nil && n > rpc.Backlog+10:
			t.Fatalf("%d streams wait", n)
		case err == nil:
			defer all.Go(func() { s.Close() })
		case n < rpc.Backlog || !errors.Is(err, rpc.ErrLimit):
			t.Errorf("stream %d: %v, want ErrLimit after %d", n, err, rpc.Backlog)
		}
	}
	if counters.TurnedAway.Load() == 0 {
		t.Error("not counted")
	}
}
