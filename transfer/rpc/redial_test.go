// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// cutter is a TCP proxy that lets a random number of bytes through each
// connection and then breaks it, both ways at once, in the middle of whatever
// was being said.
type cutter struct {
	to   string
	l    net.Listener
	cuts atomic.Int64
	// most is how many bytes get through at most; 0: no more cuts.
	most atomic.Int64
}

func newCutter(t *testing.T, to string, most int64) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &cutter{to: to, l: l}
	c.most.Store(most)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go c.carry(in)
		}
	}()
	return c
}

func (c *cutter) carry(in net.Conn) {
	out, err := net.Dial("tcp", c.to)
	if err != nil {
		in.Close()
		return
	}
	var left atomic.Int64
	left.Store(1 << 60)
	if most := c.most.Load(); most > 0 {
		left.Store(rand.Int64N(most))
	}
	var once sync.Once
	end := func() { once.Do(func() { in.Close(); out.Close() }) }
	half := func(to, from net.Conn) {
		defer end()
		buf := make([]byte, 4096)
		for {
			n, err := from.Read(buf)
			allowed := min(int64(n), max(0, left.Add(-int64(n))+int64(n)))
			if c.most.Load() == 0 {
				allowed = int64(n)
			}
			if _, werr := to.Write(buf[:allowed]); err != nil || werr != nil {
				return
			}
			if allowed < int64(n) {
				c.cuts.Add(1)
				return
			}
		}
	}
	go half(in, out)
	half(out, in)
}

