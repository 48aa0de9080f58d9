// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/admin"
)

// Times of the end of a life: how long everything may take to settle by itself,
// which is when peers still answer; how long the rest may take after the fence;
// and how long the goodbyes.
const (
	settleTime = 3 * time.Second
	fenceTime  = 10 * time.Second
)

// ErrRetained: memory is owned without proof, and no fence is one here.
var ErrRetained = errors.New("files: memory is retained without proof")

// errRenew ends a life whose memory may be touched by who will not say when he
// has ended; another one begins.
var errRenew = errors.New("files: in doubt")

// life is one incarnation of a node: a backend, an endpoint, and its slots.
type life struct {
	node   *Node
	agent  Agent
	ep     *transfer.Endpoint
	chunks *slots
	notes  *slots
	admin  *admin.Server

	ctx  context.Context // of everything that goes on in this life
	end  context.CancelCauseFunc
	work sync.WaitGroup // what runs under ctx

	mu    sync.Mutex
	peers map[string]*transfer.Link          // guarded by mu; the latest link to each peer ever attached
	lent  map[lentKey]chan *transfer.Request // guarded by mu; reads that wait for an offer
	fatal *ownership.Containment             // guarded by mu
	over  bool                               // guarded by mu; nothing more begins
}

// begin makes a life.
func (n *Node) begin(ctx context.Context) (_ *life, err error) {
	l := &life{node: n, peers: map[string]*transfer.Link{}, lent: map[lentKey]chan *transfer.Request{}}
	l.ctx, l.end = context.WithCancelCause(ctx)
	var random [8]byte
	_, _ = rand.Read(random[:])                                 // never fails
	name := n.config.Name + ":" + hex.EncodeToString(random[:]) // peers may hold the one before
	if l.agent, err = n.config.Open(name); err != nil {
		return nil, err
	}
	l.ep, err = transfer.New(transfer.Config{
		Name: n.config.Name, Agent: name, Backend: l.agent, Contain: l.contain, Observe: l.observe, OnRequest: l.answer,
		RequestTimeout: n.config.RequestTimeout, Grace: n.config.Grace, OperationWait: n.config.OperationWait,
		Log: n.config.Log,
	})
	if err != nil {
		return nil, errors.Join(err, l.agent.Close())
	}
	if l.chunks, err = register(l.ep, "chunk", n.chunks, n.config.Chunk); err == nil {
		l.notes, err = register(l.ep, "note", n.notes, noteSize)
	}
	if err == nil && n.config.Admin != "" {
		l.admin, err = admin.Serve(n.config.Admin, l.ep)
	}
	if err != nil {
		return nil, errors.Join(err, l.retire())
	}
	return l, nil
}

// observe watches for what ends a life: doubt, which closes admission, and a
// peer that has not answered in time.
func (l *life) observe(ev transfer.Event) {
	switch f := ev.Effect.(type) {
	case *ownership.AdmissionChanged:
		if f.To == ownership.AdmissionQuarantined {
			l.renew("something is in doubt")
		}
	case *ownership.SessionEnded:
		if f.Cause == ownership.CauseTimeout {
			l.renew("a peer did not answer in time")
		}
	}
}

func (l *life) contain(c ownership.Containment) error {
	l.mu.Lock()
	l.fatal = &c
	l.mu.Unlock()
	l.renew("FATAL")
	return nil
}

// enter begins something that the end of the life waits for, unless it is over;
// who entered leaves with work.Done.
func (l *life) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.work.Add(1)
	}
	return !l.over
}

// start runs f on a goroutine that the end of the life waits for.
func (l *life) start(f func()) {
	if l.enter() {
		go func() {
			defer l.work.Done()
			f()
		}()
	}
}

// renew ends the life; what it owns is settled, or fenced, by retire.
func (l *life) renew(why string) { l.end(fmt.Errorf("%w: %s", errRenew, why)) }

// linked remembers a peer's link, and watches it.
func (l *life) linked(link *transfer.Link) {
	l.mu.Lock()
	l.peers[link.Peer()] = link
	l.mu.Unlock()
	l.start(func() { l.watch(link) })
}

// watch ends the life when a peer stays away while it may touch memory here, or
// memory of it is touched from here. A lost stream is no doubt; but nothing is
// to be waited for for ever, and to end the life proves more than time does.
func (l *life) watch(link *transfer.Link) {
	select {
	case <-link.Done():
	case <-l.ctx.Done():
		return
	}
	select {
	case <-time.After(l.node.config.Patience):
	case <-l.ctx.Done():
		return
	}
	l.mu.Lock()
	back := l.peers[link.Peer()] != link
	l.mu.Unlock()
	if !back && l.owes(link.Peer()) {
		l.renew(link.Peer() + " does not come back")
	}
}

// owes reports whether any claim of a peer is live.
func (l *life) owes(peer string) bool {
	for _, s := range l.ep.Snapshot().Sessions {
		if s.Settled {
			continue
		}
		for _, p := range s.Pieces {
			for _, c := range p.Claims {
				if string(c.Name.Accessor) == peer {
					return true
				}
			}
		}
	}
	return false
}

// retire ends the life when nothing of it runs any more: on proof where peers
// answer, and else by the end of the backend, where that is proof.
func (l *life) retire() error {
	l.end(errors.New("files: over"))
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.work.Wait()
	if l.admin != nil {
		_ = l.admin.Close()
	}
	err := l.stop(settleTime)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	fatal := l.fatal
	l.mu.Unlock()
	switch {
	case fatal != nil:
		l.ep.Halt()
		return &FatalError{Session: fatal.Session.String(), Err: err}
	case !proves(l.agent):
		l.ep.Halt()
		return fmt.Errorf("%w: %s does not let go of it, and on transport %s the end of our own agent proves nothing: %w",
			ErrRetained, "a peer", l.agent.Limits().Transport, err)
	}
	if err := l.fence(); err != nil {
		l.ep.Halt()
		return fmt.Errorf("%w: %w", ErrRetained, err)
	}
	if err := l.stop(fenceTime); err != nil {
		l.ep.Halt()
		return fmt.Errorf("%w: %w", ErrRetained, err)
	}
	return nil
}

func (l *life) stop(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return l.ep.Stop(ctx)
}

// fence ends the backend, and tells the core that nobody reaches this life's
// memory any more.
func (l *life) fence() error {
	if err := l.agent.Fence(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for peer := range l.peers {
		if err := l.ep.Fence(ownership.FenceSpec{Accessor: ownership.Accessor(peer), Scope: ownership.All}); err != nil {
			return err
		}
	}
	return nil
}

// FatalError says that a grace deadline passed without proof.
type FatalError struct {
	Session string
	Err     error
}

// Error names the session.
func (e *FatalError) Error() string {
	return fmt.Sprintf("files: FATAL: session %s had no proof at its deadline", e.Session)
}

// Unwrap returns what the endpoint says of it.
func (e *FatalError) Unwrap() error { return e.Err }
