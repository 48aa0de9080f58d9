// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// be attaches another life of the enemy.
func (e *enemy) be(n int) {
	e.Helper()
	binary.BigEndian.PutUint64(e.life[:], uint64(n))
	e.attach()
}

// say sends what is due; the victim may have ended the stream.
func (e *enemy) say(m wire.Sequenced) {
	e.Helper()
	f, err := rpc.Encode(m.WithSequence(e.seq))
	if err != nil {
		e.Fatal(err)
	}
	if e.stream.SendFrame(f) == nil {
		e.seq++
	}
}

// A peer that comes in ever new lives, asks for what never comes, cancels what never
// was and takes its leave, fills its share of the tables and no more: another's cancel
// finds room, and so its memory is free without waiting for anything.
func TestHostileLives(t *testing.T) {
	const lives, messages = 100, 60 // 6,540: more than the tables of 1,000 hold
	fabric := loop.New(loop.Config{Auto: true})
	agent, err := fabric.Agent("victim")
	if err != nil {
		t.Fatal(err)
	}
	victim, friend := newBounded(t, agent), newEndpoint(t, fabric, "friend")
	l := secureListener(t, rpc.Config{})
	go func() {
		for {
			s, err := l.Accept(t.Context())
			if err != nil {
				return
			}
			go func() { _, _ = victim.Attach(t.Context(), s) }()
		}
	}()
	attached := make(chan struct{}, 1)
	kept, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		_ = rpc.Config{}.Keep(kept, friend.Endpoint, l.Addr(), func(link *transfer.Link, _ error) {
			if link != nil {
				attached <- struct{}{}
			}
		})
	}()
	<-attached

	e := &enemy{T: t, random: rand.New(rand.NewPCG(7, 2)), addr: l.Addr(), victim: victim}
	for life := range lives {
		e.be(life + 1)
		messages := messages
		if life == lives-1 { // more than its share in one life
			messages *= 10
		}
		for n := range messages {
			session := wire.SessionName{Request: wire.RequestID{Endpoint: pick(e.random, "enemy", "router"), Number: uint64(1000*life + n + 1)}, Attempt: 1}
			if life%3 == 2 {
				e.say(wire.CancelSession{Session: session, From: wire.Receive})
				continue
			}
			e.say(wire.RequestData{
				Claim: wire.ClaimName{
					Owner: e.life, Session: session, Piece: "kv", Accessor: "victim", Incarnation: wire.Incarnation(victim.Incarnation()), Sequence: uint64(n + 1),
				},
				Direction: wire.Write, Segments: []wire.Segment{{Addr: 1 << 40, Len: 1}}, Label: pick(e.random, "hold", "to be refused"),
			})
		}
		if life%2 == 0 {
			f, err := rpc.Encode(wire.Goodbye{})
			if err != nil {
				t.Fatal(err)
			}
			_ = e.stream.SendFrame(f)
		}
		e.stream.Close()
	}
	e.be(lives + 1) // everything before it was taken in
	e.stream.Close()
	c := victim.Counters()
	t.Logf("%d tombstones, %d requests kept, %d dropped, %d turned away", c.Tombstones, c.Requests, c.RequestsDropped, c.RequestsTurnedAway)
	if c.Tombstones != 250 || c.Requests == 0 || c.Requests > 250 || c.RequestsTurnedAway == 0 {
		t.Errorf("%d tombstones and %d kept requests, of shares of 250", c.Tombstones, c.Requests)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	asked, err := friend.Receive(ctx, transfer.ReceiveSpec{Region: friend.region, From: transfer.FromPeers("victim"), Label: "hold"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := asked.Cancel(); err != nil {
		t.Fatal(err)
	}
	if err := asked.Drain(ctx); err != nil {
		t.Fatalf("a friend's cancel is not answered: %v", err)
	}
	s, err := friend.Receive(ctx, transfer.ReceiveSpec{Region: friend.region, From: transfer.FromPeers("victim")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Wait(ctx), s.Drain(ctx)); err != nil {
		t.Errorf("a friend's transfer: %v", err)
	}
}