// regions are memory of one endpoint, one region for each transfer at a time.
func regions(t *testing.T, e *endpoint, n int) []*transfer.Region {
	t.Helper()
	list := make([]*transfer.Region, n)
	for i := range list {
		arena, err := memory.New(memory.Spec{Len: 4096})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { arena.Close() })
		if list[i], err = e.Register(string(rune('a'+i)), arena); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// Connections break at random moments, again and again, while requests, results
// and cancels are under way. Nothing is lost: each session ends on proof. And
// nothing is doubled: no message is evidence twice, which would be a conflict.
func TestReportsResumeOverConnectionsThatBreak(t *testing.T) {
	const workers, each = 4, 25
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	fabric := loop.New(loop.Config{Auto: true})
	prefill, decode := newEndpoint(t, fabric, "prefill-0"), newEndpoint(t, fabric, "decode-0")
	l := listen(t, "127.0.0.1:0")
	go func() {
		for {
			s, err := l.Accept(ctx)
			if err != nil {
				return
			}
			go func() { _, _ = prefill.Attach(ctx, s) }()
		}
	}()
	prefill.OnRequest(func(r *transfer.Request) {
		s, err := r.Send(transfer.SendSpec{Region: prefill.region, Blocks: []transfer.Block{{Len: r.Len()}}})
		if err == nil {
			err = s.Drain(ctx)
		}
		if err != nil && !errors.Is(err, transfer.ErrAnswered) && !errors.Is(err, ownership.ErrClosed) {
			t.Error(err)
		}
	})
	proxy := newCutter(t, l.Addr(), 3000)
	keeping, stop := context.WithCancel(ctx)
	kept := make(chan error, 1)
	go func() { kept <- rpc.Config{}.Keep(keeping, decode.Endpoint, proxy.l.Addr().String(), nil) }()

	var delivered, cancelled atomic.Int64
	var all sync.WaitGroup
	destinations := regions(t, decode, workers)
	for w, region := range destinations {
		all.Go(func() {
			for n := range each {
				if err := one(ctx, decode, region, w == 0 && n%2 == 0, &delivered, &cancelled); err != nil {
					t.Errorf("worker %d, transfer %d: %v", w, n, err)
					return
				}
			}
		})
	}
	all.Wait()
	if delivered.Load()+cancelled.Load() != workers*each || delivered.Load() < workers*each/2 {
		t.Errorf("%d delivered and %d cancelled of %d", delivered.Load(), cancelled.Load(), workers*each)
	}
	if proxy.cuts.Load() < 5 {
		t.Errorf("only %d connections were cut", proxy.cuts.Load())
	}
	for _, e := range []*endpoint{prefill, decode} {
		if c := e.Counters(); c.Conflicts != 0 || c.ForeignMessages != 0 || c.ProtocolViolations != 0 {
			t.Errorf("%s: %+v", e.Name(), c)
		}
	}
	proxy.most.Store(0)
	// A side that stops between two connections has nobody to say Goodbye to, and the
	// other one would wait for its receipts. One more transfer goes both ways over the
	// connection that stays.
	if err := one(ctx, decode, destinations[0], false, &delivered, &cancelled); err != nil {
		t.Error(err)
	}
	for _, e := range []*endpoint{prefill, decode} {
		if err := idle(ctx, e); err != nil {
			t.Errorf("%s: %v", e.Name(), err)
		}
	}
	if err := decode.Stop(ctx); err != nil {
		t.Error(err)
	}
	if err := prefill.Stop(ctx); err != nil {
		t.Error(err)
	}
	stop()
	<-kept
	t.Logf("%d connections cut, %d messages came again and were dropped", proxy.cuts.Load(), prefill.Counters().RepeatedMessages+decode.Counters().RepeatedMessages)
}

// idle waits until the endpoint owns nothing and no report of it waits.
func idle(ctx context.Context, e *endpoint) error {
	for {
		if s := e.Snapshot(); len(s.Sessions) == 0 && len(s.Waiting) == 0 {
			return nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// one moves, or cancels, one transfer, through as many connections as it takes.
func one(ctx context.Context, decode *endpoint, region *transfer.Region, cancel bool, delivered, cancelled *atomic.Int64) error {
	var s *transfer.Session
	for {
		var err error
		if s, err = decode.Receive(ctx, transfer.ReceiveSpec{Region: region, From: transfer.FromPeers("prefill-0")}); err == nil {
			break
		}
		if !errors.Is(err, transfer.ErrNoPeer) { // between two connections
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if cancel {
		if _, err := s.Cancel(); err != nil {
			return err
		}
	}
	if err := s.Wait(ctx); err == nil {
		delivered.Add(1)
	} else if cancel {
		cancelled.Add(1)
	} else {
		return err
	}
	return s.Drain(ctx)
}

// Keep gives up what no further attempt would change, and nothing else.
func TestKeepEnds(t *testing.T) {
	decode := newEndpoint(t, loop.New(loop.Config{Auto: true}), "decode-0")
	if err := (rpc.Config{}).Keep(t.Context(), decode.Endpoint, "192.0.2.1:9000", nil); !errors.Is(err, rpc.ErrNotLocal) {
		t.Errorf("an address that is not allowed: %v", err)
	}
	l := listen(t, "127.0.0.1:0")
	go func() {
		for {
			s, err := l.Accept(t.Context())
			if err != nil {
				return
			}
			_ = s.Send(t.Context(), wire.Hello{Version: wire.Version{Major: 9}, Endpoint: "p", Incarnation: wire.Incarnation{1}})
			_, _ = s.Recv(t.Context())
			_ = s.Close()
		}
	}()
	if err := (rpc.Config{}).Keep(t.Context(), decode.Endpoint, l.Addr(), nil); !errors.Is(err, wire.ErrVersion) {
		t.Errorf("a peer of another version: %v", err)
	}
	free := listen(t, "127.0.0.1:0")
	free.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	attempts := 0
	err := (rpc.Config{}).Keep(ctx, decode.Endpoint, free.Addr(), func(_ *transfer.Link, err error) {
		if !errors.Is(err, rpc.ErrUnreachable) {
			t.Errorf("attempt: %v", err)
		}
		if attempts++; attempts == 3 {
			cancel(io.ErrNoProgress)
		}
	})
	if !errors.Is(err, io.ErrNoProgress) || attempts != 3 {
		t.Errorf("after %d attempts: %v, want the context's cause", attempts, err)
	}
}
