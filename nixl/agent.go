// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// DefaultProgressDelay is how long an idle progress thread sleeps. It wakes on
// events anyway, so a long delay costs nothing and a short one a core.
const DefaultProgressDelay = 100 * time.Millisecond

// AgentConfig is what an agent is created with. The zero value has a progress
// thread with the default delay.
type AgentConfig struct {
	_ struct{}
	// NoProgressThread leaves progress to the caller's own polling. It is the
	// faster choice for an agent that polls anyway, and the wrong one for an
	// agent that only waits: over TCP its peers then wait for ever.
	NoProgressThread bool
	// ProgressDelay is the progress thread's sleep while idle, in whole
	// milliseconds upwards; 0 means DefaultProgressDelay.
	ProgressDelay time.Duration
	// ListenPort, when not 0, starts a thread that takes and gives metadata
	// over TCP on all addresses of the host, unauthenticated; see [Agent.SendMetadata].
	ListenPort uint16
	// ListenDelay is that thread's sleep between looks, in whole microseconds;
	// 0 means DefaultProgressDelay. The store's thread sleeps as long.
	ListenDelay time.Duration
	// Telemetry makes NIXL measure transfers; see [Request.Telemetry].
	Telemetry bool
}

// Agent is one endpoint of NIXL: it registers memory, knows peers and posts
// transfers. Create it with [Library.NewAgent], end it with [Agent.Destroy].
type Agent struct {
	lib    *Library
	name   string
	handle nixlc.Agent

	// life is held for reading around every call into NIXL and for writing
	// around destroy_agent, which nothing in NIXL guards.
	life   sync.RWMutex
	closed bool // guarded by life

	// notif serialises the use of the one map that notifications go through.
	notif sync.Mutex
	notes nixlc.NotifMap

	// book guards what follows: who uses what. It is never held in a call
	// into NIXL.
	book     sync.Mutex
	backends []*Backend
	regions  []*Registration // sorted by kind and address
	peers    map[string]*peer
	self     *peer // the agent as its own peer, for files and storage
	inFlight int   // requests that were posted and have not ended on proof
	views    int   // views that were not released

	requests, lists atomic.Int64 // that were not released
}

// NewAgent creates an agent. The name is how peers know it; it must be unique
// among all agents that exchange metadata.
func (l *Library) NewAgent(name string, cfg AgentConfig) (*Agent, error) {
	if name == "" || len(name) > maxName {
		return nil, fmt.Errorf("%w: agent name of %d bytes, want 1 to %d", ErrArgument, len(name), maxName)
	}
	if cfg.ProgressDelay < 0 || cfg.ListenDelay < 0 {
		return nil, fmt.Errorf("%w: delay %v or %v is negative", ErrArgument, cfg.ProgressDelay, cfg.ListenDelay)
	}
	handle, code := l.api.CreateAgent(name, nixlc.AgentConfig{
		ProgressThread:  !cfg.NoProgressThread,
		ProgressDelayUS: uint64(cmp.Or(cfg.ProgressDelay, DefaultProgressDelay).Microseconds()),
		ListenPort:      cfg.ListenPort,
		ListenDelayUS:   uint64(cmp.Or(cfg.ListenDelay, DefaultProgressDelay).Microseconds()),
		Telemetry:       cfg.Telemetry,
		Sync:            nixlc.SyncStrict, // the one mode that survived every measured mix of threads
	})
	if err := check("create_configured_agent", name, code); err != nil {
		return nil, err
	}
	notes, code := l.api.CreateNotifMap()
	if err := check("create_notif_map", name, code); err != nil {
		l.api.DestroyAgent(handle)
		return nil, err
	}
	a := &Agent{lib: l, name: name, handle: handle, notes: notes, peers: map[string]*peer{}, self: &peer{name: name}}
	l.began(a)
	return a, nil
}

// Name is the agent's name.
func (a *Agent) Name() string { return a.name }

// Library is the library that the agent lives in.
func (a *Agent) Library() *Library { return a.lib }

// enter starts a call into NIXL; the caller ends it with a.life.RUnlock.
func (a *Agent) enter() error {
	a.life.RLock()
	if a.closed {
		a.life.RUnlock()
		return fmt.Errorf("agent %q: %w", a.name, ErrClosed)
	}
	return nil
}

// Closed reports whether the agent has ended.
func (a *Agent) Closed() bool {
	a.life.RLock()
	defer a.life.RUnlock()
	return a.closed
}

// InFlight is the number of requests that were posted and have not ended on
// proof, those that failed among them.
func (a *Agent) InFlight() int {
	a.book.Lock()
	defer a.book.Unlock()
	return a.inFlight
}

// Destroy ends the agent. It waits for running calls, and refuses with
// [ErrInFlight] while a request was posted and has not ended on proof.
// Destroying twice is fine.
func (a *Agent) Destroy() error { return a.destroy(false) }

// Fence ends the agent whatever is in flight. With no call running, the return
// of NIXL's destroy_agent was measured to be a fence for the operations that
// this agent posted, over TCP and over CMA: afterwards nobody reads the source
// of our writes or writes the destination of our reads. It says nothing of
// memory that peers reach by themselves, and nothing of the far side of our
// own operations, where bytes that were sent may still land.
func (a *Agent) Fence() error { return a.destroy(true) }

func (a *Agent) destroy(force bool) error {
	a.life.Lock()
	defer a.life.Unlock()
	if a.closed {
		return nil
	}
	a.book.Lock()
	requests, views := a.inFlight, a.views
	a.book.Unlock()
	if requests+views != 0 && !force {
		return fmt.Errorf("agent %q: %d requests, %d views: %w", a.name, requests, views, ErrInFlight)
	}
	if err := check("destroy_agent", a.name, a.lib.api.DestroyAgent(a.handle)); err != nil {
		return err
	}
	a.closed = true
	a.lib.ended(a)
	a.book.Lock()
	a.inFlight, a.views = 0, 0
	a.book.Unlock()
	for _, b := range a.backends {
		a.lib.api.DestroyBackend(b.handle)
	}
	a.lib.api.DestroyNotifMap(a.notes)
	return nil
}
