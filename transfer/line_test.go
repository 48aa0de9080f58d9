// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/blocks"
)

// TestLinesOfTheLog: a line says on which side it was, where it was on one, and what is
// of interest only while something is searched for is at the level debug.
func TestLinesOfTheLog(t *testing.T) {
	for name, tc := range map[string]struct {
		event Event
		has   string
		not   string
	}{
		"receive":    {Event{Endpoint: "e", Side: ownership.Receive, Note: "n"}, "side=receive", "seq="},
		"send":       {Event{Endpoint: "e", Side: ownership.Send, Note: "n"}, "side=send", "seq="},
		"neither":    {Event{Endpoint: "e", Note: "n"}, "msg=n endpoint=e", "side="},
		"taken back": {Event{Endpoint: "e", Effect: &ownership.TakenBack{Outgoing: ownership.Outgoing{Message: &ownership.CancelSession{From: ownership.Receive}}}}, `level=DEBUG msg="report taken back"`, "side="},
	} {
		var out bytes.Buffer
		logEvent(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})), tc.event)
		if line := out.String(); !strings.Contains(line, tc.has) || strings.Contains(line, tc.not) {
			t.Errorf("%s: %q, want %q in it and not %q", name, line, tc.has, tc.not)
		}
	}
}

// TestBlocksOfAPool: a region may have as many as the allocator can count, however long
// it is.
func TestBlocksOfAPool(t *testing.T) {
	e := host(t)
	defer e.Halt()
	huge := &Region{endpoint: e, id: "huge", memory: backend.Memory{Len: blocks.MaxBlocks + 1}}
	if _, err := huge.Pool(1); err == nil || !strings.Contains(err.Error(), "cannot be divided into blocks of 1") {
		t.Errorf("one block too many: %v", err)
	}
	arena, err := memory.New(memory.Spec{Len: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer arena.Close()
	long, err := e.Register("long", arena)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := long.Pool(1 << 18); err != nil || p.Blocks().Stats().Blocks != 4 {
		t.Errorf("four long blocks: %v", err)
	}
}
