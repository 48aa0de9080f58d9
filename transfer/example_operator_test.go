// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// Shutting down: a stop that runs out of time has kept what is not proven, says
// what that is, and may be called again. Memory is unmapped after it and not
// before.
func ExampleEndpoint_Stop() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, _, _ := side(fabric, "prefill-0")
	decode, target, arena := side(fabric, "decode-0")
	one, other := transfer.Pipe()
	go func() { _, err := prefill.Attach(ctx, one); check(err) }()
	link, err := decode.Attach(ctx, other)
	check(err)
	_, err = decode.Receive(ctx, transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill-0")})
	check(err)
	check(link.Close()) // the stream breaks: prefill-0 may write, and cannot be asked

	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	err = decode.Stop(short)
	var refused *ownership.Error
	if errors.As(err, &refused) {
		r := refused.Retained[0]
		fmt.Printf("not stopped: region %s, %s is %v\n", r.Region, r.Accessor, r.State)
	}

	join(prefill, decode) // cancel and answer go on where they stopped
	check(decode.Stop(ctx))
	check(arena.Close())
	fmt.Println("stopped")
	check(prefill.Stop(ctx))
	// Output:
	// not stopped: region cache, prefill-0 is PUBLISHED
	// stopped
}

// In quarantine new work is held back until an operator has looked.
func ExampleEndpoint_WaitAdmission() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	prefill, _, _ := side(fabric, "prefill-0")
	decode, target, _ := side(fabric, "decode-0")
	join(prefill, decode)
	spec := transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill-0")}
	session, err := decode.Receive(ctx, spec)
	check(err)
	check(decode.Gone("prefill-0", prefill.Incarnation())) // its lease ended: doubt, no proof

	_, err = decode.Receive(ctx, spec)
	fmt.Println("refused:", errors.Is(err, ownership.ErrClosed))
	report := decode.Explain()
	fmt.Println(report.Admission.State, report.Admission.Doubted)
	fmt.Println(report.Regions[0].Owners[0].Reasons[0].Frees)

	opened := make(chan error)
	go func() { opened <- decode.WaitAdmission(ctx) }()
	check(decode.Fence(ownership.FenceSpec{Accessor: "prefill-0", Scope: ownership.All})) // the machine was switched off
	fmt.Println("opened:", <-opened)
	check(session.Drain(ctx))
	check(decode.Stop(ctx))
	// Output:
	// refused: true
	// QUARANTINED [prefill-0]
	// only a fence that reaches our memory (passive): its incarnation is gone, so its reports are stale
	// opened: <nil>
}

// A log has one line for each transition. Its level decides how many.
func ExampleConfig_log() {
	ctx, fabric := context.Background(), loop.New(loop.Config{Auto: true})
	agent, err := fabric.Agent("decode-0")
	check(err)
	plain := func(_ []string, a slog.Attr) slog.Attr { // what differs from run to run
		if a.Key == slog.TimeKey || a.Key == "seq" {
			return slog.Attr{}
		}
		return a
	}
	decode, err := transfer.New(transfer.Config{
		Name: "decode-0", Backend: agent, FirstRequest: 1,
		Contain: func(ownership.Containment) error { os.Exit(1); return nil },
		Log:     slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: plain})),
	})
	check(err)
	arena, err := memory.New(memory.Spec{Len: 4096})
	check(err)
	target, err := decode.Register("cache", arena)
	check(err)
	prefill, source, _ := side(fabric, "prefill-0")
	join(prefill, decode)
	prefill.OnRequest(func(r *transfer.Request) {
		sent, err := r.Send(transfer.SendSpec{Region: source})
		check(err)
		check(sent.Drain(ctx))
	})
	session, err := decode.Receive(ctx, transfer.ReceiveSpec{Region: target, From: transfer.FromPeers("prefill-0")})
	check(err)
	check(session.Drain(ctx))
	check(decode.Stop(ctx))
	check(prefill.Stop(ctx))
	// Output:
	// level=INFO msg="session ended" endpoint=decode-0 side=receive session=decode-0/1@1 outcome=SUCCEEDED
	// level=INFO msg="memory released" endpoint=decode-0 side=receive session=decode-0/1@1 piece=kv region=cache
	// level=INFO msg="admission changed" endpoint=decode-0 from=OPEN to=CLOSED
}

// The numbers go to any library; expvar takes them as they are. For Prometheus
// see package transfer/admin.
func ExampleEndpoint_Metrics() {
	decode, _, _ := side(loop.New(loop.Config{Auto: true}), "decode-0")
	expvar.Publish("kvxfer", expvar.Func(func() any { return decode.Metrics() }))
	for _, m := range decode.Metrics() {
		if m.Label == "state" {
			fmt.Printf("%s{%s=%q} %v\n", m.Name, m.Label, m.LabelValue, m.Value)
		}
	}
	check(decode.Stop(context.Background()))
	// Output:
	// kvxfer_admission{state="OPEN"} 1
	// kvxfer_admission{state="QUARANTINED"} 0
	// kvxfer_admission{state="CLOSED"} 0
	// kvxfer_admission{state="FATAL"} 0
}
