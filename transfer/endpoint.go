// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/ownership"
)

// Endpoint is one party of transfers. It may receive and send at
// the same time. All methods may be called from any goroutine.
type Endpoint struct {
	config   Config
	registry *ownership.Registry
	epoch    time.Time            // with a monotonic reading; the registry's time 0
	life     atomic.Pointer[life] // the present one

	timeline  *timeline
	watchdog  *watchdog
	poller    *poller
	changed   broadcast // something was proven, sent or attached
	admission broadcast // what is taken in has changed
	number    atomic.Uint64

	ctx     context.Context // ends with Halt
	halt    context.CancelFunc
	running sync.WaitGroup // what Halt waits for
	polling sync.WaitGroup // what may be inside of a backend call
	fatal   chan struct{}
	// living holds one token, of who ends this life: Reincarnate, or Stop.
	living chan struct{}
	calls  calls
	// deciding holds one token, of who relies on nobody going away meanwhile; see decide.
	deciding chan struct{}

	counts counters

	mu         sync.Mutex
	sessions   map[ownership.SessionName]*Session // guarded by mu; until closed
	regions    map[string]*Region                 // guarded by mu
	peers      map[ownership.Accessor]*peer       // guarded by mu
	agents     map[string]*peer                   // guarded by mu; by the name towards the backend
	greetings  uint64                             // guarded by mu; orders the handshakes of peers
	requests   waiting                            // guarded by mu; not answered yet
	onRequest  func(*Request)                     // guarded by mu
	metadata   []byte                             // guarded by mu; the backend's
	fetched    uint64                             // guarded by mu; the generation that metadata is of
	generation uint64                             // guarded by mu; grows when registrations change
	watermark  uint64                             // guarded by mu; own requests below it are over
	halted     bool                               // guarded by mu; nothing starts any more
	frozen     bool                               // guarded by mu; FATAL: no block is unpinned any more
	closing    bool                               // guarded by mu; Stop waits for other ranks, and nothing is admitted
	fences     []Fenced                           // guarded by mu; the latest maxFences
}

// New makes an endpoint and starts its goroutines; Stop or Halt ends them. The
// error matches ErrConfig or ownership.ErrInvalidArgument.
func New(config Config) (*Endpoint, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	logged := config.logged()
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	e := &Endpoint{
		config: config, epoch: time.Now(), timeline: newTimeline(config.Observe, logged), fatal: make(chan struct{}), deciding: make(chan struct{}, 1), living: make(chan struct{}, 1),
		sessions: map[ownership.SessionName]*Session{}, regions: map[string]*Region{},
		peers: map[ownership.Accessor]*peer{}, agents: map[string]*peer{}, requests: waiting{byName: map[ownership.SessionName][]*Request{}, byPeer: map[ownership.Accessor]int{}},
		onRequest: config.OnRequest,
	}
	e.life.Store(&life{incarnation: config.Incarnation, agent: config.Agent, backend: config.Backend})
	registry, err := config.registry(func() { e.freeze(); close(e.fatal) })
	if err != nil {
		return nil, err
	}
	e.registry = registry
	e.number.Store(config.FirstRequest - 1)
	e.ctx, e.halt = context.WithCancel(context.Background())
	e.watchdog = newWatchdog(e)
	e.poller = newPoller(e)
	if err := e.refresh(); err != nil {
		e.halt()
		return nil, err
	}
	for _, r := range e.timeline.readers {
		e.running.Go(func() { r.run(e.ctx.Done()) })
	}
	e.running.Go(func() { e.watchdog.run(e.ctx.Done()) })
	e.polling.Go(func() { e.poller.run(e.ctx.Done()) })
	return e, nil
}

// start starts a goroutine that Halt waits for, unless it is too late.
func (e *Endpoint) start(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.halted {
		e.running.Go(f)
	}
	return !e.halted
}

// Name returns how peers know this endpoint.
func (e *Endpoint) Name() string { return e.config.Name }

// Incarnation returns the present life of the endpoint.
func (e *Endpoint) Incarnation() ownership.Incarnation { return e.life.Load().incarnation }

// life is what an endpoint has from one Reincarnate to the next.
type life struct {
	incarnation ownership.Incarnation
	agent       string // the backend's own name
	backend     backend.Backend
	dead        bool          // the agent was destroyed, and there is no new one yet
	proven      fence.Verdict // by that
}

func (e *Endpoint) backend() backend.Backend { return e.life.Load().backend }

// Fatal returns a channel that is closed when a grace deadline passed without
// proof, just before Config.Contain is called. Nothing is admitted and nothing
// retires any more (contract section 6).
func (e *Endpoint) Fatal() <-chan struct{} { return e.fatal }

// Snapshot returns everything that the endpoint owns, at this moment.
func (e *Endpoint) Snapshot() ownership.Snapshot { return e.registry.Snapshot() }

// Elapsed returns the time since the endpoint was made: the clock of every
// time in a Snapshot, an Event or an effect.
func (e *Endpoint) Elapsed() time.Duration { return e.now() }

// Reopen lifts a quarantine on an operator's word.
func (e *Endpoint) Reopen() error {
	effects, err := e.registry.Reopen(e.now())
	e.apply(effects)
	return err
}

