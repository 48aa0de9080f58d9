// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/kvxfer/kvxfer/nixl"
)

// NIXL guards neither its agents nor its handles: a call beside or after their
// end reads freed memory. Many goroutines use one agent and one request in
// every way while another ends them; the process must live, and each call must
// have worked or said ErrClosed, ErrInFlight or that the peer is gone.
func TestEverythingRacesWithTheEnd(t *testing.T) {
	lib := requireNIXL(t)
	for round := range 8 {
		a := newAgent(t, lib, fmt.Sprintf("race-a-%d", round), nixl.TransportTCP)
		b := newAgent(t, lib, fmt.Sprintf("race-b-%d", round), nixl.TransportTCP)
		ours, theirs := mapped(t, 1<<16), mapped(t, 1<<16)
		reg := register(t, a, ours)
		register(t, b, theirs)
		introduce(t, a, b)
		md, err := b.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		cfg := nixl.RequestConfig{
			Op: nixl.Write, Peer: b.Name(),
			Local:  []nixl.Segment{{Addr: addr(ours), Len: 1 << 16}},
			Remote: []nixl.Segment{{Addr: addr(theirs), Len: 1 << 16}},
		}
		shared, err := a.NewRequest(cfg)
		if err != nil {
			t.Fatal(err)
		}
		uses := []func() error{
			func() error { _, err := shared.Post(); return err },
			func() error { _, err := shared.Status(); return err },
			func() error { return a.Poll([]*nixl.Request{shared}, make([]nixl.Observation, 1)) },
			func() error { _, err := a.Notifications(); return err },
			func() error { _, err := a.Metadata(); return err },
			func() error { _, err := a.LoadMetadata(md, b.Name()); return err },
			func() error { _, err := a.PartialMetadata(nil); return err },
			func() error { _, err := a.CheckMetadata(b.Name(), nixl.DRAM); return err },
			func() error { _, err := a.PluginInfo(nixl.PluginUCX); return err },
			func() error { _, err := shared.EstimateCost(); return err },
			func() error { _, err := shared.Telemetry(); return err },
			func() error { _, err := shared.Backend(); return err },
			func() error { return oneTransfer(a, cfg) },
		}
		start := make(chan struct{})
		var wg sync.WaitGroup
		for _, use := range uses {
			wg.Go(func() {
				<-start
				for {
					if err := use(); errors.Is(err, nixl.ErrClosed) {
						return
					} else if err != nil && !allowed(err) {
						t.Error(err)
						return
					}
				}
			})
		}
		close(start)
		for range 200 {
			if err := errors.Join(shared.Release(), reg.Deregister()); err == nil {
				break
			}
		}
		if err := a.Fence(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

func allowed(err error) bool {
	for _, ok := range []error{
		nixl.ErrInFlight, nixl.ErrNotPosted, nixl.ErrNoTelemetry, nixl.ErrUnknownPeer, nixl.ErrNotRegistered,
	} {
		if errors.Is(err, ok) {
			return true
		}
	}
	return false
}

// oneTransfer builds, posts, waits for and releases a request of its own.
func oneTransfer(a *nixl.Agent, cfg nixl.RequestConfig) error {
	q, err := a.NewRequest(cfg)
	if err != nil {
		return err
	}
	if _, err := q.Post(); err != nil {
		return errors.Join(err, q.Release())
	}
	if _, err := untilEnd(q); err != nil {
		return err
	}
	return q.Release()
}
