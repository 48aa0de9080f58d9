// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package health

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"

	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/internal/dl"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }

func TestDevicesOfEveryMachine(t *testing.T) {
	for name, machine := range machines {
		t.Run(name, func(t *testing.T) {
			s := machine()
			m, states := newMocked(t, s)
			devices := m.Devices()
			if len(devices) != 8 || m.Driver() != s.DriverVersion {
				t.Fatalf("%d devices, driver %s", len(devices), m.Driver())
			}
			model := strings.TrimPrefix(name, "DGX ")
			for i, d := range devices {
				want := s.Devices[i].(*server.Device)
				if d.Index != i || d.UUID != want.UUID || !strings.Contains(d.Name, model) || d.Memory != want.MemoryInfo.Total || len(d.Missing) != 0 {
					t.Errorf("device %d is %+v", i, d)
				}
			}
			if facts := m.Check(); len(facts) != 0 {
				t.Errorf("a healthy machine has facts: %v", facts)
			}
			states[3].links, states[4].down[2] = 0, true
			states[5].processes = []nvml.ProcessInfo{{Pid: 77, UsedGpuMemory: 1 << 30}}
			topology, err := m.Topology()
			if err != nil || len(topology.Links) != 56 || !slices.Equal(topology.NVLinks, []int{12, 12, 12, 0, 11, 12, 12, 12}) {
				t.Errorf("topology: %v, %v", topology, err)
			}
			if l := topology.Links[6]; l != (Link{From: 0, To: 7, Level: "system", NVLink: true, Read: true}) {
				t.Errorf("link: %+v", l)
			}
			if p, err := m.Processes(); err != nil || !slices.Equal(p, []Process{{Index: 5, PID: 77, Memory: 1 << 30}}) {
				t.Errorf("processes: %v, %v", p, err)
			}
		})
	}
}

// What changes between two looks, and what follows: once, and never an all-clear.
func TestWhatFollows(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*state)
		want   string // kind and verdict; empty: no fact
		says   string
	}{
		"nothing":              {func(*state) {}, "", ""},
		"ECC":                  {func(s *state) { s.ecc = 3 }, "ecc doubt", "3 uncorrected errors, there were 0"},
		"rows":                 {func(s *state) { s.badRows = 1 }, "row remap doubt", "1 rows"},
		"remap pending":        {func(s *state) { s.pending = true }, "row remap quarantine", "waits for a reset"},
		"remap failed":         {func(s *state) { s.failed = true }, "row remap quarantine", "could not"},
		"hot":                  {func(s *state) { s.reasons = nvml.ClocksEventReasonSwThermalSlowdown }, "throttle notice", "temperature"},
		"idle":                 {func(s *state) { s.reasons = nvml.ClocksEventReasonGpuIdle }, "", ""},
		"link down":            {func(s *state) { s.down[7] = true }, "nvlink quarantine", "link 7"},
		"lost":                 {func(s *state) { s.eccRC = nvml.ERROR_GPU_IS_LOST }, "lost doubt", ""},
		"needs a reset":        {func(s *state) { s.eccRC = nvml.ERROR_RESET_REQUIRED }, "lost doubt", ""},
		"NVML does not answer": {func(s *state) { s.eccRC = nvml.ERROR_UNKNOWN }, "blind notice", "ecc"},
	} {
		t.Run(name, func(t *testing.T) {
			m, states := newMocked(t, dgxh100.New())
			c.change(states[2])
			facts := m.Check()
			if c.want == "" {
				if len(facts) != 0 {
					t.Fatalf("facts: %v", facts)
				}
				return
			}
			if len(facts) != 1 {
				t.Fatalf("%d facts: %v", len(facts), facts)
			}
			f := facts[0]
			if got := fmt.Sprint(f.Kind, " ", f.Verdict); got != c.want || f.Index != 2 || f.UUID != m.Devices()[2].UUID ||
				!strings.Contains(f.Text, c.says) || !errors.Is(f, ErrUnhealthy) {
				t.Errorf("got %s: %v", got, f)
			}
			if again := m.Check(); len(again) != 0 {
				t.Errorf("told again: %v", again)
			}
			*states[2] = state{links: 12, ecc: states[2].ecc, down: map[int]bool{}} // all well again
			if well := m.Check(); len(well) != 0 {
				t.Errorf("an all-clear: %v", well)
			}
		})
	}
}

