// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package health

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/kvxfer/kvxfer/internal/dl"
)

// DefaultInterval is how often Watch reads the counters.
const DefaultInterval = 5 * time.Second

// Options say where NVML is, and how often to look.
type Options struct {
	_ struct{}
	// Library is a path instead of [LibraryName].
	Library string
	// Interval is how often Watch reads what makes no event; 0 is DefaultInterval.
	Interval time.Duration
}

// Monitor watches the devices of a machine.
type Monitor struct {
	lib      nvml.Interface
	interval time.Duration
	driver   string
	devices  []*watched

	mu     sync.Mutex
	closed bool // guarded by mu
}

// Open opens NVML and reads what the devices are, and what their counters say
// now: facts are what changes from here on. The error is an
// *[UnavailableError]. NVML is one for a process.
func Open(o Options) (*Monitor, error) {
	name := o.Library
	if name == "" {
		name = LibraryName
	}
	// The binding throws the loader's words away, so it is asked here first.
	lib, err := dl.Open(name)
	if err != nil {
		return nil, &UnavailableError{Library: name, Err: err, Advice: adviceInstall}
	}
	defer lib.Close()
	m, err := newMonitor(nvml.New(nvml.WithLibraryPath(name)), o.Interval)
	if err != nil {
		return nil, &UnavailableError{Library: name, Err: err, Advice: "check nvidia-smi"}
	}
	return m, nil
}

// newMonitor starts NVML.
func newMonitor(lib nvml.Interface, interval time.Duration) (*Monitor, error) {
	if interval <= 0 {
		interval = DefaultInterval
	}
	if rc := lib.Init(); rc != nvml.SUCCESS {
		return nil, problem("nvmlInit", rc)
	}
	m := &Monitor{lib: lib, interval: interval}
	if err := m.find(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Monitor) find() error {
	m.driver, _ = m.lib.SystemGetDriverVersion() // for people; empty where it fails
	n, rc := m.lib.DeviceGetCount()
	if rc != nvml.SUCCESS {
		return problem("nvmlDeviceGetCount", rc)
	}
	for i := range n {
		handle, rc := m.lib.DeviceGetHandleByIndex(i)
		if rc != nvml.SUCCESS {
			return fmt.Errorf("device %d: %w", i, problem("nvmlDeviceGetHandleByIndex", rc))
		}
		w, err := m.newWatched(i, handle)
		if err != nil {
			return fmt.Errorf("device %d: %w", i, err)
		}
		m.devices = append(m.devices, w)
	}
	return nil
}

// problem is a failure of NVML, in its own words.
func problem(call string, rc nvml.Return) error {
	return fmt.Errorf("%s: %s (%d)", call, nvml.ErrorString(rc), int(rc))
}

// has reports whether the library exports a symbol. NVML's binding leaves
// symbols to be found at the first call, where a missing one ends the process.
func (m *Monitor) has(symbol string) bool { return m.lib.Extensions().LookupSymbol(symbol) == nil }

// Devices lists the devices, in NVML's order.
func (m *Monitor) Devices() []Device {
	var out []Device
	for _, w := range m.devices {
		d := w.Device
		d.Missing = append([]string(nil), d.Missing...)
		out = append(out, d)
	}
	return out
}

// Driver is the driver's version, such as "550.54.15".
func (m *Monitor) Driver() string { return m.driver }

// Processes lists who has memory of which device. On a device that cannot tell
// there are none.
func (m *Monitor) Processes() ([]Process, error) {
	var out []Process
	for _, w := range m.devices {
		list, rc := w.handle.GetComputeRunningProcesses()
		switch rc {
		case nvml.SUCCESS:
		case nvml.ERROR_NOT_SUPPORTED:
			continue
		default:
			return nil, fmt.Errorf("health: GPU %d: %w", w.Index, problem("nvmlDeviceGetComputeRunningProcesses", rc))
		}
		for _, p := range list {
			out = append(out, Process{Index: w.Index, PID: p.Pid, Memory: p.UsedGpuMemory})
		}
	}
	return out, nil
}

// levels are NVML's topology levels in words.
var levels = map[nvml.GpuTopologyLevel]string{
	nvml.TOPOLOGY_INTERNAL: "board", nvml.TOPOLOGY_SINGLE: "switch", nvml.TOPOLOGY_MULTIPLE: "switches",
	nvml.TOPOLOGY_HOSTBRIDGE: "host bridge", nvml.TOPOLOGY_NODE: "node", nvml.TOPOLOGY_SYSTEM: "system",
}

// Topology reads how the devices are joined. What a device cannot tell is
// empty or false.
func (m *Monitor) Topology() (Topology, error) {
	var t Topology
	for _, from := range m.devices {
		up, err := from.links()
		if err != nil {
			return Topology{}, fmt.Errorf("health: GPU %d: %w", from.Index, err)
		}
		t.NVLinks = append(t.NVLinks, count(up))
		for _, to := range m.devices {
			if from == to {
				continue
			}
			l := Link{From: from.Index, To: to.Index}
			if level, rc := from.handle.GetTopologyCommonAncestor(to.handle); rc == nvml.SUCCESS {
				l.Level = levels[level]
			}
			l.NVLink = from.reaches(to, nvml.P2P_CAPS_INDEX_NVLINK)
			l.Read = from.reaches(to, nvml.P2P_CAPS_INDEX_READ)
			l.Write = from.reaches(to, nvml.P2P_CAPS_INDEX_WRITE)
			t.Links = append(t.Links, l)
		}
	}
	return t, nil
}

func (w *watched) reaches(to *watched, how nvml.GpuP2PCapsIndex) bool {
	status, rc := w.handle.GetP2PStatus(to.handle, how)
	return rc == nvml.SUCCESS && status == nvml.P2P_STATUS_OK
}

func count(list []bool) (n int) {
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

// Close ends NVML's use by the monitor; no Watch may be running. Closing twice
// is fine.
func (m *Monitor) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	if rc := m.lib.Shutdown(); rc != nvml.SUCCESS {
		return fmt.Errorf("health: %w", problem("nvmlShutdown", rc))
	}
	m.closed = true
	return nil
}

// text is a C string of fixed length.
func text(c []int8) string {
	var b strings.Builder
	for _, v := range c {
		if v == 0 {
			break
		}
		b.WriteByte(byte(v))
	}
	return b.String()
}
