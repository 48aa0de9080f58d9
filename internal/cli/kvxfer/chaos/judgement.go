// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kvxfer/kvxfer/trace"
)

// Traces is what the traces of a run's processes said, each by itself and all of them
// together.
type Traces struct {
	Files int `json:"files"`
	// Cut counts those without their end: of processes that were killed, or that UCX
	// has ended.
	Cut   int `json:"cut,omitempty"`
	Lines int `json:"lines"`
	Steps int `json:"steps"`
	// Messages and Operations were found in both traces that they are in; Unknown in
	// one, as the other was cut before.
	Messages   int `json:"messages"`
	Operations int `json:"operations"`
	Unknown    int `json:"unknown,omitempty"`
}

// makeFolder makes the folder for the traces.
func (c *cluster) makeFolder() (err error) {
	if c.folder, c.keeps = c.config.Traces, c.config.Traces != ""; c.keeps {
		return os.MkdirAll(c.folder, 0o755)
	}
	c.folder, err = os.MkdirTemp("", "kvxfer-chaos-")
	return err
}

// discard removes it, unless it stays.
func (c *cluster) discard() {
	if !c.keeps {
		_ = os.RemoveAll(c.folder)
	}
}

// traceFile is where a node's life leaves its trace.
func (c *cluster) traceFile(node, life int) string {
	return filepath.Join(c.folder, fmt.Sprintf("%s-%s-%d.%s.%d.jsonl", c.spec.Fault, c.spec.Transport, c.spec.Seed, nameOf(node), life))
}

// testify checks the traces of all processes, which have ended or stopped, against the
// contract and against each other.
func (a *attack) testify() error {
	joint := trace.NewJoint()
	for node, lives := range a.lives {
		for life := range lives {
			if err := a.checkTrace(joint, node, life, life == lives-1 && !a.dead[node]); err != nil {
				return err
			}
		}
	}
	r := joint.Judge()
	t := &a.result.Traces
	t.Messages, t.Operations, t.Unknown = r.Messages, r.Operations, r.Unknown
	for _, f := range r.Findings {
		a.result.find("traces: %s:%d against %s:%d: %s: %s", filepath.Base(f.File), f.Line, filepath.Base(f.Other), f.OtherLine, f.Rule, f.What)
	}
	for _, why := range r.NotJudged {
		a.result.find("traces: not judged: %s", why)
	}
	return nil
}

// checkTrace checks one trace. One of a process that is there has to be whole.
func (a *attack) checkTrace(joint *trace.Joint, node, life int, there bool) error {
	path := a.traceFile(node, life)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	r, err := trace.Check(path, joint.Add(path, trace.NewReader(file)))
	name := filepath.Base(path)
	if wrong := (*trace.SyntaxError)(nil); errors.As(err, &wrong) {
		if !there && wrong.Line == 1 {
			a.result.Traces.Cut++ // killed before its first line was whole
			return nil
		}
		a.result.find("trace %s:%d: %s", name, wrong.Line, wrong.What)
		return nil
	}
	if err != nil {
		return err
	}
	t := &a.result.Traces
	t.Files, t.Lines, t.Steps = t.Files+1, t.Lines+r.Lines, t.Steps+r.Steps
	if !r.Ended {
		t.Cut++
	}
	switch {
	case r.Lost > 0:
		a.result.find("trace %s: the disk was too slow for %d steps", name, r.Lost)
	case there && !r.Ended:
		a.result.find("trace %s: the process is there, and its trace has no end", name)
	}
	for _, f := range r.Findings {
		a.result.find("trace %s:%d: %s: %s (the spec: %s)", name, f.Line, f.Rule, f.What, f.Spec)
	}
	return nil
}
