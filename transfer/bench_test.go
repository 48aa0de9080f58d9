// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/transfer"
)

// BenchmarkTransfer is the whole life of one transfer of 4 KiB between two
// endpoints of one process, from Receive to the release on both sides: what
// ownership, messages and goroutines cost around a copy that costs nothing.
func BenchmarkTransfer(b *testing.B) {
	fabric := loop.New(loop.Config{Auto: true})
	open := func(name string) (*transfer.Endpoint, *transfer.Region) {
		e, region, arena := side(fabric, name)
		b.Cleanup(func() { e.Halt(); arena.Close() })
		return e, region
	}
	prefill, source := open("prefill-0")
	decode, target := open("decode-0")
	join(prefill, decode)
	done := make(chan error, 1)
	prefill.OnRequest(func(r *transfer.Request) {
		s, err := r.Send(transfer.SendSpec{Region: source})
		if err == nil {
			err = s.Drain(b.Context())
		}
		done <- err
	})
	b.ReportAllocs()
	for b.Loop() {
		s, err := decode.Receive(b.Context(), transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill-0")})
		if err == nil {
			err = errors.Join(s.Wait(b.Context()), s.Drain(b.Context()), <-done)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
