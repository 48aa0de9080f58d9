// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"context"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/rpc/pb"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

var hostileFrames = flag.Int("hostile", 20_000, "how many frames TestHostileFrames sends")

// enemy is an authenticated peer that says whatever comes to its mind.
type enemy struct {
	*testing.T
	random *rand.Rand
	addr   string
	victim *endpoint
	// life is the enemy's incarnation; a new one would be allowed, and is another test.
	life   wire.Incarnation
	stream *rpc.Stream
	seq    uint64 // the number that is due
	// streams is how many of them it took.
	streams int
	// confirmed is what the victim has said.
	confirmed atomic.Uint64
}

// attach says Hello as any peer does, and reads where the victim wants it to resume.
func (e *enemy) attach() {
	e.Helper()
	s, err := rpc.Dial(e.Context(), e.addr)
	if err != nil {
		e.Fatal(err)
	}
	hello := wire.Hello{Version: wire.Current, Endpoint: "enemy", Incarnation: e.life}
	if err := s.Send(e.Context(), hello); err != nil {
		e.Fatal(err)
	}
	for {
		m, err := s.Recv(e.Context())
		if err != nil {
			e.Fatalf("handshake: %v", err)
		}
		if r, ok := m.(wire.Receipt); ok {
			e.seq = r.Received + 1
			break
		}
	}
	// What the victim says is read, and confirmed now and then.
	go func() {
		for {
			m, err := s.Recv(context.Background())
			if err != nil {
				return
			}
			if m, ok := m.(wire.Sequenced); ok {
				e.confirmed.Store(max(e.confirmed.Load(), m.Sequence()))
			}
		}
	}()
	e.stream = s
	e.streams++
}

// risky is one in how many frames ends the stream, or may.
const risky = 40

// frame makes one frame: of a valid form, with numbers that are due and names that
// are mixed up; or, now and then, one that no endpoint sends, which may end the
// stream.
func (e *enemy) frame() (f *pb.Frame, mayEnd bool) {
	mayEnd = e.random.IntN(risky) == 0
	m := e.message(mayEnd)
	f, err := rpc.Encode(m)
	if err != nil {
		e.Fatal(err)
	}
	if s, ok := m.(wire.Sequenced); ok && s.Sequence() == e.seq {
		e.seq++
	}
	if mayEnd {
		switch e.random.IntN(3) {
		case 0:
			return e.mangled(f), true
		case 1:
			f.More = []*pb.Frame{{}, e.mangled(f)}
		}
	}
	return f, mayEnd
}

