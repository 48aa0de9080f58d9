// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/blocks"
	"github.com/kvxfer/kvxfer/transfer"
)

// side makes an endpoint with one registered arena on a fabric in memory.
func side(fabric *loop.Fabric, name string) (*transfer.Endpoint, *transfer.Region, *memory.Arena) {
	agent, err := fabric.Agent(name)
	check(err)
	endpoint, err := transfer.New(transfer.Config{
		Name: name, Backend: agent,
		Contain: func(c ownership.Containment) error { log.Fatalln("memory without proof:", c); return nil },
	})
	check(err)
	arena, err := memory.New(memory.Spec{Len: 4096})
	check(err)
	region, err := endpoint.Register("cache", arena)
	check(err)
	return endpoint, region, arena
}

// join attaches two endpoints to each other.
func join(a, b *transfer.Endpoint) {
	one, other := transfer.Pipe()
	attached := make(chan error)
	go func() { _, err := a.Attach(context.Background(), one); attached <- err }()
	_, err := b.Attach(context.Background(), other)
	check(errors.Join(err, <-attached))
}

func check(err error) {
	if err != nil {
		log.Fatalln(err)
	}
}

// The receiving side: the outcome says whether the data is there, the drain
// says when the memory may be used for something else.
func ExampleEndpoint_Receive() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, source, data := side(fabric, "prefill-0")
	decode, target, got := side(fabric, "decode-0")
	join(prefill, decode)
	copy(data.Bytes(), "keys and values")
	prefill.OnRequest(func(r *transfer.Request) {
		sent, err := r.Send(transfer.SendSpec{Region: source})
		check(err)
		check(sent.Drain(ctx))
	})

	session, err := decode.Receive(ctx, transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill-0")})
	check(err)
	fmt.Println("owned:", errors.Is(target.Reuse(), ownership.ErrRefused))
	check(session.Wait(ctx))
	fmt.Printf("%v: %s\n", session.Answer(), got.Bytes()[:15])
	check(session.Drain(ctx))
	fmt.Println("reuse:", target.Reuse())

	check(decode.Stop(ctx))
	check(prefill.Stop(ctx))
	// Output:
	// owned: true
	// SUCCEEDED: keys and values
	// reuse: <nil>
}

// The sending side: a request is kept until it is answered, and says what the
// peer wants.
func ExampleRequest_Send() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, source, _ := side(fabric, "prefill-0")
	decode, target, _ := side(fabric, "decode-0")
	join(prefill, decode)
	requests := make(chan *transfer.Request)
	prefill.OnRequest(func(r *transfer.Request) { requests <- r })

	first, err := decode.Receive(ctx, transfer.ReceiveSpec{
		Region: target, Blocks: []transfer.Block{{Offset: 0, Len: 512}, {Offset: 1024, Len: 512}},
		From: transfer.FromPeers("prefill-0"), Label: "prompt 7",
	})
	check(err)
	r := <-requests
	fmt.Printf("%s asks for %d bytes in %d blocks: %s\n", r.Peer(), r.Len(), len(r.Lens()), r.Label())
	sent, err := r.Send(transfer.SendSpec{Region: source, Blocks: []transfer.Block{{Offset: 2048, Len: 1024}}})
	check(err)
	check(sent.Wait(ctx))
	check(sent.Drain(ctx))
	check(first.Drain(ctx))
	fmt.Println(sent.Side(), sent.Answer())

	second, err := decode.Receive(ctx, transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill-0"), Label: "prompt 8"})
	check(err)
	check((<-requests).Refuse("not in the cache"))
	fmt.Println("second:", second.Wait(ctx) != nil, second.Answer())
	check(second.Drain(ctx))

	check(decode.Stop(ctx))
	check(prefill.Stop(ctx))
	// Output:
	// decode-0 asks for 1024 bytes in 2 blocks: prompt 7
	// send SUCCEEDED
	// second: true CANCELLED, cause cancel, origin peer
}

// A cancel ends the request at once and proves nothing: the memory comes back
// when the peer has said that it cannot touch it.
func ExampleSession_Cancel() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, _, _ := side(fabric, "prefill-0")
	decode, target, _ := side(fabric, "decode-0")
	join(prefill, decode) // prefill-0 never answers a request here

	session, err := decode.Receive(ctx, transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill-0")})
	check(err)
	result, err := session.Cancel()
	check(err)
	fmt.Println("outcome:", result.Outcome)
	check(session.Drain(ctx))
	fmt.Println("memory:", session.Physical(), target.Reuse())

	check(decode.Stop(ctx))
	check(prefill.Stop(ctx))
	// Output:
	// outcome: CANCELLED
	// memory: RETIRED <nil>
}

// A paged cache is registered once. Each request owns blocks of it, two requests
// share the blocks of their prefix, and a block is free again when the last
// claim on it is gone, be it a request's or a transfer's.
func ExamplePool() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, source, data := side(fabric, "prefill-0")
	decode, target, got := side(fabric, "decode-0")
	join(prefill, decode)
	from, err := source.Pool(512)
	check(err)
	to, err := target.Pool(512)
	check(err)

	// On the prefill side requests 1 and 2 begin with the same block.
	table := make([]blocks.Block, 2)
	one, err := from.Blocks().Allocate("request 1", table)
	check(err)
	two, err := from.Blocks().Pin("request 2", blocks.Hold, table[:1])
	check(err)
	copy(data.Bytes()[from.Range(table[0]).Offset:], "prefix")
	copy(data.Bytes()[from.Range(table[1]).Offset:], "question 1")
	unpinned := make(chan struct{})
	prefill.OnRequest(func(r *transfer.Request) {
		pages, err := from.Region(ownership.Reads, "send "+r.Label(), table)
		check(err)
		sent, err := r.Send(transfer.SendSpec{Region: pages})
		check(err)
		check(sent.Drain(ctx)) // unpins the pages
		close(unpinned)
	})

	// On the decode side request 1 takes blocks of its own.
	mine := make([]blocks.Block, 2)
	hold, err := to.Blocks().Allocate("request 1", mine)
	check(err)
	pages, err := to.Region(ownership.Writes, "receive request 1", mine)
	check(err)
	session, err := decode.Receive(ctx, transfer.ReceiveSpec{Region: pages, From: transfer.FromPeers("prefill-0"), Label: "request 1"})
	check(err)
	_, err = to.Region(ownership.Reads, "too early", mine)
	fmt.Println("send on:", errors.Is(err, ownership.ErrRefused))
	check(session.Wait(ctx))
	check(session.Drain(ctx))
	fmt.Printf("%s, %s\n", got.Bytes()[to.Range(mine[0]).Offset:][:6], got.Bytes()[to.Range(mine[1]).Offset:][:10])

	// Both requests end. Unpinning again is refused: request 2 is not robbed.
	<-unpinned
	freed, err := from.Blocks().Unpin(one)
	check(err)
	_, err = from.Blocks().Unpin(one)
	fmt.Println("freed:", freed, "again:", errors.Is(err, blocks.ErrStale))
	_, err = from.Blocks().Unpin(two)
	check(err)
	_, err = to.Blocks().Unpin(hold)
	check(err)
	check(decode.Stop(ctx))
	check(prefill.Stop(ctx))
	// Output:
	// send on: true
	// prefix, question 1
	// freed: 1 again: true
}
