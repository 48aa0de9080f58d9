// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda/gather"
	"github.com/kvxfer/kvxfer/memory"
)

// Two blocks of a cache are collected into a send buffer. With an engine on a
// GPU (gather.NewGPU) and memory that CUDA knows, only Start returns earlier.
func Example() {
	var engine gather.Engine = new(gather.CPU)
	cache, err1 := memory.New(memory.Spec{Len: 16})
	slot, err2 := memory.New(memory.Spec{Len: 8})
	if err := errors.Join(err1, err2); err != nil {
		fmt.Println(err)
		return
	}
	copy(cache.Bytes(), "aaaabbbbccccdddd")
	copied, err := engine.Gather(gather.Spec{
		Buffer: gather.Extent{Memory: slot, Len: 8},
		Blocks: []gather.Extent{{Memory: cache, Offset: 12, Len: 4}, {Memory: cache, Offset: 4, Len: 4}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Is(cache.Close(), memory.ErrHeld)) // by the copy
	fmt.Println(copied.Start().Status == backend.Done, string(slot.Bytes()))
	fmt.Println(copied.Release(), cache.Close(), slot.Close(), engine.Close())
	// Output:
	// true
	// true ddddbbbb
	// <nil> <nil> <nil> <nil>
}
