// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// recorded is a run over the loop backend with everything that it told.
type recorded struct {
	config    Config
	events    []Event
	transfers []Transfer
	// early lists transfers that were told before their last event.
	early []string
}

func newRecorded(t *testing.T) *recorded {
	t.Helper()
	var id [16]byte
	_, _ = rand.Read(id[:])
	fabric := loop.New(loop.Config{Auto: true, BytesPerTick: 512})
	r := &recorded{}
	r.config = Config{
		Plan: Plan{
			Shape: blocks.Shape{Layers: 3, Blocks: 4, BlockSize: 100}, Seed: 5,
			Control:        "unix-abstract:kvxfer-test-" + hex.EncodeToString(id[:]),
			RequestTimeout: time.Minute, Grace: time.Minute, Wait: time.Minute,
		},
		Count:   1,
		Open:    OpenLoop(fabric),
		Start:   func(ctx context.Context, p Plan) (Process, error) { return Inside(ctx, p, fabric), nil },
		Started: func(Process) {},
		Event: func(e Event) {
			for _, t := range r.transfers {
				if t.Session == e.Session && !strings.HasPrefix(e.What, "report") {
					r.early = append(r.early, t.Session+" "+e.Text)
				}
			}
			r.events = append(r.events, e)
		},
		Transfer: func(t Transfer) { r.transfers = append(r.transfers, t) },
	}
	return r
}

func (r *recorded) run(t *testing.T) (*Report, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return Run(ctx, r.config)
}

// moves are the states that the claims of one side went to.
func (r *recorded) moves(side string) (states []string) {
	for _, e := range r.events {
		if e.Side == side && strings.HasPrefix(e.What, "claim") {
			states = append(states, e.To)
		}
	}
	return states
}

func TestRunDeliversAndReleases(t *testing.T) {
	r := newRecorded(t)
	r.config.Count = 4
	report, err := r.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if report.Delivered() != 4 || report.Proven() != 4 || report.Bytes() != 4*1200 {
		t.Errorf("%d delivered, %d proven, %d bytes", report.Delivered(), report.Proven(), report.Bytes())
	}
	if want := (Finished{Admitted: 4, Released: 4}); !reflect.DeepEqual(report.Sender, want) || report.Receiver == nil || !reflect.DeepEqual(*report.Receiver, want) {
		t.Errorf("sender %+v, receiver %+v", report.Sender, report.Receiver)
	}
	if l := report.PostToDone(); l.Count != 4 || l.P50 <= 0 {
		t.Errorf("latency %+v", l)
	}
	digests := map[string]bool{}
	for _, x := range report.Transfers {
		digests[x.Digest] = true
	}
	if len(digests) != 4 {
		t.Error("content was used again")
	}
	if len(r.early) > 0 {
		t.Errorf("told before their events: %q", r.early)
	}
}

func TestStallIsSettledByLateProof(t *testing.T) {
	r := newRecorded(t)
	r.config.Fault, r.config.Plan.Wait = Stall, 50*time.Millisecond
	report, err := r.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Transfers[0]; got.Outcome != "FAILED" || got.Cause != "doubt" || report.Proven() != 1 || report.Delivered() != 0 {
		t.Errorf("transfer %+v", got)
	}
	want := []string{"PUBLISHED", "IN_DOUBT", "FAILED_QUIESCED"}
	for _, side := range []string{SideSender, SideReceiver} {
		if got := r.moves(side); !slices.Equal(got, want) {
			t.Errorf("%s: claim went to %v, want %v", side, got, want)
		}
	}
}

func TestKillEndsInContainment(t *testing.T) {
	r := newRecorded(t)
	r.config.Fault, r.config.Plan.Grace = Kill, 50*time.Millisecond
	report, err := r.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if report.Contained == "" || len(report.Retained) != 1 || report.Proven() != 0 {
		t.Errorf("report %+v", report)
	}
	if report.Sender.Admitted != 1 || report.Sender.Released != 0 || report.Sender.Error == "" {
		t.Errorf("sender %+v: a stop under FATAL must be refused", report.Sender)
	}
}

func TestSlowSucceeds(t *testing.T) {
	r := newRecorded(t)
	r.config.Fault = Slow
	report, err := r.run(t)
	if err != nil || report.Delivered() != 1 || report.Proven() != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
}

func TestSourceAndOutput(t *testing.T) {
	r := newRecorded(t)
	content := make([]byte, 2*1200+345)
	_, _ = rand.Read(content)
	r.config.Count, r.config.Source = 3, bytes.NewReader(content)
	r.config.Plan.Out = filepath.Join(t.TempDir(), "out")
	report, err := r.run(t)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(r.config.Plan.Out)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes arrived of %d, %v", len(got), len(content), err)
	}
	if report.Transfers[2].Bytes != 345 {
		t.Errorf("last transfer %+v", report.Transfers[2])
	}
}

func TestFailures(t *testing.T) {
	boom := errors.New("boom")
	for _, tc := range []struct {
		name        string
		change      func(*Config)
		is          error
		environment bool
	}{
		{"the input breaks", func(c *Config) { c.Source = iotest.ErrReader(boom) }, boom, false},
		{"the input ends early", func(c *Config) { c.Source = strings.NewReader("") }, nil, false},
		{"the output cannot be written", func(c *Config) { c.Plan.Out = "/nowhere/out" }, nil, true},
		{"the output has no room", func(c *Config) { c.Plan.Out = "/dev/full" }, nil, true},
		{"the address is not local", func(c *Config) { c.Plan.Control = "192.0.2.1:1" }, rpc.ErrNotLocal, false},
		{"the receiver cannot start", func(c *Config) {
			c.Start = func(context.Context, Plan) (Process, error) { return nil, boom }
		}, boom, false},
		{"the pool cannot be mapped", func(c *Config) { c.Plan.Shape.BlockSize = 1 << 36 }, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRecorded(t)
			tc.change(&r.config)
			_, err := r.run(t)
			if err == nil || tc.is != nil && !errors.Is(err, tc.is) || IsEnvironment(err) != tc.environment {
				t.Errorf("got %v (environment: %v)", err, IsEnvironment(err))
			}
		})
	}
}

func TestParseFault(t *testing.T) {
	for _, f := range []Fault{NoFault, Stall, Kill, Slow} {
		if got, err := ParseFault(string(f)); err != nil || got != f {
			t.Errorf("%q: %q, %v", f, got, err)
		}
	}
	if _, err := ParseFault("nap"); err == nil {
		t.Error("took an unknown fault")
	}
}
