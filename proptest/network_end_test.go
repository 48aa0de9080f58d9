// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/blocks"
)

// fence gives a survivor proof about a life that is over: all that was in a
// socket has landed.
func (n *network) fence(p, dead *node) {
	if err := errors.Join(n.fabric.Continue(p.name), n.fabric.Slow(p.name, 0)); err != nil {
		n.fail(p, "%v", err)
	}
	n.land(p)
	n.note("%s fences %s, life %d", p.name, dead.name, dead.life)
	if err := p.Fence(ownership.FenceSpec{Accessor: ownership.Accessor(dead.name), Incarnation: dead.Incarnation(), Scope: ownership.All}); err != nil {
		n.fail(p, "fence: %v", err)
	}
}

// land lets everything that is still on its way reach a survivor, whose peer is
// dead: bytes of a dead process land too.
func (n *network) land(p *node) {
	n.fabric.Advance(3 * regionLen)
	for range 3 * regionLen {
		if !n.passive {
			return
		}
		if _, err := p.agent.Progress(); err != nil {
			n.fail(p, "progress of %s: %v", p.name, err)
		}
	}
}

// fail says what happened, tells the endpoint's history as a scenario, and ends the
// run. Where p is nil the histories of all endpoints are told.
func (n *network) fail(p *node, format string, args ...any) {
	n.t.Helper()
	what := fmt.Sprintf(format, args...)
	n.t.Logf("what happened:\n%s", strings.Join(n.log, "\n"))
	for _, h := range n.past {
		if p == nil || p.past == h {
			text, verdict := h.report()
			n.t.Logf("what %s did in life %d:\n%s", h.name, h.life, text)
			what += "\n" + verdict
		}
	}
	n.t.Fatal(what)
}

// judge tells every history to the model, which must give the same answers.
func (n *network) judge() {
	for _, h := range n.past {
		if t := h.tell(allSteps, false); t.differs != "" {
			text, verdict := h.report()
			n.t.Logf("what happened:\n%s\nwhat %s did in life %d:\n%s", strings.Join(n.log, "\n"), h.name, h.life, text)
			n.t.Fatalf("%s, life %d: %s\n%s", h.name, h.life, t.differs, verdict)
		}
	}
}

// check fails unless all memory is as it must be when everything is idle.
func (n *network) check() {
	steps.Add(1)
	if bad := n.look(); len(bad) > 0 {
		var all []string
		for _, f := range bad {
			all = append(all, f.text)
		}
		n.fail(bad[0].node, "%s", strings.Join(all, "\n"))
	}
}

// look compares all memory with its shadow.
func (n *network) look() []finding {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	bad := n.bad
	for _, p := range n.nodes {
		bad = append(bad, p.look()...)
	}
	for _, a := range n.arenas {
		if err := a.Check(); err != nil || !gaps(a) {
			bad = append(bad, finding{text: fmt.Sprintf("memory outside of every region was touched: %v", err)})
		}
	}
	return bad
}

// end lets the network heal and all nodes stop: in a world without harm they
// must, and after any harm a survivor must once the others are fenced.
func (n *network) end() {
	for _, p := range n.nodes {
		if err := errors.Join(n.fabric.Continue(p.name), n.fabric.Slow(p.name, 0)); err != nil {
			n.fail(p, "%v", err)
		}
	}
	n.cutAll()
	n.attach.Wait()
	n.connectAll(false)
	n.attach.Wait()
	n.settle()
	n.unpinAll()
	n.fenceLocals()
	errs := n.stop()
	n.check()
	survivor := n.nodes[0]
	for i, p := range n.nodes {
		if errs[i] != nil {
			survivor = p
		}
	}
	switch err := errors.Join(errs...); {
	case err == nil:
	case !n.harmed:
		n.fail(survivor, "nothing was harmed, and the endpoints do not stop: %v", err)
	case !errors.Is(err, ownership.ErrFatal):
		n.survive(survivor)
	}
	n.judge()
}

// fenceLocals is proof for own copies: all of them have run to their end.
func (n *network) fenceLocals() {
	for _, p := range n.nodes {
		synctest.Wait() // the fence of another one may have let a copy start here
		n.fabric.Advance(3 * regionLen)
		if err := p.Fence(ownership.FenceSpec{Accessor: ownership.Local, Scope: ownership.Own}); err != nil {
			n.fail(p, "fence: %v", err)
		}
	}
	time.Sleep(time.Second)
}

func (n *network) cutAll() {
	for _, h := range n.links {
		h.cut()
	}
}

// settle ends all sessions while both nodes are there to answer: one that has
// stopped says nothing about what it is asked later, and that is no proof.
func (n *network) settle() {
	n.mu.Lock()
	sessions := slices.Clone(n.sessions)
	n.mu.Unlock()
	for _, s := range sessions {
		_, _ = s.Cancel() // most are over, and some nodes dead
	}
	time.Sleep(5 * time.Second)
	n.check()
}

func (n *network) stop() []error {
	errs := make([]error, len(n.nodes))
	done := make(chan struct{})
	for i, p := range n.nodes {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
			defer cancel()
			errs[i] = p.stop(ctx)
			done <- struct{}{}
		}()
	}
	for range n.nodes {
		<-done
	}
	return errs
}

// stop stops again where blocks were pinned: Stop does not wait for a session that
// is just being closed, or answered in vain, by another goroutine.
func (p *node) stop(ctx context.Context) (err error) {
	for range 3 {
		if err = p.Stop(ctx); !errors.Is(err, blocks.ErrPinned) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

// survive: when the others are dead and fenced, everything is proven.
func (n *network) survive(p *node) {
	for _, dead := range n.others(p) {
		n.die(dead, loop.Rest)
	}
	n.land(p)
	for _, dead := range n.others(p) {
		if err := p.Fence(ownership.FenceSpec{Accessor: ownership.Accessor(dead.name), Scope: ownership.All}); err != nil {
			n.fail(p, "fence: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// The backend keeps an operation that answered an error until it is destroyed
	// itself; what is owned is none of its business.
	err := p.stop(ctx)
	if owners := p.Counters().Owners; !errors.Is(err, ownership.ErrFatal) && (owners > 0 || err != nil && !errors.Is(err, backend.ErrInFlight)) {
		n.fail(p, "%s: the others are dead and fenced, %d pieces are owned, and stop says: %v", p.name, owners, err)
	}
	n.check()
}

// bury ends every goroutine, so that the bubble can.
func (n *network) bury() {
	n.cutAll()
	for _, p := range n.nodes {
		if p.alive() {
			close(p.dead)
		}
		p.Halt()
	}
	n.attach.Wait()
	n.waiters.Wait()
	synctest.Wait()
	spare = append(spare, n.arenas...)
}
