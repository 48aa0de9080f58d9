// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/admin"
)

// doubtful serves an endpoint that has doubted its peer.
func doubtful(t *testing.T, grace time.Duration) (*transfer.Endpoint, string) {
	t.Helper()
	fabric := loop.New(loop.Config{Auto: true})
	build := func(name string) *transfer.Endpoint {
		agent, err := fabric.Agent(name)
		must(t, err)
		e, err := transfer.New(transfer.Config{Name: name, Backend: agent, Grace: grace, FirstRequest: 1,
			Contain: func(ownership.Containment) error { return nil }})
		must(t, err)
		t.Cleanup(e.Halt)
		return e
	}
	e, peer := build("decode-0"), build("prefill-0")
	arena, err := memory.New(memory.Spec{Len: 4096})
	must(t, err)
	t.Cleanup(func() { _ = arena.Close() })
	region, err := e.Register("pool", arena)
	must(t, err)
	one, other := transfer.Pipe()
	attached := make(chan error, 1)
	go func() { _, err := peer.Attach(t.Context(), other); attached <- err }()
	_, err = e.Attach(t.Context(), one)
	must(t, errors.Join(err, <-attached))
	_, err = e.Receive(t.Context(), transfer.ReceiveSpec{Region: region, From: transfer.FromPeers("prefill-0")})
	must(t, err)
	must(t, e.Gone("prefill-0", peer.Incarnation()))

	folder, err := os.MkdirTemp("", "kvx") // a socket's path is short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	server, err := admin.Serve("unix:"+filepath.Join(folder, "s"), e)
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	return e, server.Addr()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// command runs one command line.
func command(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(append([]string{"kvxfer"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// An operator asks, lifts the quarantine, and is told of the memory that this
// did not free.
func TestExplainAndReopen(t *testing.T) {
	e, addr := doubtful(t, time.Hour)
	code, out, _ := command("explain", "--addr", addr)
	for _, want := range []string{"admission   QUARANTINED: ", "prefill-0", "IN_DOUBT", "FATAL in 59m", "only a fence"} {
		if code != exit.Retained || !strings.Contains(out, want) {
			t.Errorf("explain ends with %d and has no %q:\n%s", code, want, out)
		}
	}
	code, out, _ = command("reopen", "--addr", addr)
	if want := "admission was QUARANTINED, since prefill-0 had been in doubt; it is OPEN now\n"; code != exit.OK || out != want {
		t.Errorf("reopen ends with %d: %s", code, out)
	}
	if code, out, _ = command("explain", "--addr", addr); code != exit.Retained || !strings.Contains(out, "admission   OPEN") {
		t.Errorf("after reopen explain ends with %d:\n%s", code, out)
	}
	must(t, e.Fence(ownership.FenceSpec{Accessor: "prefill-0", Scope: ownership.All}))
	if code, out, _ = command("explain", "--addr", addr); code != exit.OK || !strings.Contains(out, "Session.Drain") {
		t.Errorf("after the proof explain ends with %d:\n%s", code, out)
	}
}

// What is over for good is said with its own exit code.
func TestReopenIsRefused(t *testing.T) {
	fatal, fatalAddr := doubtful(t, time.Millisecond)
	<-fatal.Fatal()
	stopped, stoppedAddr := doubtful(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stopped.Stop(ctx); !errors.Is(err, ownership.ErrRefused) {
		t.Fatalf("stop: %v", err)
	}
	for _, tc := range []struct {
		addr, word string
		code       int
	}{{fatalAddr, "FATAL", exit.Fatal}, {stoppedAddr, "was stopped", exit.Finding}} {
		if code, out, errs := command("reopen", "--addr", tc.addr); code != tc.code || out != "" || !strings.Contains(errs, tc.word) {
			t.Errorf("reopen ends with %d, want %d: %s%s", code, tc.code, out, errs)
		}
	}
	if code, out, _ := command("explain", "--addr", fatalAddr); code != exit.Fatal || !strings.Contains(out, "fatal       session decode-0/1@1") {
		t.Errorf("explain ends with %d:\n%s", code, out)
	}
}
