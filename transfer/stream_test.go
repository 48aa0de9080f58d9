// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

func TestPipeKeepsOrderAndWhatWasSentBeforeClose(t *testing.T) {
	a, b := transfer.Pipe()
	ctx := t.Context()
	for i := range 10 {
		if err := a.Send(ctx, wire.Receipt{Received: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		m, err := b.Recv(ctx)
		if err != nil || m.(wire.Receipt).Received != uint64(i) {
			t.Fatalf("message %d: got %v, %v", i, m, err)
		}
	}
	if _, err := b.Recv(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("after the last message: %v, want io.EOF", err)
	}
	if err := b.Send(ctx, wire.Receipt{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("send to a closed end: %v, want io.ErrClosedPipe", err)
	}
}

func TestPipeBlocksWhenFullAndEndsWithContextOrClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := transfer.Pipe()
		fill := func(ctx context.Context) error {
			for {
				if err := a.Send(ctx, wire.Receipt{}); err != nil {
					return err
				}
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- fill(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("full pipe, context ended: %v", err)
		}
		go func() { result <- fill(t.Context()) }()
		synctest.Wait()
		b.Close()
		if err := <-result; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("full pipe, peer closed: %v", err)
		}
	})
}
