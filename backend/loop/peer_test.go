// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
)

func TestStall(t *testing.T) {
	for _, d := range []backend.Direction{backend.Write, backend.Read} {
		for _, stopped := range []string{"a", "b"} {
			r := newRig(t, Config{BytesPerTick: 1000})
			op := r.post(d, backend.Submitted)
			r.fabric.Step()
			r.must(r.fabric.Stall(stopped))
			r.fabric.Advance(1000)
			if got := r.fabric.Stats().Bytes; got != 1000 {
				t.Errorf("%v, %s stopped: %d bytes", d, stopped, got)
			}
			r.poll(op, backend.InProgress)
			r.must(r.fabric.Continue(stopped))
			r.fabric.Advance(8)
			r.poll(op, backend.Done)
		}
	}
}

func TestStalledAgentGetsNotificationsLater(t *testing.T) {
	r := newRig(t, Config{})
	r.post(backend.Write, backend.Submitted)
	r.fabric.Step()
	r.must(r.fabric.Stall("b"))
	r.notified(0)
	r.must(r.fabric.Continue("b"))
	r.notified(1)
}

// TestSlow counts ticks exactly: the slower side decides.
func TestSlow(t *testing.T) {
	r := newRig(t, Config{BytesPerTick: 4096})
	r.must(r.fabric.Slow("a", 2048))
	r.must(r.fabric.Slow("b", 100))
	op := r.post(backend.Write, backend.Submitted)
	r.fabric.Advance(size / 100)
	r.poll(op, backend.InProgress)
	r.fabric.Step()
	r.poll(op, backend.Done)
	r.must(r.fabric.Slow("b", 0))
	op = r.post(backend.Write, backend.Submitted)
	r.fabric.Advance(size/2048 - 1)
	r.poll(op, backend.InProgress)
	r.fabric.Step()
	r.poll(op, backend.Done)
	r.wants(r.fabric.Slow("a", -1), backend.ErrInvalid)
}

// TestKillWriter: what is in the socket lands at the living target, after its
// writer is gone and from bytes that the writer had then.
func TestKillWriter(t *testing.T) {
	r := newRig(t, Config{BytesPerTick: 1000})
	op := r.post(backend.Write, backend.Submitted)
	r.fabric.Step()
	r.must(r.fabric.Kill("a", 1500))
	r.a.fill('x')
	if got := r.b.count('a'); got != 1000 {
		t.Fatalf("%d bytes at the kill", got)
	}
	r.fabric.Advance(100)
	if a, x := r.b.count('a'), r.b.count('x'); a != 2500 || x != 0 {
		t.Errorf("%d bytes, %d foreign; want 2500 and 0", a, x)
	}
	if got := r.fabric.Stats().LateBytes; got != 1500 {
		t.Errorf("%d late bytes", got)
	}
	r.poll(op, backend.Lost)
	_, err := r.a.Progress()
	r.wants(err, backend.ErrClosed)
	r.notified(0)
}

func TestKillTarget(t *testing.T) {
	r := newRig(t, Config{BytesPerTick: 1000})
	op := r.post(backend.Write, backend.Submitted)
	r.fabric.Step()
	r.must(r.fabric.Kill("b", 1500))
	r.poll(op, backend.Error)
	r.fabric.Advance(100)
	if got := r.b.count('a'); got != 1000 {
		t.Errorf("%d bytes landed at the dead", got)
	}
	r.poll(op, backend.Error)
	r.wants(op.Release(), backend.ErrInFlight)
	r.post(backend.Write, backend.Error) // peer still gone
	r.wants(r.fabric.Kill("b", 0), backend.ErrInvalid)
}

// TestKillSourceOfRead: bytes that the dead source had sent land at the reader.
func TestKillSourceOfRead(t *testing.T) {
	r := newRig(t, Config{BytesPerTick: 1000})
	op := r.post(backend.Read, backend.Submitted)
	r.fabric.Step()
	r.must(r.fabric.Kill("b", 500))
	r.poll(op, backend.Error)
	r.b.fill('x')
	r.fabric.Advance(100)
	if b, x := r.a.count('b'), r.a.count('x'); b != 1500 || x != 0 {
		t.Errorf("%d bytes, %d foreign; want 1500 and 0", b, x)
	}
}

