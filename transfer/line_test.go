// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

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

// lines is a log that keeps its records.
type lines struct{ kept []slog.Record }

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.kept = append(l.kept, r)
	return nil
}
func (l *lines) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *lines) WithGroup(string) slog.Handler      { return l }

// TestLineHasNoSource: it is about what happened, not about the code that writes the log.
func TestLineHasNoSource(t *testing.T) {
	var l lines
	logEvent(slog.New(&l), Event{Endpoint: "e", Effect: &ownership.SessionSettled{}})
	if len(l.kept) != 1 || l.kept[0].PC != 0 || l.kept[0].Level != slog.LevelDebug {
		t.Errorf("the log has %+v", l.kept)
	}
}

// TestFenceOfOneAccessor: what is retained of others is not named, the latest are kept
// and no fewer than there is room for, and a life that is over was one.
func TestFenceOfOneAccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		mustVisit(t, e, "guest", 1)
		asked(t, e, mapped(t, e, "kv"))
		e.fences = make([]Fenced, maxFences)
		done, err := e.fence(ownership.FenceSpec{Accessor: "other", Scope: ownership.All}, "none")
		if err != nil || len(done.Retained) != 0 || len(e.fences) != maxFences || e.fences[maxFences-1].Accessor != "other" {
			t.Errorf("%v, %v; %d are kept", done, err, len(e.fences))
		}
		if len(e.registry.Retained()) == 0 {
			t.Error("nothing of the guest is retained")
		}
		p := bare(e, "late")
		p.life, p.gone = ownership.Incarnation{}, formerLives{{1}}
		if !p.lived(ownership.Incarnation{}) || !p.lived(ownership.Incarnation{1}) || p.lived(ownership.Incarnation{2}) {
			t.Error("it lived once")
		}
	})
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
