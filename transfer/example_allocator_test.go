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

// slots is an allocator of the caller's own: equal parts of one mapping, each a
// region, since a region is the unit of reuse.
type slots struct {
	mapping *memory.Arena // or any mapping outside of the Go heap
	free    []*transfer.Region
	owned   []*transfer.Region // handed out, and not proven free yet
}

func newSlots(e *transfer.Endpoint, count, size int) *slots {
	mapping, err := memory.New(memory.Spec{Len: count * size})
	check(err)
	s := &slots{mapping: mapping}
	for i := range count {
		part := backend.Memory{Addr: mapping.Addr() + uintptr(i*size), Len: uint64(size)}
		region, err := e.RegisterMemory(fmt.Sprint("slot ", i), part)
		check(err)
		s.free = append(s.free, region)
	}
	return s
}

// take hands a slot out, if one is proven free: whether its transfer succeeded,
// failed or was cancelled is not asked.
func (s *slots) take() (*transfer.Region, bool) {
	for i, region := range s.owned {
		if region.Reuse() == nil { // the permission, and the only one
			s.owned[i] = s.owned[len(s.owned)-1]
			s.owned = s.owned[:len(s.owned)-1]
			s.free = append(s.free, region)
			break
		}
	}
	if len(s.free) == 0 {
		return nil, false
	}
	region := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.owned = append(s.owned, region)
	return region, true
}

// An allocator of the caller's own asks before it hands memory out again; it
// never concludes from the end of a request that its memory is free.
func ExampleEndpoint_RegisterMemory() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, _, _ := side(fabric, "prefill-0")
	decode, _, _ := side(fabric, "decode-0")
	join(prefill, decode)
	requests := make(chan *transfer.Request, 2)
	prefill.OnRequest(func(r *transfer.Request) { requests <- r }) // kept: not answered yet
	pool := newSlots(decode, 1, 4096)

	region, _ := pool.take()
	session, err := decode.Receive(ctx, transfer.ReceiveSpec{Region: region, From: transfer.FromPeers("prefill-0")})
	check(err)
	request := <-requests
	check(session.Fail("out of patience")) // the request is over; its memory may be written for long
	_, any := pool.take()
	fmt.Println("after the failure:", any)

	check(request.Refuse("too late")) // the peer says that it holds nothing
	check(session.Drain(ctx))
	_, any = pool.take()
	fmt.Println("after the proof:", any)

	check(decode.Stop(ctx))
	check(pool.mapping.Close())
	check(prefill.Stop(ctx))
	// Output:
	// after the failure: false
	// after the proof: true
}
