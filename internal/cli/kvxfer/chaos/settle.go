// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"strings"
	"time"

	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/ownership"
)

// state asks a node; nil where it does not answer.
func (a *attack) state(ctx context.Context, i int) *State {
	ctx, cancel := context.WithTimeout(ctx, never)
	defer cancel()
	r, err := a.nodes[i].do(ctx, order{State: true})
	if err != nil {
		return nil
	}
	return r.State
}

func (a *attack) states(ctx context.Context) []*State {
	out := make([]*State, len(a.nodes))
	for _, i := range a.alive() {
		out[i] = a.state(ctx, i)
	}
	return out
}

// settle waits until everything is proven. Where proof does not come because a peer is
// gone, it does what an operator can: it asks for what the end of the process proves,
// and then for another life, where that would prove something.
func (a *attack) settle(ctx context.Context, wait time.Duration) {
	if !a.harmed() {
		a.collect(ctx, never)
		a.released(ctx, never)
		return
	}
	a.collect(ctx, wait/2)
	if a.released(ctx, wait) {
		return
	}
	for _, i := range a.alive() {
		var gone []string
		for k := range a.nodes {
			if k != i && (a.dead[k] || a.lives[k] > 1) {
				gone = append(gone, nameOf(k))
			}
		}
		if gone != nil {
			_, _ = a.nodes[i].do(ctx, order{Gone: gone}) // where it is no proof nothing happens
		}
	}
	if a.released(ctx, wait/4) {
		return
	}
	for _, i := range a.alive() {
		if a.curable(ctx, i) {
			_ = a.another(ctx, i)
		}
	}
	a.released(ctx, wait)
	a.collect(ctx, wait/4)
}

// curable reports whether another life of a node would free something: what it posted
// itself, or what those whose process has ended reached; over TCP, and there alone, also
// what an earlier life of a peer reached that is still there as a process.
func (a *attack) curable(ctx context.Context, i int) bool {
	s := a.state(ctx, i)
	if s == nil {
		return false
	}
	for _, line := range s.Retained {
		if strings.Contains(line, ownership.Send.String()+" side") {
			return true
		}
		for k := range a.nodes {
			if k != i && strings.Contains(line, "claim of "+nameOf(k)) && (a.dead[k] || a.lives[k] > 1 || a.renewed[k] && a.spec.Transport == nixl.TransportTCP.String()) {
				return true
			}
		}
	}
	return false
}

// released waits until no node owns anything.
func (a *attack) released(ctx context.Context, wait time.Duration) bool {
	for end := time.Now().Add(wait); ; pause(ctx, 20*time.Millisecond) {
		owned := 0
		for _, i := range a.alive() {
			if s := a.state(ctx, i); s != nil {
				owned += s.Owned
			}
		}
		if owned == 0 {
			return true
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return false
		}
	}
}

// judge looks at what is left: what is owned has a reason that the fault explains, and
// nothing is used that was not used before.
func (a *attack) judge(ctx context.Context, before []*State) {
	for _, i := range a.alive() {
		_, _ = a.nodes[i].do(ctx, order{Check: true})
		s := a.state(ctx, i)
		if s == nil {
			continue
		}
		a.result.Checked += s.Checked
		a.reasons(i, s)
		if b := before[i]; b != nil && a.lives[i] == 1 {
			a.leaks(ctx, i, b)
		}
	}
}

func (a *attack) reasons(i int, s *State) {
	if s.Owned > 0 && len(s.Retained) == 0 {
		a.result.find("node %d owns %d regions, and nobody can say why", i, s.Owned)
	}
	for _, line := range s.Retained {
		explained := false
		for k := range a.nodes {
			explained = explained || k != i && strings.Contains(line, "claim of "+nameOf(k)) && (a.dead[k] || a.renewed[k] || a.lives[k] > 1)
		}
		if !explained {
			a.result.find("node %d retains without a fault that explains it: %s", i, line)
			continue
		}
		a.result.Retained = append(a.result.Retained, nameOf(i)+": "+line)
	}
}

func (a *attack) retains(ctx context.Context, i int) bool {
	s := a.state(ctx, i)
	return s != nil && s.Owned > 0
}

// end stops the nodes, at the same time: each waits for what the others confirm. A
// backend that still had a handle would refuse.
func (a *attack) end(ctx context.Context) {
	wait, answers := never, map[int]chan reply{}
	if a.harmed() { // a report to the dead is never confirmed
		wait = patience / 2
	}
	for _, i := range a.alive() {
		limit := wait
		if a.retains(ctx, i) {
			limit = time.Millisecond // it is refused
		}
		if answer, err := a.nodes[i].begin(order{Stop: limit}); err == nil {
			answers[i] = answer
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*never)
	defer cancel()
	for i, answer := range answers {
		r, err := a.nodes[i].await(ctx, answer)
		if err == nil && r.Error == "" {
			continue
		}
		if !a.harmed() {
			a.result.find("node %d: stop: %s %v", i, r.Error, err)
		}
	}
	a.alive() // one may have ended over it
	for _, m := range append(a.retired, a.nodes...) {
		m.mu.Lock()
		a.result.Findings = append(a.result.Findings, m.found...)
		m.mu.Unlock()
		if m.State().Gone() {
			_ = m.Close()
		}
	}
}
