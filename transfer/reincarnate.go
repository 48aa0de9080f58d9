// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Reincarnation is what Endpoint.Reincarnate did.
type Reincarnation struct {
	From, To ownership.Incarnation
	Agent    string        // the name of the new agent, as peers hear it
	Proven   fence.Verdict // what the end of the old agent proved
	Fenced   int           // claims that this freed
	// Retained is what was owned still when it was done, and waits for proof of its
	// own: memory that peers reach by themselves, where the end of our agent does not
	// stop them, and local copies. Endpoint.Fence applies what else proves it.
	Retained []ownership.Retained
	// Peers are those whose streams ended. They have to be attached again, and
	// learn of the new life by that.
	Peers []string
}

// Reincarnate gets out of doubt without the end of the process: it destroys the
// backend's agent, which is proof for the memory in all operations that this one
// has posted, and goes on with a new agent under a new incarnation (contract
// sections 3 and 8; docs/nixl.md says on which transports that was measured).
//
// newBackend makes the new backend, with an agent of the given name, which was not
// used before; it is called when the old agent is gone. All registered regions are
// registered with it. Every session that was ACTIVE has FAILED, requests that were
// not answered are withdrawn, and all streams have ended: attach the peers again.
// To them the old life is gone, so that what they had to do with it is in doubt
// there, and takes proof on their side.
//
// While it runs nothing is taken in: calls that would need the backend fail with
// ErrReincarnated. It waits until no call of the backend is running; if ctx ends
// first, or the end of the agent would prove nothing (fence.ErrNotProven), nothing
// has happened. After any other error the old agent is gone and there is no new one: the endpoint
// stays closed, what was proven is free, and Reincarnate may be called again.
func (e *Endpoint) Reincarnate(ctx context.Context, newBackend func(agent string) (backend.Backend, error)) (Reincarnation, error) {
	what := "reincarnate " + e.config.Name
	if newBackend == nil {
		return Reincarnation{}, invalid(what, "newBackend is nil")
	}
	done, err := e.soleReincarnation(ctx)
	if err != nil {
		return Reincarnation{}, err
	}
	defer done()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(e.ctx, stop)()
	r := Reincarnation{From: e.Incarnation(), To: ownership.NewIncarnation()}
	if err := e.endLife(ctx, &r); err != nil {
		return r, &Error{What: what, Kind: ErrConfig, Err: err}
	}
	if err := e.beginLife(&r, newBackend); err != nil {
		return r, &Error{What: what, Kind: ErrConfig, Err: err}
	}
	e.calls.open()
	e.admission.send()
	r.Retained = e.registry.Retained()
	e.note(nil, fmt.Sprintf("incarnation %v follows %v: %d claims fenced, %d retained; %v", r.To, r.From, r.Fenced, len(r.Retained), r.Proven))
	e.config.Log.Warn("endpoint reincarnated", "endpoint", e.config.Name, "from", r.From, "to", r.To,
		"fenced", r.Fenced, "retained", len(r.Retained), "proven", r.Proven)
	return r, nil
}

// soleReincarnation excludes another one, and Stop's last part.
func (e *Endpoint) soleReincarnation(ctx context.Context) (done func(), err error) {
	what := "endpoint " + e.config.Name
	select {
	case <-e.fatal:
		return nil, &ownership.Error{Kind: ownership.KindFatal, What: what, Why: "a grace deadline passed without proof"}
	default:
	}
	select {
	case e.living <- struct{}{}:
	case <-ctx.Done():
		return nil, &Error{What: what, Kind: ctx.Err()}
	}
	if e.ctx.Err() != nil {
		<-e.living
		return nil, &Error{What: what, Kind: ErrHalted}
	}
	return func() { <-e.living }, nil
}

// endLife destroys the agent and applies what that proves. Where it was destroyed
// before, and only the new one is missing, that has been done.
func (e *Endpoint) endLife(ctx context.Context, r *Reincarnation) error {
	was := e.life.Load()
	if was.dead {
		r.Proven = was.proven
		return nil
	}
	limits := was.backend.Limits()
	about := e.fenceCase("")
	if ahead := fence.Foresee(about); !ahead.Own.Proven {
		return fmt.Errorf("%w: the end of an agent of %s: %v", fence.ErrNotProven, limits.Transport, ahead.Own)
	}
	if err := e.calls.close(ctx); err != nil {
		e.calls.open()
		return fmt.Errorf("a call of the backend does not return: %w", err)
	}
	release, err := e.poller.hold(ctx)
	if err != nil {
		e.calls.open()
		return fmt.Errorf("a poll of the backend does not return: %w", err)
	}
	defer release()
	destroyed, err := fence.Destroy(was.backend)
	if err != nil {
		e.calls.open()
		return err
	}
	e.poller.drop()
	r.Proven, err = fence.Judge(about, destroyed)
	e.life.Store(&life{incarnation: was.incarnation, agent: was.agent, backend: was.backend, dead: true, proven: r.Proven})
	if err != nil { // it was foreseen otherwise
		return err
	}
	r.Fenced = e.fenceOwn(r.Proven)
	if !r.Proven.Passive.Proven {
		r.Fenced += e.fenceEnded(about, destroyed)
	}
	return nil
}

// fenceEnded fences what the end of the agent and that of a peer's process prove
// together, of peers whose process is known (see FenceGone) and has ended.
func (e *Endpoint) fenceEnded(about fence.Case, destroyed fence.Destroyed) (freed int) {
	for _, p := range e.everyPeer() {
		for _, known := range p.identities() {
			exited, err := known.gone()
			if err != nil || !e.holds(p.name, known.life) {
				continue
			}
			v, err := fence.Judge(about, destroyed, exited)
			if err != nil || !v.Passive.Proven {
				continue
			}
			done, err := e.fence(ownership.FenceSpec{Accessor: p.name, Incarnation: known.life, Scope: ownership.Passive}, v.Passive.Why)
			freed += done.Freed
			if err != nil {
				e.config.Log.Error("fence", "peer", p.name, "incarnation", known.life, "error", err)
			}
		}
	}
	return freed
}

