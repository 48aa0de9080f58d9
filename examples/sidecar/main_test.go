// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/admin"
)

const output = `fetched: keys and values of prompt 7
slot 0 may be reused
refused: true
stopped: everything was proven
`

// The program runs as it stands.
func TestProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sidecar")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for range 5 {
		got, err := exec.CommandContext(t.Context(), program).CombinedOutput()
		if err != nil || string(got) != output {
			t.Fatalf("%v, printed\n%s", err, got)
		}
	}
}

// bench is a sidecar with a peer that never answers.
type bench struct {
	*Sidecar
	peer      *transfer.Endpoint
	admin     string
	contained chan ownership.Containment
}

func newBench(t *testing.T, grace time.Duration) *bench {
	t.Helper()
	folder, err := os.MkdirTemp("", "kvx") // a socket's path is short
	check(err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	fabric := loop.New(loop.Config{Auto: true})
	engine := must(memory.New(memory.Spec{Len: slotLen}))
	t.Cleanup(func() { _ = engine.Close() })
	b := &bench{admin: "unix:" + filepath.Join(folder, "admin"), contained: make(chan ownership.Containment, 1)}
	b.Sidecar = must(NewSidecar(Config{
		Name: "decode-0", Backend: must(fabric.Agent("decode-0")), Admin: b.admin, Grace: grace,
		Slots:   []backend.Memory{{Addr: engine.Addr(), Len: slotLen}},
		Contain: func(c ownership.Containment) error { b.contained <- c; return nil },
	}))
	b.peer = must(transfer.New(transfer.Config{
		Name: "prefill-0", Backend: must(fabric.Agent("prefill-0")),
		Contain: func(ownership.Containment) error { return nil },
	}))
	t.Cleanup(b.peer.Halt)
	t.Cleanup(b.endpoint.Halt)
	one, other := transfer.Pipe()
	attached := make(chan error, 1)
	go func() { _, err := b.peer.Attach(t.Context(), other); attached <- err }()
	_, err = b.endpoint.Attach(t.Context(), one)
	check(errors.Join(err, <-attached))
	return b
}

// doubt starts a fetch and then knows its peer as gone.
func (b *bench) doubt(t *testing.T) {
	t.Helper()
	asked := make(chan struct{})
	b.peer.OnRequest(func(*transfer.Request) { close(asked) })
	fetched := make(chan error, 1)
	go func() { fetched <- b.Fetch(t.Context(), 0, "prefill-0", "slot-0") }()
	<-asked
	check(b.endpoint.Gone("prefill-0", b.peer.Incarnation()))
	var outcome *transfer.OutcomeError
	if err := <-fetched; !errors.As(err, &outcome) || outcome.Cause != ownership.CauseDoubt {
		t.Fatalf("fetch: %v", err)
	}
	if err := b.MayReuse(0); !errors.Is(err, ownership.ErrRefused) {
		t.Fatalf("reuse of memory in doubt: %v", err)
	}
}

// A cancelled fetch leaves the slot owned until the peer has said that it holds
// nothing.
func TestFetchEndsWithItsContext(t *testing.T) {
	b := newBench(t, 0)
	asked := make(chan *transfer.Request, 1)
	b.peer.OnRequest(func(r *transfer.Request) { asked <- r })
	ctx, cancel := context.WithCancel(t.Context())
	fetched := make(chan error, 1)
	go func() { fetched <- b.Fetch(ctx, 0, "prefill-0", "slot-0") }()
	<-asked
	cancel()
	if err := <-fetched; !errors.Is(err, context.Canceled) {
		t.Fatalf("fetch: %v", err)
	}
	check(b.Close(t.Context())) // waits for the peer's answer
}

// New work waits in quarantine and goes on when an operator has lifted it; the
// memory in doubt is not freed by that.
func TestQuarantine(t *testing.T) {
	b := newBench(t, time.Hour)
	b.doubt(t)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() { waiting <- b.Fetch(ctx, 0, "prefill-0", "slot-0") }()
	client := must(admin.NewClient(b.admin))
	did := must(client.Reopen(t.Context()))
	if did.Before != "QUARANTINED" || did.After != "OPEN" {
		t.Errorf("reopen: %+v", did)
	}
	if err := <-waiting; errors.Is(err, context.Canceled) || err == nil {
		t.Errorf("the fetch that waited: %v", err) // admitted, and refused: its slot is owned, its peer gone
	}
	cancel()
	if err := b.MayReuse(0); !errors.Is(err, ownership.ErrRefused) {
		t.Errorf("an operator's word freed memory: %v", err)
	}
	check(b.endpoint.Fence(ownership.FenceSpec{Accessor: "prefill-0", Scope: ownership.All}))
	check(b.Close(t.Context()))
}

// Without proof the engine is told once, nothing is given back, and a stop is
// refused for good.
func TestFatal(t *testing.T) {
	b := newBench(t, time.Millisecond)
	b.doubt(t)
	if c := <-b.contained; len(c.Retained) != 1 || c.Retained[0].Region != "slot-0" {
		t.Errorf("contained: %+v", c)
	}
	if err := b.Close(t.Context()); !errors.Is(err, ownership.ErrFatal) {
		t.Errorf("close: %v", err)
	}
	if err := b.MayReuse(0); !errors.Is(err, ownership.ErrRefused) {
		t.Errorf("reuse: %v", err)
	}
	if err := b.Fetch(t.Context(), 0, "prefill-0", "slot-0"); err == nil {
		t.Error("a fetch under FATAL")
	}
}

// The guide quotes this program; what it quotes must be there.
func TestGuideQuotesThisProgram(t *testing.T) {
	guide := must(os.ReadFile("../../docs/integrate.md"))
	var source []string
	for _, name := range []string{"sidecar.go", "main.go", "../../transfer/example_read_test.go", "../../transfer/example_local_test.go"} {
		source = append(source, squeezed(must(os.ReadFile(name))))
	}
	all := strings.Join(source, "\n")
	quotes := bytes.Split(guide, []byte("```go\n"))[1:]
	if len(quotes) < 4 {
		t.Fatalf("only %d quotes", len(quotes))
	}
	for _, q := range quotes {
		code, _, _ := bytes.Cut(q, []byte("```"))
		if !strings.Contains(all, squeezed(code)) {
			t.Errorf("not in the program:\n%s", code)
		}
	}
}

// squeezed leaves out how far lines are indented.
func squeezed(code []byte) string {
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(string(code)), "\n") {
		lines = append(lines, strings.TrimSpace(l))
	}
	return strings.Join(lines, "\n")
}