// mangled changes a few bytes of a frame, until it can still be read as one.
func (e *enemy) mangled(f *pb.Frame) *pb.Frame {
	b, err := proto.Marshal(f)
	if err != nil {
		e.Fatal(err)
	}
	for {
		c := append([]byte(nil), b...)
		for range 1 + e.random.IntN(4) {
			if len(c) > 0 {
				c[e.random.IntN(len(c))] = byte(e.random.Uint32())
			}
		}
		var out pb.Frame
		if proto.Unmarshal(c, &out) == nil && out.GetGoodbye() == nil { // which would end the enemy
			return &out
		}
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (e *enemy) message(wild bool) wire.Message {
	r := e.random
	seq := e.seq
	names, lives := []string{"enemy", "victim", "friend", "local"}, []wire.Incarnation{e.life, wire.Incarnation(e.victim.Incarnation()), {9}}
	most := uint64(1 << 20)
	switch {
	case wild:
		seq, most = pick(r, 0, seq, seq, seq+uint64(r.IntN(3)), r.Uint64()), math.MaxUint64
		names, lives = append(names, "a/b", ""), append(lives, wire.Incarnation{})
	case r.IntN(20) == 0 && seq > 1:
		seq-- // again
	}
	session := wire.SessionName{
		Request: wire.RequestID{Endpoint: pick(r, names...), Number: pick(r, 1, 2, 1+r.Uint64N(most))}, Attempt: pick(r, 1, 1, 2, 1+r.Uint32N(1<<30)),
	}
	claim := wire.ClaimName{
		Owner: pick(r, lives...), Session: session, Piece: pick(r, "kv", "x"), Accessor: pick(r, names...),
		Incarnation: pick(r, lives...), Sequence: pick(r, 1, 1+r.Uint64N(most)),
	}
	segments := make([]wire.Segment, 1+r.IntN(40))
	for i := range segments {
		segments[i] = wire.Segment{Addr: pick(r, 0, 1<<40, r.Uint64N(most)), Len: pick(r, 1, 4096, 1+r.Uint64N(most))}
	}
	switch r.IntN(9) {
	case 0, 1:
		if r.IntN(2) == 0 { // one that is meant for the victim
			claim.Owner, claim.Accessor, claim.Incarnation = e.life, "victim", wire.Incarnation(e.victim.Incarnation())
		}
		return wire.RequestData{
			Seq: seq, Claim: claim, Direction: pick(r, wire.Write, wire.Read), Segments: segments, Label: pick(r, "", "label"), Metadata: make([]byte, r.IntN(100)),
		}
	case 2, 3:
		return wire.Result{Seq: seq, Claim: claim, Evidence: wire.Evidence(1 + r.IntN(4))}
	case 4:
		return wire.CancelSession{Seq: seq, Session: session, From: wire.Side(1 + r.IntN(2))}
	case 5:
		return wire.SessionQuiesced{Seq: seq, Session: session}
	case 6:
		return wire.Confirmed{Seq: seq, Claim: claim}
	case 7:
		if wild {
			return wire.Hello{Version: wire.Current, Endpoint: pick(r, names...), Incarnation: pick(r, lives...)}
		}
		return wire.Receipt{Received: e.confirmed.Load()}
	}
	return wire.Receipt{Received: pick(r, 0, r.Uint64N(most)) * boolean(wild)}
}

func boolean(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Whatever an authenticated peer sends, nothing crashes, nothing grows beyond its
// bound, and the others' transfers go on: memory that is in one is as it was, and
// what is asked for afterwards arrives.
func TestHostileFrames(t *testing.T) {
	fabric := loop.New(loop.Config{Auto: true})
	agent, err := fabric.Agent("victim")
	if err != nil {
		t.Fatal(err)
	}
	victim := newBounded(t, agent)
	friend := newEndpoint(t, fabric, "friend")
	counters := &rpc.Counters{}
	l := secureListener(t, rpc.Config{Counters: counters})
	go func() {
		for {
			s, err := l.Accept(t.Context())
			if err != nil {
				return
			}
			go func() { _, _ = victim.Attach(t.Context(), s) }()
		}
	}()
	kept, stop := context.WithCancel(t.Context())
	defer stop()
	attached := make(chan struct{}, 1)
	go func() {
		_ = rpc.Config{}.Keep(kept, friend.Endpoint, l.Addr(), func(link *transfer.Link, _ error) {
			if link != nil {
				attached <- struct{}{}
			}
		})
	}()
	<-attached

	const seed = 7
	e := &enemy{T: t, random: rand.New(rand.NewPCG(seed, 1)), addr: l.Addr(), victim: victim, life: wire.Incarnation{1, 2, 3}}
	e.attach()
	var before uint64
	for n := range *hostileFrames {
		if n == *hostileFrames/4 {
			before = heap()
		}
		f, mayEnd := e.frame()
		if err := e.stream.SendFrame(f); err != nil || mayEnd {
			e.stream.Close() // lets out what was sent
			e.attach()
		}
	}
	e.stream.Close()
	after := heap()
	t.Logf("%d frames on %d streams; heap %d KiB after a quarter of them, %d KiB at the end", *hostileFrames, e.streams, before>>10, after>>10)
	c := victim.Counters()
	t.Logf("%d violations, %d foreign, %d repeated, %d stale, %d malformed, %d requests turned away, %d tombstones, %d requests kept",
		c.ProtocolViolations, c.ForeignMessages, c.RepeatedMessages, c.Stale, counters.Malformed.Load(), c.RequestsTurnedAway, c.Tombstones, c.Requests)
	if c.Tombstones > 250 {
		t.Errorf("%d tombstones, of a share of 250", c.Tombstones)
	}
	if c.ProtocolViolations == 0 || c.ForeignMessages == 0 || counters.Malformed.Load() == 0 {
		t.Error("not every kind of hostility was met")
	}
	if after > before+8<<20 {
		t.Errorf("the heap grew by %d KiB", (after-before)>>10)
	}
	s, err := friend.Receive(t.Context(), transfer.ReceiveSpec{Region: friend.region, From: transfer.FromPeers("victim")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Wait(t.Context()), s.Drain(t.Context())); err != nil {
		t.Errorf("a friend's transfer: %v", err)
	}
}

// newBounded makes the victim, with tables that fill up.
func newBounded(t *testing.T, agent *loop.Agent) *endpoint {
	t.Helper()
	e := &endpoint{}
	var err error
	e.Endpoint, err = transfer.New(transfer.Config{
		Name: "victim", Backend: agent, Tombstones: 1000, Requests: 1000, Owners: 100, Sessions: 100,
		Contain: func(c ownership.Containment) error { t.Errorf("FATAL: %+v", c); return nil },
		OnRequest: func(r *transfer.Request) {
			if r.Label() == "hold" { // never answered
				return
			}
			if r.Peer() != "friend" {
				_ = r.Refuse("who is that")
				return
			}
			if s, err := r.Send(transfer.SendSpec{Region: e.region}); err == nil {
				_ = s.Drain(context.Background())
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.arena, err = memory.New(memory.Spec{Len: 64 << 10}); err != nil {
		t.Fatal(err)
	}
	if e.region, err = e.Register("pool", e.arena); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Halt(); e.arena.Close() })
	return e
}

// heap is what is in use after everything that can go has gone.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
