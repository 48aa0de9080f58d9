// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/gen/admission"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/region"
	"github.com/kvxfer/kvxfer/gen/retirement"
	"github.com/kvxfer/kvxfer/gen/send"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
	"github.com/kvxfer/kvxfer/gen/verdict"
	"github.com/kvxfer/kvxfer/ownership"
)

// SpecHash identifies the specs that this build decides by: a hash over those of
// the machines, tables and systems that a trace is judged with.
func SpecHash() string {
	h := sha256.New()
	for _, s := range []string{
		admission.SpecSHA256, claim.SpecSHA256, gate.SpecSHA256, operation.SpecSHA256, outcome.SpecSHA256, receive.SpecSHA256,
		region.SpecSHA256, retirement.SpecSHA256, send.SpecSHA256, sessionrules.SpecSHA256, verdict.SpecSHA256,
	} {
		_, _ = io.WriteString(h, s) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

// maxBacklog bounds the steps that wait for a slow disk.
const maxBacklog = 1 << 18

// Writer writes a trace. Its method Step is what ownership.Config.Trace and
// transfer.Config.Trace want; it never waits for the file. Steps that the file is
// too slow for are dropped, and a line "lost" says how many: a checker then knows
// that it does not know. Close it after the registry is used no more.
type Writer struct {
	out  *bufio.Writer
	line line
	done chan struct{}

	number uint64 // of the last step; run's

	mu     sync.Mutex
	wake   sync.Cond
	steps  []ownership.Step // guarded by mu
	lost   uint64           // guarded by mu; since the last step that was kept
	closed bool             // guarded by mu
	err    error            // guarded by mu; the first one of out
}

// NewWriter writes a header, and begins to write. The caller closes w itself,
// after Close.
func NewWriter(w io.Writer, endpoint string, life ownership.Incarnation, started time.Time) (*Writer, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	t := &Writer{out: out, done: make(chan struct{})}
	t.wake.L = &t.mu
	header := Header{Format: Version, Spec: SpecHash(), Endpoint: endpoint, Incarnation: life.String(), Started: started.UTC().Format(time.RFC3339Nano)}
	t.write(Record{Header: &header})
	if t.fail(out.Flush()); t.err != nil {
		return nil, t.err
	}
	go t.run()
	return t, nil
}

// Step takes one step in. It may be called from any goroutine, in the order of
// the steps, until Close.
func (t *Writer) Step(s ownership.Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if len(t.steps) >= maxBacklog {
		t.lost++
		return
	}
	if t.lost > 0 { // the zero call is none
		t.steps = append(t.steps, ownership.Step{At: s.At, Number: t.lost})
		t.lost = 0
	}
	t.steps = append(t.steps, s)
	t.wake.Signal()
}

// Close writes what waits, then the line "end" with the registry's totals, and
// returns the first error of writing.
func (t *Writer) Close(totals ownership.Counters) error {
	t.mu.Lock()
	t.closed = true
	t.wake.Signal()
	t.mu.Unlock()
	<-t.done
	if t.lost > 0 {
		t.write(Record{Step: stepLost, Lost: t.lost})
	}
	t.write(Record{Step: stepEnd, Counters: &Counters{Admitted: totals.Admitted, Released: totals.Released, Owners: totals.Owners}})
	if err := t.out.Flush(); t.err == nil {
		t.err = err
	}
	return t.err
}

// run writes on a goroutine of its own. What was written is flushed whenever there
// is nothing more to write, so that little is missing after a crash.
func (t *Writer) run() {
	defer close(t.done)
	for {
		t.mu.Lock()
		for len(t.steps) == 0 && !t.closed {
			t.wake.Wait()
		}
		batch := t.steps
		t.steps = nil
		t.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for i := range batch {
			if batch[i].Call == 0 {
				t.write(Record{Step: stepLost, At: int64(batch[i].At), Lost: batch[i].Number})
				continue
			}
			for _, r := range records(&batch[i]) {
				if r.Step != "" {
					t.number++
					r.Seq = t.number
				}
				t.write(r)
			}
		}
		t.fail(t.out.Flush())
	}
}

func (t *Writer) write(r Record) {
	b, err := t.line.of(&r)
	if err == nil {
		_, err = t.out.Write(b)
	}
	t.fail(err)
}

func (t *Writer) fail(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}
