// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/move"
	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// oddPeer is a second process that misbehaves; its variable says how.
const (
	oddPeer         = "odd-peer"
	oddPeerVariable = "ODD_PEER"
)

// mainWithOddPeer is the command with a second process that misbehaves.
func mainWithOddPeer() {
	os.Exit(kvxfer.MainWithPeer(os.Args, []string{oddPeer}, os.Stdin, os.Stdout, os.Stderr))
}

func oddPeerMain() {
	if err := beOdd(context.Background(), os.Getenv(oddPeerVariable)); err != nil {
		fmt.Fprintln(os.Stderr, "odd peer:", err)
		os.Exit(1)
	}
}

func beOdd(ctx context.Context, how string) error {
	parent, err := proc.Parent()
	if err != nil {
		return err
	}
	var plan move.Plan
	if err := parent.Recv(ctx, &plan); err != nil {
		return err
	}
	if how == "dies" {
		os.Exit(7)
	}
	if how == "babbles" {
		return parent.Send("no reply of ours")
	}
	stream, err := rpc.Dial(ctx, plan.Control)
	if err != nil {
		return err
	}
	if how == "dies-in-handshake" {
		os.Exit(7)
	}
	hello, err := oddHello(&plan, how)
	if err != nil {
		return err
	}
	if err := stream.Send(ctx, hello); err != nil {
		return err
	}
	<-parent.Ended() // whatever the first process makes of it, it ends this
	return nil
}

func oddHello(plan *move.Plan, how string) (wire.Hello, error) {
	b, err := move.OpenNIXL(plan)(move.ReceiverName)
	if err != nil {
		return wire.Hello{}, err
	}
	md, err := b.Metadata()
	if err != nil {
		return wire.Hello{}, err
	}
	h := wire.Hello{Version: wire.Current, Endpoint: move.ReceiverName, Incarnation: wire.Incarnation(ownership.NewIncarnation()), Metadata: md}
	switch how {
	case "other-version":
		h.Version.Major += 98
	case "other-metadata":
		h.Metadata = []byte("these are not the bytes that any NIXL agent gave out")
	case "cut-metadata":
		h.Metadata = md[:len(md)/2]
	default:
		return h, fmt.Errorf("unknown way to misbehave %q", how)
	}
	return h, nil
}
