// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/nixl"
)

func TestCostTelemetryAndBackendOfARequest(t *testing.T) {
	const n = 1 << 20
	lib := requireNIXL(t)
	for _, telemetry := range []bool{true, false} {
		a, err := lib.NewAgent("look-a", nixl.AgentConfig{Telemetry: telemetry})
		if err != nil {
			t.Fatal(err)
		}
		ucx, err := a.CreateUCX(nixl.UCXConfig{Transport: nixl.TransportTCP, Device: "lo"})
		if err != nil {
			t.Fatal(err)
		}
		b := newAgent(t, lib, "look-b", nixl.TransportTCP)
		ours, theirs := mapped(t, n), mapped(t, n)
		register(t, a, ours)
		register(t, b, theirs)
		introduce(t, a, b)
		q, err := a.NewRequest(nixl.RequestConfig{
			Op: nixl.Write, Peer: b.Name(),
			Local: []nixl.Segment{{Addr: addr(ours), Len: n}}, Remote: []nixl.Segment{{Addr: addr(theirs), Len: n}},
			Extra: nixl.Extra{SkipMerge: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := q.EstimateCost(); err != nil || c.Duration <= 0 {
			t.Errorf("cost %+v, %v", c, err)
		} else {
			t.Logf("cost %+v", c)
		}
		if got, err := q.Backend(); got != ucx || err != nil {
			t.Errorf("backend %v, %v", got, err)
		}
		if _, err := q.Post(); err != nil {
			t.Fatal(err)
		}
		finish(t, q)
		got, err := q.Telemetry()
		t.Logf("telemetry %+v, %v", got, err)
		if telemetry && (err != nil || got.Bytes != n || got.Descriptors != 1 || got.Transfer <= 0) {
			t.Errorf("telemetry %+v, %v", got, err)
		}
		if !telemetry && !errors.Is(err, nixl.ErrNoTelemetry) {
			t.Errorf("telemetry that was not asked for: %+v, %v", got, err)
		}
		if err := q.Release(); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Telemetry(); !isClosed(err) {
			t.Errorf("after release: %v", err)
		}
		if err := a.Destroy(); err != nil {
			t.Error(err)
		}
		if _, err := q.EstimateCost(); !isClosed(err) {
			t.Errorf("after destroy: %v", err)
		}
	}
}

// A view needs a device; here NIXL must say no, and nothing stays held.
func TestViewWithoutADevice(t *testing.T) {
	lib := requireNIXL(t)
	a, b := newAgent(t, lib, "view-a", nixl.TransportTCP), newAgent(t, lib, "view-b", nixl.TransportTCP)
	ours, theirs := mapped(t, 4096), mapped(t, 4096)
	reg := register(t, a, ours)
	register(t, b, theirs)
	introduce(t, a, b)
	local, err := a.ViewLocal(nixl.DRAM, []nixl.Segment{{Addr: addr(ours), Len: 4096}}, nil)
	remote, err2 := a.ViewRemote(nixl.DRAM, []nixl.RemoteSegment{{Peer: b.Name(), Segment: nixl.Segment{Addr: addr(theirs), Len: 4096}}}, nil)
	t.Logf("%v; %v", err, err2)
	for _, c := range []struct {
		v   *nixl.View
		err error
	}{{local, err}, {remote, err2}} {
		if c.err == nil { // a host with a device
			if err := reg.Deregister(); c.v == local && !isInFlight(err) {
				t.Errorf("deregister under a view: %v", err)
			}
			if err := c.v.Release(); err != nil {
				t.Error(err)
			}
			continue
		}
		if e := (*nixl.Error)(nil); !errors.As(c.err, &e) && !errors.Is(c.err, nixl.ErrUnsupported) {
			t.Errorf("got %v", c.err)
		}
	}
	if err := errors.Join(reg.Deregister(), a.Invalidate(b.Name())); err != nil {
		t.Error(err)
	}
}
