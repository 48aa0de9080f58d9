// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Command sidecar shows how a Go process beside an inference engine moves the
// engine's memory by address, and when the engine may have it back. Two
// sidecars live in this one process over the loop backend; with backend/nixl
// each is a process of its own. docs/integrate.md explains each step.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

const slotLen = 64 << 10

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	folder := must(os.MkdirTemp("", "kvx"))
	defer func() { _ = os.RemoveAll(folder) }()
	fabric := loop.New(loop.Config{Auto: true})

	prefill, source := start(fabric, "prefill-0", folder)
	decode, target := start(fabric, "decode-0", folder)
	control := "unix:" + filepath.Join(folder, "prefill-0.control")
	listener := must(rpc.Listen(control))
	go prefill.Listen(ctx, listener)
	go decode.Dial(ctx, control)

	copy(source.Bytes()[slotLen:], "keys and values of prompt 7")
	err := decode.Fetch(ctx, 0, "prefill-0", "slot-1")
	for errors.Is(err, transfer.ErrNoPeer) { // not attached yet
		time.Sleep(time.Millisecond)
		err = decode.Fetch(ctx, 0, "prefill-0", "slot-1")
	}
	check(err)
	fmt.Printf("fetched: %s\n", target.Bytes()[:27])
	for decode.MayReuse(0) != nil { // an engine asks when it needs the slot
		time.Sleep(time.Millisecond)
	}
	fmt.Println("slot 0 may be reused")
	fmt.Println("refused:", decode.Fetch(ctx, 0, "prefill-0", "slot-9") != nil)

	check(decode.Close(ctx))
	check(prefill.Close(ctx))
	check(listener.Close())
	check(source.Close()) // only now may the engine unmap
	check(target.Close())
	fmt.Println("stopped: everything was proven")
}

// start makes a sidecar for an engine with two slots. The arena stands for the
// engine's memory; a real one arrives as a mapping of shared memory.
func start(fabric *loop.Fabric, name, folder string) (*Sidecar, *memory.Arena) {
	engine := must(memory.New(memory.Spec{Len: 2 * slotLen}))
	var slots []backend.Memory
	for i := range 2 {
		slots = append(slots, backend.Memory{Addr: engine.Addr() + uintptr(i*slotLen), Len: slotLen})
	}
	s := must(NewSidecar(Config{
		Name: name, Backend: must(fabric.Agent(name)), Slots: slots,
		Admin: "unix:" + filepath.Join(folder, name+".admin"),
		Contain: func(c ownership.Containment) error {
			log.Println("FATAL: memory without proof:", c.Retained) // before the process ends, and the engine with it
			os.Exit(4)
			return nil
		},
	}))
	return s, engine
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		log.Fatalln(err)
	}
}