func TestRestartUnderTheSameName(t *testing.T) {
	r := newRig(t, Config{})
	before := r.prepare(backend.Write)
	old, err := r.b.Metadata()
	r.must(err)
	r.must(r.fabric.Kill("b", 0))
	r.b = r.side("b")
	if o := before.Post(); o.Status != backend.NotSubmitted || !strings.Contains(o.Err.Error(), "restarted") {
		t.Errorf("post to the older incarnation: %v: %v", o.Status, o.Err)
	}
	r.connect(r.a, r.b)
	r.wants(r.a.Connect("b", old), backend.ErrMetadata)
	op := r.post(backend.Write, backend.Submitted)
	r.fabric.Step()
	r.poll(op, backend.Done)
	if r.b.count('a') != size {
		t.Error("the new incarnation got nothing")
	}
	_, err = r.fabric.Agent("b")
	r.wants(err, backend.ErrInvalid)
}

func TestBreak(t *testing.T) {
	r := newRig(t, Config{BytesPerTick: 1000})
	op := r.post(backend.Write, backend.Submitted)
	r.fabric.Step()
	r.must(r.fabric.Break("b", "a", 700))
	r.poll(op, backend.Error)
	r.fabric.Advance(10)
	if got := r.b.count('a'); got != 1700 {
		t.Errorf("%d bytes landed, want 1700", got)
	}
	again := r.post(backend.Write, backend.Submitted)
	r.fabric.Advance(9)
	r.poll(again, backend.Done)
	r.poll(op, backend.Error)
}

func TestTruncatedMetadataOnce(t *testing.T) {
	r := newRig(t, Config{})
	r.must(r.fabric.TruncateMetadata("b", 30))
	m, err := r.b.Metadata()
	r.must(err)
	if len(m) != 30 {
		t.Errorf("%d bytes", len(m))
	}
	r.wants(r.a.Connect("b", m), backend.ErrMetadata)
	r.connect(r.a, r.b)
	r.wants(r.fabric.TruncateMetadata("b", -1), backend.ErrInvalid)
}

func TestConnectRefusesStrangers(t *testing.T) {
	r, other := newRig(t, Config{}), newRig(t, Config{})
	foreign, err := other.b.Metadata()
	r.must(err)
	r.wants(r.a.Connect("b", foreign), backend.ErrMetadata)
	own, err := r.a.Metadata()
	r.must(err)
	r.wants(r.a.Connect("a", own), backend.ErrMetadata)
	r.wants(r.a.Connect("c", own), backend.ErrMetadata)
	older, err := r.b.Metadata()
	r.must(err)
	r.connect(r.a, r.b)
	r.wants(r.a.Connect("b", older), backend.ErrMetadata)
	r.post(backend.Write, backend.Submitted)
}

// TestPassiveDeregisterIsNoFence: a copy under way goes on, a later one is
// refused before it starts.
func TestPassiveDeregisterIsNoFence(t *testing.T) {
	r := newRig(t, Config{BytesPerTick: 1000})
	op, late := r.post(backend.Write, backend.Submitted), r.prepare(backend.Write)
	r.fabric.Step()
	r.must(r.b.Deregister(r.b.reg))
	r.fabric.Advance(10)
	r.poll(op, backend.Done)
	if r.b.count('a') != size {
		t.Error("the copy under way stopped")
	}
	if o := late.Post(); o.Status != backend.NotSubmitted {
		t.Errorf("post to deregistered memory: %v", o.Status)
	}
}

// TestUnmappedMemoryIsAnError: what would kill a real process is told.
func TestUnmappedMemoryIsAnError(t *testing.T) {
	r := newRig(t, Config{BytesPerTick: 1000})
	op := r.post(backend.Write, backend.Submitted)
	r.fabric.Step()
	r.must(r.b.arena.Close())
	r.fabric.Step()
	r.poll(op, backend.Error)
	r.fabric.Advance(10)
	if got := r.fabric.Stats().Bytes; got != 1000 {
		t.Errorf("%d bytes", got)
	}
}

func TestNames(t *testing.T) {
	f := New(Config{})
	_, err := f.Agent("")
	if err == nil {
		t.Error("an agent without a name")
	}
	for c, want := range map[Call]string{CallPost: "Post", CallPoll: "Poll", CallProgress: "Progress", 0: "invalid call"} {
		if c.String() != want {
			t.Errorf("%d: %q", c, c)
		}
	}
	if r := newRig(t, Config{}); r.a.Name() != "a" {
		t.Errorf("name %q", r.a.Name())
	}
}