// What is wrong when the monitor starts is told by its first look.
func TestWrongFromTheStart(t *testing.T) {
	s := dgxa100.New()
	states := mocked(s)
	states[0].pending, states[1].ecc = true, 5
	m, err := newMonitor(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	if facts := m.Check(); len(facts) != 1 || facts[0].Verdict != Quarantine || facts[0].Index != 0 {
		t.Errorf("facts: %v", facts)
	}
}

// A device, or a driver, that cannot tell something says so and is not asked.
func TestMissing(t *testing.T) {
	s := dgxa100.New()
	states := mocked(s)
	states[1].eccRC, states[1].links = nvml.ERROR_NOT_SUPPORTED, 0
	s.Devices[1].(*server.Device).GetNvLinkStateFunc = func(int) (nvml.EnableState, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	old := []string{"nvmlDeviceGetRemappedRows", "nvmlDeviceGetCurrentClocksEventReasons"}
	s.LookupSymbolFunc = func(name string) error {
		if slices.Contains(old, name) {
			return errors.New("absent")
		}
		return nil
	}
	for _, d := range s.Devices { // would panic if it were called
		d.(*server.Device).GetRemappedRowsFunc, d.(*server.Device).GetCurrentClocksEventReasonsFunc = nil, nil
	}
	m, err := newMonitor(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Devices()[1].Missing; !slices.Equal(got, []string{"ecc", "row remap", "nvlink"}) {
		t.Errorf("missing %v", got)
	}
	states[0].reasons = nvml.ClocksThrottleReasonHwSlowdown
	if facts := m.Check(); len(facts) != 1 || facts[0].Kind != Throttle {
		t.Errorf("facts: %v", facts)
	}
	if top, err := m.Topology(); err != nil || top.NVLinks[1] != 0 {
		t.Errorf("topology: %v, %v", top.NVLinks, err)
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, states := newMocked(t, dgxh100.New())
		states[5].events = nvml.EventTypeClock // no Xid events
		ctx, cancel := context.WithCancelCause(t.Context())
		var facts []string
		ended := make(chan error)
		go func() {
			ended <- m.Watch(ctx, func(f *Fact) {
				changing.Lock()
				defer changing.Unlock()
				facts = append(facts, fmt.Sprint(f.Index, " ", f.Kind, " ", f.Verdict, " ", f.Xid))
			})
		}()
		step := func(want ...string) {
			t.Helper()
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			changing.Lock()
			defer changing.Unlock()
			slices.Sort(facts)
			if !slices.Equal(facts, want) {
				t.Errorf("facts %q, want %q", facts, want)
			}
			facts = nil
		}
		step("5 blind notice 0")
		xid := func(n uint64) wait {
			return wait{nvml.EventData{EventType: nvml.EventTypeXidCriticalError, EventData: n}, nvml.SUCCESS}
		}
		states[0].waits <- xid(79)
		states[1].waits <- xid(63)
		states[1].waits <- xid(121)
		states[2].waits <- xid(9999)
		states[3].waits <- wait{nvml.EventData{EventType: nvml.EventTypeDoubleBitEccError}, nvml.SUCCESS}
		step("0 xid doubt 79", "1 xid notice 121", "1 xid quarantine 63", "2 xid doubt 9999", "3 ecc doubt 0")
		change := func(f func()) {
			changing.Lock()
			defer changing.Unlock()
			f()
		}
		change(func() { states[4].pending = true })
		step("4 row remap quarantine 0")
		states[6].waits <- wait{rc: nvml.ERROR_GPU_IS_LOST}
		states[7].waits <- wait{rc: nvml.ERROR_UNKNOWN}
		step("6 lost doubt 0", "7 blind notice 0")
		change(func() { states[6].ecc = 9 }) // nobody asks a lost device
		step()
		enough := errors.New("enough")
		cancel(enough)
		if err := <-ended; !errors.Is(err, enough) {
			t.Errorf("watch ended with %v", err)
		}
	})
}

// sink notes what it is told.
type sink struct{ got []string }

func (s *sink) Doubt(reason error)      { s.got = append(s.got, "doubt: "+reason.Error()) }
func (s *sink) Quarantine(reason error) { s.got = append(s.got, "quarantine: "+reason.Error()) }

func TestFeed(t *testing.T) {
	mine, other := new(sink), new(sink)
	sinks := map[string][]Sink{"GPU-1": {mine}, "GPU-2": {other}}
	for _, v := range []Verdict{Notice, Quarantine, Doubt} {
		Feed(&Fact{UUID: "GPU-1", Kind: Xid, Xid: 79, Verdict: v, Text: "gone"}, sinks)
	}
	Feed(&Fact{UUID: "GPU-3", Verdict: Doubt}, sinks)
	want := []string{
		"quarantine: health: GPU 0 (GPU-1): quarantine: Xid 79: gone",
		"quarantine: health: GPU 0 (GPU-1): doubt: Xid 79: gone",
		"doubt: health: GPU 0 (GPU-1): doubt: Xid 79: gone",
	}
	if !slices.Equal(mine.got, want) || other.got != nil {
		t.Errorf("got %q and %q", mine.got, other.got)
	}
}

func TestNames(t *testing.T) {
	for v := range Verdict(5) {
		if valid := v >= Notice && v <= Doubt; strings.HasPrefix(v.String(), "invalid") == valid {
			t.Errorf("verdict %d reads %v", v, v)
		}
	}
	for k := range Kind(10) {
		if valid := k >= Xid && k <= Blind; strings.HasPrefix(k.String(), "invalid") == valid {
			t.Errorf("kind %d reads %v", k, k)
		}
	}
}

func TestFailuresToStart(t *testing.T) {
	if _, err := Open(Options{Library: "/nonexistent/" + LibraryName}); !errors.Is(err, ErrUnavailable) || !errors.Is(err, dl.ErrNoLibrary) ||
		!strings.Contains(err.Error(), "install the NVIDIA driver") {
		t.Errorf("absent: %v", err)
	}
	for what, change := range map[string]func(*server.Server){
		"nvmlInit": func(s *server.Server) { s.InitFunc = func() nvml.Return { return nvml.ERROR_DRIVER_NOT_LOADED } },
		"nvmlDeviceGetCount": func(s *server.Server) {
			s.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, nvml.ERROR_UNKNOWN }
		},
		"nvmlDeviceGetHandleByIndex": func(s *server.Server) { s.DeviceGetCountFunc = func() (int, nvml.Return) { return 9, nvml.SUCCESS } },
		"device 0: ecc":              func(s *server.Server) { mocked(s)[0].eccRC = nvml.ERROR_GPU_IS_LOST },
	} {
		s := dgxa100.New()
		mocked(s)
		change(s)
		if _, err := newMonitor(s, 0); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The real library, where there is one.
func TestNVMLOfAGPU(t *testing.T) {
	m, err := Open(Options{})
	if err != nil {
		cudatest.SkipGPU(t, err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, d := range m.Devices() {
		t.Logf("%+v", d)
	}
	topology, err := m.Topology()
	if err != nil {
		t.Error(err)
	}
	processes, err := m.Processes()
	t.Logf("%+v, %v, %v; %v", topology, processes, err, m.Check())
}
