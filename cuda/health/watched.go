// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package health

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// watched is one device and what was seen of it last.
type watched struct {
	Device
	handle  nvml.Device
	reasons func() (uint64, nvml.Return) // of its clocks; nil where the driver cannot tell

	mu   sync.Mutex
	lost bool    // guarded by mu
	seen reading // guarded by mu
}

// reading is what makes no event and has to be looked at.
type reading struct {
	uncorrected uint64
	badRows     int
	pending     bool
	remapFailed bool
	slowed      uint64
	linksUp     []bool
	failed      []string // probes that failed otherwise
}

func (m *Monitor) newWatched(i int, handle nvml.Device) (*watched, error) {
	w := &watched{Device: Device{Index: i}, handle: handle}
	var rc nvml.Return
	if w.Name, rc = handle.GetName(); rc != nvml.SUCCESS {
		return nil, problem("nvmlDeviceGetName", rc)
	}
	if w.UUID, rc = handle.GetUUID(); rc != nvml.SUCCESS {
		return nil, problem("nvmlDeviceGetUUID", rc)
	}
	if memory, rc := handle.GetMemoryInfo(); rc == nvml.SUCCESS {
		w.Memory = memory.Total
	}
	if pci, rc := handle.GetPciInfo(); rc == nvml.SUCCESS {
		w.PCI = text(pci.BusId[:])
	}
	switch {
	case m.has("nvmlDeviceGetCurrentClocksEventReasons"):
		w.reasons = handle.GetCurrentClocksEventReasons
	case m.has("nvmlDeviceGetCurrentClocksThrottleReasons"):
		w.reasons = handle.GetCurrentClocksThrottleReasons
	}
	now, failures := w.read(m)
	for _, f := range failures {
		switch {
		case f.missing:
			w.Missing = append(w.Missing, f.what)
		case f.lost:
			return nil, problem(f.what, f.rc)
		}
	}
	// What is wrong already is told by the first look; errors are counted from here.
	now.pending, now.remapFailed, now.slowed = false, false, 0
	w.seen = now
	return w, nil
}

// failure is a question that NVML did not answer.
type failure struct {
	what    string
	rc      nvml.Return
	missing bool // this device or driver cannot tell, ever
	lost    bool // the device is gone
}

func newFailure(what string, rc nvml.Return) failure {
	return failure{
		what: what, rc: rc, missing: rc == nvml.ERROR_NOT_SUPPORTED || rc == nvml.ERROR_FUNCTION_NOT_FOUND,
		lost: rc == nvml.ERROR_GPU_IS_LOST || rc == nvml.ERROR_RESET_REQUIRED,
	}
}

// slowing are the reasons for lower clocks that are not our own wish.
const slowing = nvml.ClocksThrottleReasonHwSlowdown | nvml.ClocksEventReasonSwThermalSlowdown |
	nvml.ClocksThrottleReasonHwThermalSlowdown | nvml.ClocksThrottleReasonHwPowerBrakeSlowdown

// read asks everything. What could not be read keeps its last value.
func (w *watched) read(m *Monitor) (now reading, failures []failure) {
	now = w.seen
	now.failed = nil
	note := func(what string, rc nvml.Return) bool {
		if rc != nvml.SUCCESS {
			failures = append(failures, newFailure(what, rc))
		}
		return rc == nvml.SUCCESS
	}
	n, rc := w.handle.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)
	if note("ecc", rc) {
		now.uncorrected = n
	}
	rc = nvml.ERROR_FUNCTION_NOT_FOUND
	var bad int
	var pending, failed bool
	if m.has("nvmlDeviceGetRemappedRows") {
		_, bad, pending, failed, rc = w.handle.GetRemappedRows()
	}
	if note("row remap", rc) {
		now.badRows, now.pending, now.remapFailed = bad, pending, failed
	}
	rc = nvml.ERROR_FUNCTION_NOT_FOUND
	var reasons uint64
	if w.reasons != nil {
		reasons, rc = w.reasons()
	}
	if note("clocks", rc) {
		now.slowed = reasons & slowing
	}
	up, rc := w.linkStates()
	if note("nvlink", rc) {
		now.linksUp = up
	}
	return now, failures
}

