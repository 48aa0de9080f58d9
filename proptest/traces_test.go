// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/trace"
)

// agree checks the traces of all lives of all endpoints, each by itself and all of them
// together. The network delays, doubles, cuts and kills, and that must not make a liar
// of anybody. It adds to sum what was compared.
func (n *network) agree(sum *trace.JointReport) {
	joint := trace.NewJoint()
	for _, h := range n.past {
		n.testify(joint, h)
	}
	r := joint.Judge()
	if r.Found() > 0 {
		n.fail(nil, "the traces together: %+v", r.Findings)
	}
	sum.Messages, sum.Operations, sum.Notified = sum.Messages+r.Messages, sum.Operations+r.Operations, sum.Notified+r.Notified
}

// testify checks the trace of one life; that of one which was killed has no end.
func (n *network) testify(joint *trace.Joint, h *history) {
	var totals ownership.Counters
	i := slices.IndexFunc(n.nodes, func(p *node) bool { return p.past == h })
	if i >= 0 {
		totals = n.nodes[i].Snapshot().Counters
	}
	text, err := h.trace(totals)
	if err != nil {
		n.t.Fatal(err)
	}
	if i < 0 {
		text = text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1]
	}
	name := fmt.Sprintf("%s, life %d", h.name, h.life)
	r, err := trace.Check(name, joint.Add(name, trace.NewReader(bytes.NewReader(text))))
	if err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	if r.Found() > 0 {
		n.fail(nil, "the trace of %s: %+v", name, r.Findings)
	}
}

// trace writes the history down.
func (h *history) trace(totals ownership.Counters) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out bytes.Buffer
	w, err := trace.NewWriter(&out, h.name, incarnation(h.name, h.life), time.Now())
	if err != nil {
		return nil, err
	}
	for i := range h.steps {
		w.Step(h.steps[i])
	}
	err = w.Close(totals)
	return out.Bytes(), err
}
