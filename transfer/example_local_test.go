// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/transfer"
)

// Blocks that lie about are gathered into a send buffer, and scattered to their
// places on the other side. Each copy is a claim: nothing is posted before the
// gather is proven to have ended, nothing is scattered that was not delivered, and
// no buffer is free while a copy may still touch it.
func Example_gatherAndScatter() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, source, _ := side(fabric, "prefill-0")
	decode, target, _ := side(fabric, "decode-0")
	join(prefill, decode)
	paged, cache := arena(), arena()
	copy(paged.Bytes(), "keys and values")
	prefill.OnRequest(func(r *transfer.Request) {
		gather, err := fabric.Local(whole(paged.Addr()), whole(source.Memory().Addr)) // on a GPU: a kernel, or its event
		check(err)
		sent, err := r.Send(transfer.SendSpec{Region: source, Gather: gather})
		check(err)
		check(sent.Drain(ctx))
	})

	scatter, err := fabric.Local(whole(target.Memory().Addr), whole(cache.Addr()))
	check(err)
	session, err := decode.Receive(ctx, transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill-0"), Scatter: scatter})
	check(err)
	check(session.Wait(ctx))
	fmt.Printf("%v: %s\n", session.Answer(), cache.Bytes()[:15])
	check(session.Drain(ctx))

	check(decode.Stop(ctx))
	check(prefill.Stop(ctx))
	// Output:
	// SUCCEEDED: keys and values
}

func arena() *memory.Arena {
	a, err := memory.New(memory.Spec{Len: 4096})
	check(err)
	return a
}

func whole(addr uintptr) []backend.Segment {
	return []backend.Segment{{Addr: uint64(addr), Len: 4096}}
}
