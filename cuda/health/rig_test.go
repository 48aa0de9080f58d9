// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package health

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxb200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
)

// machines are the mocks of NVML's binding: eight GPUs each.
var machines = map[string]func() *server.Server{
	"DGX A100": dgxa100.New, "DGX H100": dgxh100.New, "DGX H200": dgxh200.New, "DGX B200": dgxb200.New,
}

// changing guards the states where a Watch reads them.
var changing sync.Mutex

// state is what a mock's device answers to what the mocks leave open. A test
// changes it between two looks.
type state struct {
	ecc       uint64
	eccRC     nvml.Return
	badRows   int
	pending   bool
	failed    bool
	reasons   uint64
	links     int // how many there are
	down      map[int]bool
	events    uint64
	processes []nvml.ProcessInfo
	waits     chan wait // what a wait for events answers; nothing: a timeout
}

type wait struct {
	event nvml.EventData
	rc    nvml.Return
}

// mocked gives the devices of a mock the behaviour that it lacks.
func mocked(s *server.Server) []*state {
	var states []*state
	s.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) {
		set := &mock.EventSet{FreeFunc: func() nvml.Return { return nvml.SUCCESS }}
		return set, nvml.SUCCESS
	}
	for _, handle := range s.Devices {
		d, st := handle.(*server.Device), &state{links: 12, events: wanted, down: map[int]bool{}, waits: make(chan wait, 8)}
		states = append(states, st)
		d.GetTotalEccErrorsFunc = func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) {
			changing.Lock()
			defer changing.Unlock()
			return st.ecc, st.eccRC
		}
		d.GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) {
			changing.Lock()
			defer changing.Unlock()
			return 0, st.badRows, st.pending, st.failed, nvml.SUCCESS
		}
		d.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return st.reasons, nvml.SUCCESS }
		d.GetCurrentClocksThrottleReasonsFunc = d.GetCurrentClocksEventReasonsFunc
		d.GetNvLinkStateFunc = func(i int) (nvml.EnableState, nvml.Return) {
			switch {
			case i >= st.links:
				return 0, nvml.ERROR_INVALID_ARGUMENT
			case st.down[i]:
				return nvml.FEATURE_DISABLED, nvml.SUCCESS
			}
			return nvml.FEATURE_ENABLED, nvml.SUCCESS
		}
		d.GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return st.events, nvml.SUCCESS }
		d.RegisterEventsFunc = func(types uint64, set nvml.EventSet) nvml.Return {
			set.(*mock.EventSet).WaitFunc = st.wait
			return nvml.SUCCESS
		}
		d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return st.processes, nvml.SUCCESS }
		d.GetTopologyCommonAncestorFunc = func(to nvml.Device) (nvml.GpuTopologyLevel, nvml.Return) {
			if (to.(*server.Device).Index < 4) == (d.Index < 4) {
				return nvml.TOPOLOGY_NODE, nvml.SUCCESS
			}
			return nvml.TOPOLOGY_SYSTEM, nvml.SUCCESS
		}
		d.GetP2PStatusFunc = func(_ nvml.Device, how nvml.GpuP2PCapsIndex) (nvml.GpuP2PStatus, nvml.Return) {
			if how == nvml.P2P_CAPS_INDEX_WRITE {
				return nvml.P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED, nvml.SUCCESS
			}
			return nvml.P2P_STATUS_OK, nvml.SUCCESS
		}
	}
	return states
}

func (st *state) wait(ms uint32) (nvml.EventData, nvml.Return) {
	select {
	case w := <-st.waits:
		return w.event, w.rc
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return nvml.EventData{}, nvml.ERROR_TIMEOUT
	}
}

func newMocked(t *testing.T, s *server.Server) (*Monitor, []*state) {
	t.Helper()
	states := mocked(s)
	m, err := newMonitor(s, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(m.Close(), m.Close()); err != nil {
			t.Error(err)
		}
	})
	return m, states
}
