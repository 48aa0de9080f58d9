// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor looks at what this machine offers to kvxfer: NIXL and its
// plugins, transports, memory, GPUs, the kernel, etcd.
//
// A plugin is loaded and created in a process of its own, which may crash or
// hang without harm, and which says why in the library's own words. Nothing on
// the machine is changed.
package doctor

import (
	"context"
	"slices"
	"sync"
)

// Level is how much a finding matters.
type Level string

// Levels of a finding.
const (
	OK      Level = "ok"      // as it should be
	Note    Level = "note"    // not there, and not needed for what runs by default
	Problem Level = "problem" // something fails, or is slower than it could be
)

// Finding is one thing that was looked at.
type Finding struct {
	Part  string `json:"part"` // what it belongs to: nixl, plugin, ucx, gpu, memory, kernel, etcd, use
	Name  string `json:"name"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // what the user can do about it
}

// Report is all that was found, in the order in which it is to be read.
type Report struct {
	Findings []Finding `json:"findings"`
	// Usable reports whether NIXL can move bytes here: without, commands use
	// the loop backend or refuse.
	Usable bool `json:"usable"`
}

// Problems counts the findings that something is to be done about.
func (r *Report) Problems() (n int) {
	for _, f := range r.Findings {
		if f.Level == Problem {
			n++
		}
	}
	return n
}

// Examine looks at everything, at the parts side by side. It takes as long as
// the slowest plugin, and no longer than ctx.
func Examine(ctx context.Context, c Config) *Report {
	m := machine{root: c.root}
	var agent *library
	parts := []func() []Finding{
		func() []Finding { agent = c.library(ctx); return agent.findings },
		gpus,
		m.memory,
		m.kernel,
		func() []Finding { return etcd(ctx) },
	}
	found := make([][]Finding, len(parts))
	var wg sync.WaitGroup
	for i, look := range parts {
		wg.Go(func() { found[i] = look() })
	}
	wg.Wait()
	r := &Report{Findings: slices.Concat(found...), Usable: agent.usable()}
	r.Findings = append(r.Findings, m.use(agent)...)
	return r
}
