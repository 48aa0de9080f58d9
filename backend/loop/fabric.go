// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package loop is a backend inside one process: it really copies bytes between
// registered memory, and does so under a clock and with faults that the caller
// drives. The same calls in the same order give the same answers.
//
// A [Fabric] joins [Agent] values, which are backends. Its time is a count of ticks.
// With Config.Auto each Poll and each Progress is a tick, which makes the
// fabric a transport that just works; without it nothing moves until
// [Fabric.Step] or [Fabric.Advance].
//
// # What it imitates
//
// The faults are those measured on real transports: a stopped peer keeps an
// operation in progress for ever; a broken connection answers Error while
// bytes of a socket's buffer still land; an invalidated peer answers Error
// while the copy goes on and reads memory that was reused meanwhile; a
// notification is lost behind data that arrived. See [Fault], [Fabric.Stall],
// [Fabric.Kill] and [Fabric.Break].
//
// # Concurrency
//
// Everything may be called from any goroutine; one lock serialises the fabric,
// and bytes are copied under it. There is no goroutine and no clock.
package loop

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
)

// Config describes a fabric. The zero value is good: driven by the caller,
// without a limit of speed.
type Config struct {
	// Auto makes every Poll and Progress of every agent a tick.
	Auto bool
	// BytesPerTick limits what each operation moves in a tick; 0: no limit.
	BytesPerTick int64
	// PassiveProgress makes bytes land only inside Progress of the side whose
	// peer posted the operation, as TCP does.
	PassiveProgress bool
	// Inline makes Post return only when the operation has ended, as a
	// cross-memory copy does. Without Auto another goroutine must drive time.
	Inline bool

	_ struct{}
}

// Fabric joins agents of one process.
type Fabric struct {
	config Config
	id     [fabricIDLen]byte // tells this fabric's metadata from another's

	mu         sync.Mutex
	moved      *sync.Cond        // signalled when an operation ends or a stall does
	agents     map[string]*Agent // guarded by mu; the living one of each name
	ops        []*operation      // guarded by mu; posted and still able to move bytes, in post order
	locals     []*Local          // guarded by mu; started and still able to move bytes
	ticks      uint64            // guarded by mu
	generation uint64            // guarded by mu; numbers agents and registrations
	stats      Stats             // guarded by mu
}

// Stats counts what a fabric did.
type Stats struct {
	Ticks uint64
	// Bytes landed in all.
	Bytes uint64
	// LateBytes of them landed after the operation had answered something that
	// made its owner doubt it, or after its handle or agent was gone: the bytes
	// that corrupt memory which was reused without proof.
	LateBytes uint64
	// LostNotifications were dropped by a fault.
	LostNotifications uint64
}

// New makes a fabric without agents.
func New(config Config) *Fabric {
	f := &Fabric{config: config, agents: map[string]*Agent{}}
	f.moved = sync.NewCond(&f.mu)
	_, _ = rand.Read(f.id[:]) // never fails: crypto/rand ends the program instead
	return f
}

// Agent makes a backend that peers know by name. A name can be taken again
// after its agent was closed, fenced or killed: that is a restart, and old
// metadata does not reach the new agent. A name in use is ErrInvalid.
func (f *Fabric) Agent(name string) (*Agent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == "" {
		return nil, fmt.Errorf("loop: agent without a name: %w", backend.ErrInvalid)
	}
	if f.agents[name] != nil {
		return nil, fmt.Errorf("loop: agent %q exists: %w", name, backend.ErrInvalid)
	}
	a := newAgent(f, name, f.next())
	f.agents[name] = a
	return a, nil
}

// Step lets one tick pass: every operation that can move moves once, in the
// order of their posts.
func (f *Fabric) Step() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tick(nil)
}

// Advance lets n ticks pass.
func (f *Fabric) Advance(n int) {
	for range n {
		f.Step()
	}
}

// Stats returns the counts so far.
func (f *Fabric) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	s.Ticks = f.ticks
	return s
}

// next returns a number not used before; f.mu must be held.
func (f *Fabric) next() uint64 {
	f.generation++
	return f.generation
}

// tick moves every operation once. With Config.PassiveProgress bytes land only
// where helper, the agent inside Progress, is the passive side; helper is nil
// otherwise. f.mu must be held.
func (f *Fabric) tick(helper *Agent) {
	f.ticks++
	left := f.ops[:0]
	for _, o := range f.ops {
		if o.advance(helper) {
			left = append(left, o)
		}
	}
	clear(f.ops[len(left):])
	f.ops = left
	f.locals = slices.DeleteFunc(f.locals, func(l *Local) bool { return !l.advance() })
	f.moved.Broadcast()
}
