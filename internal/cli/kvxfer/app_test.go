// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/move"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "16384": 16384, "16KiB": 16384, "1 MB": 1e6, "2GiB": 2 << 30} {
		var s sizeFlag
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%q: got %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "-1", "x", "1XB", "99EB99"} {
		if err := new(sizeFlag).Set(text); err == nil {
			t.Errorf("%q is a size", text)
		}
	}
	s := sizeFlag(16 << 10)
	if got := s.String(); got != "16KiB" {
		t.Errorf("got %q", got)
	}
}

func TestExitCodes(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{t.Context(), nil, exit.OK},
		{t.Context(), usagef("", "x"), exit.Usage},
		{t.Context(), fmt.Errorf("wrapped: %w", envf("", "x")), exit.Env},
		{t.Context(), errors.New("x"), exit.Peer},
		{interrupted, errors.New("x"), exit.Interrupted},
		{interrupted, nil, exit.OK},
		{t.Context(), runFailure(fmt.Errorf("x: %w", rpc.ErrAddressInUse)), exit.Env},
		{t.Context(), runFailure(fmt.Errorf("x: %w", rpc.ErrNotLocal)), exit.Usage},
		{t.Context(), runFailure(fmt.Errorf("x: %w", wire.ErrVersion)), exit.Peer},
		{t.Context(), runFailure(fmt.Errorf("x: %w", backend.ErrUnavailable)), exit.Env},
		{t.Context(), runFailure(&move.Failure{Kind: move.KindEnvironment}), exit.Env},
		{t.Context(), runFailure(&move.Failure{Kind: move.KindPeer}), exit.Peer},
	} {
		if got := codeOf(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%v: got %d, want %d", tc.err, got, tc.want)
		}
	}
}

func TestJudgeRun(t *testing.T) {
	good := move.Transfer{Outcome: move.Succeeded, Digest: "d", Released: true, Receiver: &move.Received{Outcome: move.Succeeded, Digest: "d", Equal: true, Released: true}}
	other := good
	other.Digest = "e"
	unproven := good
	unproven.Released = false
	stalled := move.Transfer{Outcome: "FAILED", Released: true, Receiver: &move.Received{Outcome: "FAILED", Released: true}}
	for _, tc := range []struct {
		name   string
		fault  move.Fault
		report move.Report
		want   int
	}{
		{"all well", "", move.Report{Transfers: []move.Transfer{good, good}}, exit.OK},
		{"other bytes arrived", "", move.Report{Transfers: []move.Transfer{good, other}}, exit.Peer},
		{"not released", "", move.Report{Transfers: []move.Transfer{unproven}}, exit.Retained},
		{"stalled and settled", move.Stall, move.Report{Transfers: []move.Transfer{good, stalled}}, exit.OK},
		{"failed without a fault", "", move.Report{Transfers: []move.Transfer{stalled}}, exit.Peer},
		{"contained", move.Kill, move.Report{Transfers: []move.Transfer{unproven}, Contained: "x"}, exit.Fatal},
	} {
		if got := codeOf(t.Context(), judgeRun(&runFlags{fault: string(tc.fault)}, &tc.report)); got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.want)
		}
	}
}

// A failure is one line whatever it is made of.
func TestFailureIsOneLine(t *testing.T) {
	err := &failure{exit.Env, errors.Join(errors.New("a"), errors.New("b\nc")), "do it"}
	if got := err.Error(); got != "a; b; c; do it" {
		t.Errorf("got %q", got)
	}
}

// Every command that a user sees has help, two examples, and a name in them.
func TestEveryCommandHasTwoExamples(t *testing.T) {
	a := &app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		lines := strings.Split(c.Example, "\n")
		if len(lines) < 2 || c.Short == "" || c.RunE == nil {
			t.Errorf("%s: examples %q, short %q", c.CommandPath(), c.Example, c.Short)
		}
		for _, l := range lines {
			if !strings.Contains(l, c.CommandPath()) && c.HasParent() {
				t.Errorf("%s: example %q is another command's", c.CommandPath(), l)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(a.root())
}

func TestRound(t *testing.T) {
	for in, want := range map[time.Duration]string{
		1234567 * time.Nanosecond: "1.23ms", 12345 * time.Nanosecond: "12.3µs", 1234567 * time.Microsecond: "1.235s",
	} {
		if got := round(in).String(); got != want {
			t.Errorf("%d: got %s, want %s", in, got, want)
		}
	}
}