// Gone says that an incarnation of a peer is known to be gone, for example
// because its lease ended. It is doubt, never proof. A lost stream is no such
// knowledge.
func (e *Endpoint) Gone(peer string, incarnation ownership.Incarnation) error {
	return e.gone(ownership.Accessor(peer), incarnation)
}

// Watermark says that all requests that this endpoint created with a number
// below are over for good: their sessions are closed or soon will be, and no
// later attempt of them comes.
//
// The caller has to say so, since only he knows whether he will try a request
// again. Until then a record of each request stays, here and at the peers, for
// late messages about it (contract sections 5 and 7): Counters.Records counts
// them. Call it now and then, with the lowest request number of the sessions
// that are still open or may be tried again; numbers are in Session.Name, and
// grow with each Receive that names no session. Where someone else creates the
// request ids, his endpoint's watermark is the one that counts.
//
// Peers learn it at once where a stream is attached, and with the next Hello
// otherwise.
func (e *Endpoint) Watermark(below uint64) error {
	if err := e.passed(e.config.Name, below); err != nil {
		return err
	}
	e.mu.Lock()
	e.watermark = max(e.watermark, below)
	e.mu.Unlock()
	for _, p := range e.everyPeer() {
		p.wake.raise() // the next receipt has it
	}
	return nil
}

// passed applies somebody's watermark: what was asked below it needs no answer.
func (e *Endpoint) passed(name string, below uint64) error {
	effects, err := e.registry.Watermark(e.now(), name, below)
	e.apply(effects)
	if err == nil {
		e.withdraw(func(r *Request) bool {
			id := r.piece.Session.Request
			return id.Endpoint == name && id.Number < below
		})
	}
	return err
}

func (e *Endpoint) now() time.Duration { return time.Since(e.epoch) }

// apply carries out what the effects of one registry call ask for. It never
// blocks, and is called without any lock.
func (e *Endpoint) apply(effects ownership.Effects) {
	if len(effects) == 0 {
		return
	}
	for _, effect := range effects {
		s := e.owned(effect)
		e.timeline.effect(e.event(s, effect))
		e.react(s, effect)
	}
	e.changed.send()
}

// react does what one effect asks for; s is nil unless it is about a session
// that this endpoint knows.
func (e *Endpoint) react(s *Session, effect ownership.Effect) {
	switch f := effect.(type) {
	case *ownership.ClaimMoved:
		if s != nil && s.side == ownership.Receive {
			e.poller.exposed(s.expose(exposure(f.To) - exposure(f.From)))
		}
		if f.To == claim.InDoubt {
			e.watchdog.wake.raise()
		}
	case *ownership.GateMoved:
		if f.To == gate.Publishing {
			e.watchdog.wake.raise()
		}
	case *ownership.SessionEnded, *ownership.SessionUnsettled:
		e.watchdog.wake.raise()
	case *ownership.Released:
		e.released(f.Region)
	case *ownership.AdmissionChanged:
		e.admission.send()
	case *ownership.SessionClosed:
		e.forget(f.Session)
		if s != nil {
			e.poller.exposed(s.cover())
		}
	case *ownership.Queued:
		if p := e.lookup(f.To.Accessor); p != nil {
			p.wake.raise()
			p.discard()
		}
	}
	if s != nil {
		s.react(effect)
	}
}

// exposure is 1 for a claim whose accessor may be at work.
func exposure(s claim.State) int64 {
	if s == claim.Published || s == claim.InDoubt {
		return 1
	}
	return 0
}

// note puts a line of the runtime's own into the timeline.
func (e *Endpoint) note(s *Session, text string) { e.noteAt(e.now(), s, text) }

func (e *Endpoint) noteAt(at time.Duration, s *Session, text string) {
	ev := e.event(s, nil)
	ev.Elapsed, ev.At, ev.Note = at, e.epoch.Add(at), text
	e.timeline.note(ev)
}

func (e *Endpoint) event(s *Session, effect ownership.Effect) Event {
	ev := Event{Endpoint: e.config.Name, Effect: effect}
	if effect != nil {
		ev.Elapsed = effect.Stamped().At
		ev.At = e.epoch.Add(ev.Elapsed)
	}
	if s != nil {
		ev.Session, ev.Side = s.name, s.side
	}
	return ev
}

// owned returns the session that an effect is about, if there is one.
func (e *Endpoint) owned(effect ownership.Effect) *Session {
	switch f := effect.(type) {
	case *ownership.ClaimMoved:
		return e.session(f.Claim().Piece.Session)
	case *ownership.GateMoved:
		return e.session(f.Piece.Session)
	case *ownership.PieceEnded:
		return e.session(f.Piece.Session)
	case *ownership.PieceInvalid:
		return e.session(f.Piece.Session)
	case *ownership.Released:
		return e.session(f.Piece.Session)
	case *ownership.SessionEnded:
		return e.session(f.Session)
	case *ownership.SessionSettled:
		return e.session(f.Session)
	case *ownership.SessionUnsettled:
		return e.session(f.Session)
	case *ownership.SessionClosed:
		return e.session(f.Session)
	case *ownership.Queued:
		return e.session(f.Message.Session())
	case *ownership.TakenBack:
		return e.session(f.Message.Session())
	}
	return nil
}

func (e *Endpoint) session(name ownership.SessionName) *Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sessions[name]
}

func (e *Endpoint) forget(name ownership.SessionName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, name)
}

func (e *Endpoint) lookup(name ownership.Accessor) *peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.peers[name]
}
