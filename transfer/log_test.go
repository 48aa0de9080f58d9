// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// book is where log lines go, without what differs from run to run.
type book struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *book) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Split(strings.TrimSpace(b.all.String()), "\n")
}

// want fails unless one line has all the parts, in their order.
func (b *book) want(t *testing.T, parts ...string) {
	t.Helper()
	if n := b.count(parts...); n != 1 {
		t.Errorf("%d lines with %q in\n%s", n, parts, strings.Join(b.lines(), "\n"))
	}
}

func (b *book) count(parts ...string) (n int) {
	for _, line := range b.lines() {
		found := true
		for _, part := range parts {
			_, line, found = strings.Cut(line, part)
			if !found {
				break
			}
		}
		if found {
			n++
		}
	}
	return n
}

func (b *book) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// One line a transition, in order and nothing else; a level leaves out what is
// below it.
func TestLogHasOneLineForEachTransition(t *testing.T) {
	var all, warnings book
	synctest.Test(t, func(t *testing.T) {
		g := &rig{t: t, fabric: loop.New(loop.Config{Auto: true})}
		g.s = g.party(sender, func(c *transfer.Config) { c.Log = all.logger(slog.LevelDebug) })
		g.r = g.party(receiver, func(c *transfer.Config) { c.Log = warnings.logger(slog.LevelWarn) })
		defer func() { g.r.end() }()
		defer func() { g.s.end() }()
		rs, ss := g.doubtful()
		g.settle(rs, ss)
		must(t, errors.Join(g.s.Reopen(), g.r.Reopen()))
		synctest.Wait()
		g.s.mu.Lock()
		defer g.s.mu.Unlock()
		if got, want := len(all.lines()), len(g.s.lines); got != want {
			t.Errorf("%d lines for %d events:\n%s", got, want, strings.Join(all.lines(), "\n"))
		}
	})
	rest := strings.Join(all.lines(), "\n")
	for _, want := range []string{
		`level=DEBUG msg="gate moved" endpoint=prefill-0 side=send session=decode-0/1@1 piece=kv from=OPEN to=PUBLISHING seq=`,
		`level=WARN msg="claim moved" endpoint=prefill-0 side=send session=decode-0/1@1 piece=kv accessor=decode-0 event=doubt from=PUBLISHED to=IN_DOUBT seq=`,
		`level=INFO msg="session ended" endpoint=prefill-0 side=send session=decode-0/1@1 outcome=FAILED cause=doubt origin=local seq=`,
		`level=DEBUG msg="report queued" endpoint=prefill-0 side=send session=decode-0/1@1 to=decode-0 report=`,
		`level=WARN msg="admission changed" endpoint=prefill-0 from=OPEN to=QUARANTINED seq=`,
		`level=DEBUG msg="claim moved" endpoint=prefill-0 side=send session=decode-0/1@1 piece=kv accessor=decode-0 event=settle from=IN_DOUBT to=FAILED_QUIESCED seq=`,
		`level=INFO msg="memory released" endpoint=prefill-0 side=send session=decode-0/1@1 piece=kv region=pool seq=`,
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("no %s in its place in\n%s", want, strings.Join(all.lines(), "\n"))
		}
		rest = after
	}
	for _, line := range warnings.lines() {
		if !strings.HasPrefix(line, "level=WARN") {
			t.Errorf("a line below the level: %s", line)
		}
	}
	if n := len(warnings.lines()); n != 2 { // the doubt, and the quarantine
		t.Errorf("%d warnings:\n%s", n, strings.Join(warnings.lines(), "\n"))
	}
}

// hanging is a handler that blocks until it is let go.
type hanging struct {
	slog.Handler
	gate chan struct{}
}

func (h *hanging) Handle(ctx context.Context, r slog.Record) error {
	<-h.gate
	return h.Handler.Handle(ctx, r)
}

// A log handler that hangs delays no transfer, and FATAL still comes in time.
func TestSlowLogDelaysNothing(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		h := &hanging{slog.DiscardHandler, make(chan struct{})}
		s := g.party("prefill-1", func(c *transfer.Config) { c.Log = slog.New(enabled{h}) })
		defer close(h.gate)
		attach(t, s, g.r)
		s.OnRequest(func(r *transfer.Request) {
			ss, err := r.Send(transfer.SendSpec{Region: s.region})
			must(t, errors.Join(err, ss.Drain(t.Context())))
		})
		began := time.Now()
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-1")})
		must(t, err)
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context())))
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v", took)
		}
		if a := s.Snapshot().Admission; a != ownership.AdmissionOpen {
			t.Errorf("admission is %v", a)
		}
	})
}

// enabled lets every level through.
type enabled struct{ slog.Handler }

func (enabled) Enabled(context.Context, slog.Level) bool { return true }
