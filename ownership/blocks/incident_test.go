// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks_test

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/ownership/blocks"
)

// A row of the catalogue of scenarios: a request's end unpinned its blocks while
// a send still read them, and nothing else kept them. Here the read is a pin of
// its own, so the end of the request, told twice, frees nothing that is read.
func TestPinCountWasTheOnlyKeeper(t *testing.T) {
	p := newPool(t, 4)
	request, table := allocate(t, p, "request 1", 4)
	read := pinned(t, p, "send 1", blocks.Read, table[:3])
	if n, err := p.Unpin(request); n != 1 || err != nil {
		t.Fatalf("the end of the request freed %d blocks: %v, want the one that nobody reads", n, err)
	}
	if _, err := p.Unpin(request); !errors.Is(err, blocks.ErrStale) {
		t.Fatalf("unpinned twice: %v", err)
	}
	wantFree(t, p, 1)
	if _, err := p.Allocate("request 2", make([]blocks.Block, 2)); !errors.Is(err, blocks.ErrExhausted) {
		t.Fatalf("blocks under a read are given out: %v", err)
	}
	if n, err := p.Unpin(read); n != 3 || err != nil {
		t.Fatalf("the end of the read freed %d blocks: %v", n, err)
	}
	allocate(t, p, "request 2", 4)
}
