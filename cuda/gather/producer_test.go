// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/cuda/gather"
)

// producing is a kernel of somebody else that writes memory: a copy into it on
// another stream, and an event behind it that was or was not recorded.
func (r *rig) producing(t *testing.T, m *cuda.Memory, record bool) (*cuda.Event, []byte) {
	t.Helper()
	content := r.host(t, m.Len())
	fill(content.Bytes(), 9)
	s, e := got(r.ctx.NewStream())(t), got(r.ctx.NewEvent())(t)
	ok(t, s.Copy(m.All(), content.All()))
	if record {
		ok(t, e.Record(s))
	}
	return e, content.Bytes()
}

// Incident 78, missing-producer-event: a transfer read pages before the kernel
// that writes them had finished, because its event was missing. Here an event
// that stands behind nothing refuses the transfer, and a recorded one is waited
// for: by a gather on the device and on the CPU, and by the transfer itself.
func TestMissingProducerEvent(t *testing.T) {
	for _, name := range []string{"kernel", "copy engine", "CPU", "producer"} {
		t.Run(name, func(t *testing.T) {
			build := func(r *rig, src *cuda.Memory, e *cuda.Event) (backend.Local, *cuda.Memory) {
				dst := r.host(t, src.Len())
				spec := gather.Spec{Buffer: all(dst), Blocks: []gather.Extent{all(src)}, After: []*cuda.Event{e}}
				switch name {
				case "producer":
					return gather.Producer(e), src
				case "CPU":
					return got(new(gather.CPU).Gather(spec))(t), dst
				}
				return got(r.engine.Gather(spec))(t), dst
			}
			config := gather.Config{Method: gather.Kernel}
			if name == "copy engine" {
				config.Method = gather.CopyEngine
			}

			r := newRig(t, config)
			r.SetMode(cudatest.BySteps)
			src := r.host(t, 4096)
			event, _ := r.producing(t, src, false)
			l, _ := build(r, src, event)
			if o := l.Start(); o.Status != backend.NotSubmitted || !errors.Is(o.Err, cuda.ErrNotRecorded) {
				t.Errorf("missing event: %v, %v", o.Status, o.Err)
			}
			ok(t, l.Release())

			event, want := r.producing(t, src, true)
			if name == "CPU" || name == "producer" {
				r.SetMode(cudatest.ByThread) // it waits in Start
			}
			l, dst := build(r, src, event)
			o := l.Start()
			for o.Status != backend.Done {
				if o.Status != backend.Submitted && o.Status != backend.InProgress {
					t.Fatalf("%v, %v", o.Status, o.Err)
				}
				r.Step(1)
				o = l.Poll()
			}
			if !bytes.Equal(dst.Bytes(), want) {
				t.Error("the transfer did not wait for its producer")
			}
			ok(t, l.Release())
		})
	}
}

// A producer that nobody knows about any more is doubt, not an end.
func TestProducerInDoubt(t *testing.T) {
	r := newRig(t, gather.Config{Method: gather.Kernel})
	r.SetMode(cudatest.BySteps)
	event, _ := r.producing(t, r.device(t, 64), true)
	l := gather.Producer(event)
	if o := l.Start(); o.Status != backend.InProgress {
		t.Fatal(o)
	}
	r.Stick(0, int(cuda.ErrorLaunchFailed))
	l.Poll()
	r.Stick(0, 0)
	r.Step(100)
	if o := l.Poll(); o.Status != backend.Error || !errors.Is(o.Err, cuda.ErrorLaunchFailed) {
		t.Errorf("poll: %v", o)
	}
	if err := l.Release(); !errors.Is(err, backend.ErrInFlight) {
		t.Errorf("release: %v", err)
	}
	late := gather.Producer(event)
	if o := late.Start(); o.Status != backend.Error {
		t.Errorf("start in doubt: %v", o)
	}
}
