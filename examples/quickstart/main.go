// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Command quickstart moves bytes between two endpoints of one process and
// shows who owns the memory meanwhile. output.txt is what it prints.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

func main() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, source, from := endpoint(fabric, "prefill")
	decode, target, to := endpoint(fabric, "decode")
	copy(from.Bytes(), "the keys and values of a prompt")

	one, other := transfer.Pipe() // between processes: transfer/rpc
	go func() { must(prefill.Attach(ctx, one)) }()
	must(decode.Attach(ctx, other))

	// The address is out from here on: decode cannot have its memory back.
	s := must(decode.Receive(ctx, transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill")}))
	fmt.Println("reuse now?", target.Reuse())
	prefill.OnRequest(func(r *transfer.Request) { // the other side of it
		sent := must(r.Send(transfer.SendSpec{Region: source}))
		check(sent.Drain(ctx))
	})
	check(s.Wait(ctx))  // the outcome: was it delivered?
	check(s.Drain(ctx)) // the proof: nobody can touch the memory any more
	fmt.Printf("%v: %q\nreuse now? %v\n", s.Answer(), to.Bytes()[:31], target.Reuse())

	check(decode.Stop(ctx)) // fails while anything is not proven;
	check(prefill.Stop(ctx))
	check(from.Close()) // only then may memory be unmapped
	check(to.Close())
}

func endpoint(f *loop.Fabric, name string) (*transfer.Endpoint, *transfer.Region, *memory.Arena) {
	arena := must(memory.New(memory.Spec{Len: 1 << 20}))
	contain := func(c ownership.Containment) error { log.Fatalln("memory without proof:", c); return nil }
	e := must(transfer.New(transfer.Config{Name: name, Backend: must(f.Agent(name)), Contain: contain}))
	return e, must(e.Register("cache", arena)), arena
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		log.Fatalln(err)
	}
}
