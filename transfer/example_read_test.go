// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// The pull side: who has the data offers it, and who wants it reads it. The memory
// on both sides is owned like that of a WRITE.
func ExampleEndpoint_Offer() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, source, data := side(fabric, "prefill-0")
	decode, target, got := side(fabric, "decode-0")
	join(prefill, decode)
	copy(data.Bytes(), "keys and values")
	decode.OnRequest(func(r *transfer.Request) {
		fmt.Println(r.Peer(), "offers", r.Len(), "bytes to", r.Direction())
		fetched, err := r.Fetch(transfer.FetchSpec{Region: target})
		check(err)
		check(fetched.Drain(ctx))
	})

	offered, err := prefill.Offer(ctx, transfer.OfferSpec{Region: source, To: transfer.ToPeers("decode-0")})
	check(err)
	fmt.Println("still read:", errors.Is(source.Reuse(), ownership.ErrRefused))
	check(offered.Wait(ctx))
	check(offered.Drain(ctx))
	fmt.Printf("%v: %s; reuse: %v\n", offered.Answer(), got.Bytes()[:15], source.Reuse())

	check(decode.Stop(ctx))
	check(prefill.Stop(ctx))
	// Unordered output:
	// prefill-0 offers 4096 bytes to READ
	// still read: true
	// SUCCEEDED: keys and values; reuse: <nil>
}

// Layers and what goes with them are pieces of one session: all are published or
// none, each is answered for itself, and they are given back together. An open
// session takes more of them later.
func ExampleSession_Add() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, source, _ := side(fabric, "prefill-0")
	decode, layer0, _ := side(fabric, "decode-0")
	join(prefill, decode)
	layer1, logits := more(decode, "layer 1"), more(decode, "logits")
	prefill.OnRequest(func(r *transfer.Request) {
		sent, err := r.Send(transfer.SendSpec{Region: source}) // the same session for every piece
		check(err)
		check(sent.Drain(ctx))
	})

	session, err := decode.Receive(ctx, transfer.ReceiveSpec{
		Piece: "layer 0", Region: layer0, From: transfer.FromPeers("prefill-0"), Open: true,
	})
	check(err)
	check(session.AddLast(ctx, transfer.Piece{Name: "layer 1", Region: layer1}, transfer.Piece{Name: "logits", Kind: "aux", Region: logits}))
	check(session.Wait(ctx))
	state, _ := session.State()
	for _, p := range state.Pieces {
		fmt.Println(p.Name.Piece, p.Kind, p.Outcome)
	}
	check(session.Drain(ctx))

	check(decode.Stop(ctx))
	check(prefill.Stop(ctx))
	// Output:
	// layer 0 layer 0 SUCCEEDED
	// layer 1 layer 1 SUCCEEDED
	// logits aux SUCCEEDED
}

// Out of doubt without the end of the process: the peer hangs, so the agent that
// posted is destroyed, which proves that nobody reads the source any more.
func ExampleEndpoint_Reincarnate() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true, BytesPerTick: 64})
	prefill, source, _ := side(fabric, "prefill-0")
	decode, target, _ := side(fabric, "decode-0")
	join(prefill, decode)
	check(fabric.Stall("decode-0"))
	requests := make(chan *transfer.Request)
	prefill.OnRequest(func(r *transfer.Request) { requests <- r })
	received, err := decode.Receive(ctx, transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill-0")})
	check(err)
	sent, err := (<-requests).Send(transfer.SendSpec{Region: source})
	check(err)
	again := func(agent string) (backend.Backend, error) { return fabric.Agent(agent) }

	r, err := prefill.Reincarnate(ctx, again)
	check(err)
	fmt.Println("retained:", len(r.Retained), "attach again:", r.Peers)
	check(sent.Drain(ctx))
	fmt.Println("source:", source.Reuse())

	// To decode-0 the old life is gone; what it was writing there takes proof there.
	join(prefill, decode)
	fmt.Println("target:", errors.Is(target.Reuse(), ownership.ErrRefused))
	_, err = decode.Reincarnate(ctx, again)
	check(err)
	check(received.Drain(ctx))
	fmt.Println("target:", target.Reuse())

	join(prefill, decode)
	check(decode.Stop(ctx))
	check(prefill.Stop(ctx))
	// Output:
	// retained: 0 attach again: [decode-0]
	// source: <nil>
	// target: true
	// target: <nil>
}

// Memory that a peer reaches by itself takes evidence about the peer. What a person
// has checked is evidence too; it goes on record with his name.
func ExampleEndpoint_FenceBy() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, _, _ := side(fabric, "prefill-0")
	decode, target, _ := side(fabric, "decode-0")
	join(prefill, decode)
	session, err := decode.Receive(ctx, transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill-0")})
	check(err)
	prefill.Halt() // it will never answer

	const off = "power of the node of prefill-0 is off"
	said := fence.Statement{Who: "ops@example.org", Own: true, Passive: true, Checked: map[fence.Fact]string{fence.ProcessGone: off}}
	_, err = decode.FenceBy(ownership.FenceSpec{Accessor: "prefill-0", Scope: ownership.All}, said)
	fmt.Println("not proven:", errors.Is(err, fence.ErrNotProven)) // it says what is missing
	said.Checked[fence.ContextDestroyed], said.Checked[fence.RegionInvalid] = off, off
	done, err := decode.FenceBy(ownership.FenceSpec{Accessor: "prefill-0", Scope: ownership.All}, said)
	check(err)
	fmt.Println(done.Freed, "freed")
	check(session.Drain(ctx))
	fmt.Println(session.Answer(), target.Reuse())
	check(decode.Stop(ctx))
	// Output:
	// not proven: true
	// 1 freed
	// FAILED, cause fenced, origin local <nil>
}

// more registers another arena.
func more(e *transfer.Endpoint, id string) *transfer.Region {
	region, err := e.Register(id, arena())
	check(err)
	return region
}
