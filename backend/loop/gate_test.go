// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
)

func TestHeldCallsBlockUntilReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{})
		op := r.prepare(backend.Write)
		calls := map[Call]func(){
			CallPost:     func() { op.Post() },
			CallPoll:     func() { r.a.Poll(nil, nil) },
			CallProgress: func() { _, _ = r.a.Progress() },
		}
		for c, call := range calls {
			for range 2 { // held again after a release
				release, err := r.fabric.Hold("a", c)
				r.must(err)
				_, err = r.fabric.Hold("a", c) // twice is once
				r.must(err)
				returned := false
				go func() { call(); returned = true }()
				synctest.Wait()
				if returned {
					t.Errorf("%v returned while held", c)
				}
				if _, err := r.b.Progress(); err != nil { // others go on
					t.Error(err)
				}
				release()
				synctest.Wait()
				if !returned {
					t.Errorf("%v still held", c)
				}
				release() // harmless
			}
		}
		_, err := r.fabric.Hold("nobody", CallPost)
		r.wants(err, backend.ErrInvalid)
	})
}

// TestInlinePostWaitsForItsEnd: time driven elsewhere, as a blocking copy sees it.
func TestInlinePostWaitsForItsEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*rig)
		want backend.Status
	}{
		{"done", func(r *rig) { r.fabric.Advance(3) }, backend.Done},
		{"stalled, continued, done", func(r *rig) {
			r.must(r.fabric.Stall("b"))
			r.fabric.Advance(9)
			r.must(r.fabric.Continue("b"))
			r.fabric.Advance(3)
		}, backend.Done},
		{"killed", func(r *rig) { r.must(r.fabric.Kill("b", 0)) }, backend.Error},
		{"fenced", func(r *rig) { r.must(r.a.Fence()) }, backend.Error},
		{"broken", func(r *rig) { r.must(r.fabric.Break("a", "b", 0)) }, backend.Error},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Config{Inline: true, BytesPerTick: 4096})
				op := r.prepare(backend.Write)
				var got backend.Observation
				go func() { got = op.Post() }()
				synctest.Wait()
				if got.Status != 0 {
					t.Fatalf("Post answered %v at once", got.Status)
				}
				c.end(r)
				synctest.Wait()
				if got.Status != c.want {
					t.Errorf("Post answered %v: %v, want %v", got.Status, got.Err, c.want)
				}
			})
		})
	}
}

// TestInlineAutoPostNeedsNobody: the post itself is what moves the bytes.
func TestInlineAutoPostNeedsNobody(t *testing.T) {
	r := newRig(t, Config{Inline: true, Auto: true, BytesPerTick: 1000})
	op := r.post(backend.Read, backend.Done)
	if r.a.count('b') != size {
		t.Error("bytes are missing")
	}
	r.must(op.Release())
}