// fenceOwn fences exactly what the end of the agent has proven. It returns the
// number of claims that this freed.
func (e *Endpoint) fenceOwn(proven fence.Verdict) (freed int) {
	for _, f := range []struct {
		fence.Finding
		scope ownership.Scope
	}{{proven.Own, ownership.Own}, {proven.Passive, ownership.Passive}} {
		if !f.Proven {
			continue
		}
		for _, p := range e.everyPeer() {
			done, err := e.fence(ownership.FenceSpec{Accessor: p.name, Scope: f.scope}, f.Why)
			freed += done.Freed
			if err != nil {
				e.config.Log.Error("fence", "peer", p.name, "scope", f.scope, "error", err)
			}
		}
	}
	return freed
}

// beginLife comes up with a new agent: the registry first, so that nothing is taken
// for the old one any more, then the peers, then the memory.
func (e *Endpoint) beginLife(r *Reincarnation, newBackend func(agent string) (backend.Backend, error)) error {
	effects, err := e.registry.Reincarnate(e.now(), r.To)
	e.apply(effects)
	if err != nil {
		return err
	}
	r.Agent = agentName(e.config.Agent, r.To)
	e.life.Store(&life{incarnation: r.To, agent: r.Agent, backend: e.backend(), dead: true, proven: r.Proven})
	b, err := newBackend(r.Agent)
	if err == nil && b == nil {
		err = errors.New("newBackend returned nil")
	}
	if err != nil {
		return err
	}
	registered, err := e.registerAgain(b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	release, err := e.poller.hold(e.ctx)
	if err != nil {
		return ErrHalted
	}
	e.life.Store(&life{incarnation: r.To, agent: r.Agent, backend: b})
	e.poller.progress = b.Limits().PassiveProgress
	release()
	cancels := e.unansweredCancels()
	for _, p := range e.everyPeer() {
		if p.startOver(cancels[p.name]) {
			r.Peers = append(r.Peers, string(p.name))
		}
	}
	slices.Sort(r.Peers)
	e.withdraw(func(q *Request) bool { return q.life.incarnation != r.To })
	e.mu.Lock()
	for region, registration := range registered {
		region.registration = registration
	}
	e.mu.Unlock()
	return e.refresh()
}

// registerAgain registers every region with a new backend. Memory that somebody
// owns keeps its registration generation, for nobody may take it; that of any other
// is a new one.
func (e *Endpoint) registerAgain(b backend.Backend) (map[*Region]backend.Registration, error) {
	registered := map[*Region]backend.Registration{}
	for _, r := range e.everyRegion() {
		if r.pinned != nil { // its pool's region has the registration
			continue
		}
		registration, err := b.Register(r.memory)
		if err != nil {
			return nil, fmt.Errorf("region %s: %w", r.id, err)
		}
		registered[r] = registration
		if effects, err := e.registry.Deregister(e.now(), r.id); err == nil {
			e.apply(effects)
			if err := e.registry.AddRegion(ownership.RegionSpec{ID: r.id, Addr: uint64(r.memory.Addr), Len: r.memory.Len}); err != nil {
				return nil, err
			}
		}
	}
	return registered, nil
}

// agentName makes a name that no agent had before.
func agentName(base string, life ownership.Incarnation) string {
	suffix := "." + life.String()[:16]
	return base[:min(len(base), wire.MaxEndpoint-len(suffix))] + suffix
}

// unansweredCancels returns, for each peer, a cancel of every session that has ended
// while the peer may still be at work for it. That the peer has confirmed one before
// says nothing: its answer was to the life that is gone, and would never arrive.
func (e *Endpoint) unansweredCancels() map[ownership.Accessor][]wire.Sequenced {
	list := map[ownership.Accessor][]wire.Sequenced{}
	for _, s := range e.Snapshot().Sessions {
		if s.Side != ownership.Receive || s.Outcome != outcome.Failed && s.Outcome != outcome.Cancelled {
			continue
		}
		atWork := map[ownership.Accessor]bool{}
		for _, p := range s.Pieces {
			for _, c := range p.Claims {
				atWork[c.Name.Accessor] = atWork[c.Name.Accessor] || c.State == claim.Published
			}
		}
		for a, live := range atWork {
			if live {
				list[a] = append(list[a], wire.CancelSession{Session: wireSession(s.Name), From: wire.Receive})
			}
		}
	}
	return list
}

// startOver ends the stream to a peer after our own life has changed: numbers begin
// anew, and what was on its way to or from the old life is not heard any more.
// Cancels go out again, those that are given and those that were not confirmed, for
// they name sessions and not lives: the peer answers when it holds nothing of one. It
// reports whether there was a life to attach again.
func (p *peer) startOver(cancels []wire.Sequenced) bool {
	p.attach <- struct{}{}
	defer func() { <-p.attach }()
	p.mu.Lock()
	link, known := p.link, !p.life.IsZero()
	p.mu.Unlock()
	if link != nil {
		link.end(ErrReincarnated)
		select {
		case <-link.ended:
		case <-p.endpoint.fatal:
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.drop(p.agent)
	for _, m := range p.out.window {
		if c, ok := m.(wire.CancelSession); ok {
			if c.Seq = 0; !slices.Contains(cancels, wire.Sequenced(c)) {
				cancels = append(cancels, c)
			}
		}
	}
	p.out.clear()
	p.out.replies = cancels
	p.received, p.agent, p.metadata = 0, "", nil
	return known
}
