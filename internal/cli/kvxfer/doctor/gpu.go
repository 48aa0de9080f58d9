// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"

	"github.com/dustin/go-humanize"

	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/health"
)

// gpus asks the driver for its devices, and NVML for their health.
func gpus() (out []Finding) {
	driver, err := cuda.Open(cuda.Options{})
	if err != nil {
		f := Finding{"gpu", "cuda", Note, err.Error(), ""}
		var why *cuda.UnavailableError
		if errors.As(err, &why) {
			f.Text, f.Do = why.Err.Error(), why.Advice
		}
		return []Finding{f}
	}
	out = append(out, Finding{"gpu", "cuda", OK, "driver for CUDA " + driver.Version().String(), ""})
	for _, d := range driver.Devices() {
		out = append(out, Finding{"gpu", d.PCI(), OK, d.Name() + ", " + humanize.IBytes(d.Memory()), ""})
	}
	return append(out, healthOf()...)
}

func healthOf() []Finding {
	m, err := health.Open(health.Options{})
	if err != nil {
		f := Finding{"gpu", "health", Note, err.Error(), ""}
		var why *health.UnavailableError
		if errors.As(err, &why) {
			f.Text, f.Do = why.Err.Error(), why.Advice
		}
		return []Finding{f}
	}
	defer func() { _ = m.Close() }()
	var out []Finding
	for _, fact := range m.Check() {
		out = append(out, Finding{"gpu", fact.UUID, Problem, fact.Error(), "look at dmesg and nvidia-smi -q; the device may need a reset"})
	}
	if len(out) == 0 {
		out = append(out, Finding{"gpu", "health", OK, "NVML, driver " + m.Driver() + ": nothing wrong", ""})
	}
	return out
}
