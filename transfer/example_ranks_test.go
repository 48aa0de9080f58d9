// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/memstore"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// A request that lives on two ranks: its memory here is given back when both have
// drained, whether by Close, by Drain, or by the Stop of the endpoint. What the endpoint
// knows goes to the group, and what the group decides comes back by Config.Retired.
func Example_manyRanks() {
	ctx, fabric, store := context.Background(), loop.New(loop.Config{Auto: true}), memstore.New(0)
	ranks := make([]*cluster.Rank, 2)
	for i := range ranks {
		var err error
		ranks[i], err = cluster.Join(ctx, cluster.Config{Group: "decode", Rank: i, Ranks: 2, Store: store.Client()})
		check(err)
	}
	// Whoever creates the request takes the epoch and sends it along with its name.
	epoch, err := ranks[0].WaitEpoch(ctx)
	check(err)
	name := ownership.SessionName{Request: ownership.RequestID{Endpoint: "router", Number: 1}, Attempt: 1}
	ours, err := ranks[0].Open(ctx, name, epoch)
	check(err)
	theirs, err := ranks[1].Open(ctx, name, epoch)
	check(err)

	agent, err := fabric.Agent("decode-0")
	check(err)
	decode, err := transfer.New(transfer.Config{
		Name: "decode-0", Backend: agent,
		Contain: func(c ownership.Containment) error { log.Fatalln("memory without proof:", c); return nil },
		Retired: func(s ownership.SessionName) <-chan struct{} {
			if s != name {
				return nil // lives here alone
			}
			return ours.Retired()
		},
	})
	check(err)
	arena, err := memory.New(memory.Spec{Len: 4096})
	check(err)
	target, err := decode.Register("cache", arena)
	check(err)
	prefill, _, _ := side(fabric, "prefill-0")
	join(prefill, decode)
	prefill.OnRequest(func(r *transfer.Request) { check(r.Refuse("evicted")) })

	session, err := decode.Receive(ctx, transfer.ReceiveSpec{Session: name, Region: target, From: transfer.FromPeers("prefill-0")})
	check(err)
	told := make(chan struct{})
	go func() { report(session, ours); close(told) }()
	<-told
	fmt.Println("proven here:", session.Physical())
	fmt.Println("to be reused:", !errors.Is(target.Reuse(), ownership.ErrRefused))
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	fmt.Println("stopped:", !errors.Is(decode.Stop(short), ownership.ErrRefused))
	cancel()

	check(theirs.Publish(cluster.State{Outcome: outcome.Cancelled, Drained: true}))
	check(session.Drain(ctx))
	fmt.Println("to be reused:", target.Reuse() == nil)

	check(decode.Stop(ctx))
	check(prefill.Stop(ctx))
	check(errors.Join(ours.Close(), ranks[0].Close(), ranks[1].Close()))
	// Output:
	// proven here: RETIRED
	// to be reused: false
	// stopped: false
	// to be reused: true
}

// report tells the other ranks how a session stands here, until it is drained, and ends
// it where it cannot succeed on all of them.
func report(s *transfer.Session, q *cluster.Request) {
	ended := q.Ended()
	var told cluster.State
	for {
		moved := s.Changed()
		now := cluster.State{Outcome: s.Answer().Outcome, Drained: s.Physical() == ownership.PhysicalRetired}
		if now.Outcome != outcome.Active && now != told {
			check(q.Publish(now))
			told = now
		}
		if told.Drained {
			return
		}
		select {
		case <-moved:
		case <-ended:
			_, err := s.Cancel()
			check(err)
			ended = nil
		}
	}
}
