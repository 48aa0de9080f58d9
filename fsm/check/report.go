// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// Trace is a run.
type Trace struct{}

// report turns what was seen into verdicts.
func (x *explorer) report() *Result {
	x.peak = max(x.peak, x.bytes())
	r := &Result{System: x.m.sys.Name, Replicas: x.o.Replicas, Environment: x.o.Environment, Symmetry: x.o.Symmetry,
		States: x.q.n, Edges: x.edges, Ignored: x.ignored, Depth: len(x.levels) - 1, Bytes: x.peak,
		StateBytes: x.q.bytes() + x.seen.bytes(), Complete: x.stopped == "", Stopped: x.stopped}
	for _, p := range x.m.sys.Properties {
		f := &Finding{Property: p, Name: p.Name, Doc: p.Doc, Verdict: Proved}
		if h := x.hits[p]; h != nil {
			f.Verdict, f.Length = Violated, h.length
		}
		if p.Kind == load.Eventually {
			f.Verdict = NotFinished
		}
		r.Findings = append(r.Findings, f)
	}
	r.Elapsed = time.Since(x.start)
	return r
}