// linkStates tells which NVLinks are up; a device without any does not support it.
func (w *watched) linkStates() (up []bool, rc nvml.Return) {
	for i := range nvml.NVLINK_MAX_LINKS {
		state, rc := w.handle.GetNvLinkState(i)
		switch {
		case rc == nvml.SUCCESS:
			up = append(up, state == nvml.FEATURE_ENABLED)
		case rc != nvml.ERROR_INVALID_ARGUMENT && rc != nvml.ERROR_NOT_SUPPORTED:
			return nil, rc
		case i == 0:
			return nil, nvml.ERROR_NOT_SUPPORTED
		default:
			return up, nvml.SUCCESS // there are no more
		}
	}
	return up, nvml.SUCCESS
}

func (w *watched) links() ([]bool, error) {
	up, rc := w.linkStates()
	if rc != nvml.SUCCESS && !newFailure("", rc).missing {
		return nil, problem("nvmlDeviceGetNvLinkState", rc)
	}
	return up, nil
}

func (w *watched) fact(kind Kind, v Verdict, format string, args ...any) *Fact {
	return &Fact{At: time.Now(), Index: w.Index, UUID: w.UUID, Kind: kind, Verdict: v, Text: fmt.Sprintf(format, args...)}
}

// check compares what a device says now with what it said last.
func (w *watched) check(m *Monitor) (facts []*Fact) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost {
		return nil
	}
	now, failures := w.read(m)
	last := w.seen
	for _, f := range failures {
		switch {
		case f.lost:
			return append(facts, w.isLost(f.rc))
		case f.missing && slices.Contains(w.Missing, f.what):
		default:
			now.failed = append(now.failed, f.what)
			if !slices.Contains(last.failed, f.what) {
				facts = append(facts, w.fact(Blind, Notice, "%s: %s", f.what, nvml.ErrorString(f.rc)))
			}
		}
	}
	w.seen = now
	return append(facts, w.changes(&last, &now)...)
}

// isLost is told once. The caller holds mu.
func (w *watched) isLost(rc nvml.Return) *Fact {
	w.lost = true
	return w.fact(Lost, Doubt, "%s", nvml.ErrorString(rc))
}

func (w *watched) changes(last, now *reading) (facts []*Fact) {
	add := func(is bool, kind Kind, v Verdict, format string, args ...any) {
		if is {
			facts = append(facts, w.fact(kind, v, format, args...))
		}
	}
	add(now.uncorrected > last.uncorrected, ECC, Doubt, "%d uncorrected errors, there were %d", now.uncorrected, last.uncorrected)
	add(now.badRows > last.badRows, RowRemap, Doubt, "%d rows remapped for uncorrectable errors, there were %d", now.badRows, last.badRows)
	add(now.pending && !last.pending, RowRemap, Quarantine, "a remap waits for a reset of the device")
	add(now.remapFailed && !last.remapFailed, RowRemap, Quarantine, "a row could not be remapped")
	add(now.slowed&^last.slowed != 0, Throttle, Notice, "clocks are lowered: %s", slowedBy(now.slowed))
	for i, up := range now.linksUp {
		add(!up && i < len(last.linksUp) && last.linksUp[i], NVLink, Quarantine, "link %d is down", i)
	}
	return facts
}

func slowedBy(reasons uint64) string {
	var list []string
	for _, r := range []struct {
		bit  uint64
		text string
	}{
		{nvml.ClocksThrottleReasonHwSlowdown, "hardware slowdown"},
		{nvml.ClocksEventReasonSwThermalSlowdown, "temperature (software)"},
		{nvml.ClocksThrottleReasonHwThermalSlowdown, "temperature (hardware)"},
		{nvml.ClocksThrottleReasonHwPowerBrakeSlowdown, "power brake"},
	} {
		if reasons&r.bit != 0 {
			list = append(list, r.text)
		}
	}
	return strings.Join(list, ", ")
}
