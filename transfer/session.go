// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// Session is one attempt of one request on this side. It owns memory until it
// is closed, whatever its outcome. All methods may be called from any goroutine.
type Session struct {
	endpoint  *Endpoint
	name      ownership.SessionName
	side      ownership.Side
	direction backend.Direction
	done      chan struct{} // closed at the first terminal outcome
	released  chan struct{} // closed when the session is closed
	changed   broadcast     // something of this session moved
	// adding holds one token, of who adds pieces; see enter.
	adding chan struct{}
	peers  []Accessor // of the first piece, for later ones; not changed after Receive
	label  string     // likewise
	// admitted is guarded by endpoint.mu; until then nothing is known of what the name will be.
	admitted bool
	// retired is closed when the other ranks of the request let go of it; nil: there are none.
	retired <-chan struct{}

	mu       sync.Mutex
	answer   Answer                           // guarded by mu
	exposed  int64                            // guarded by mu; live claims that the poller counts
	covered  bool                             // guarded by mu; no claim is counted any more
	members  []ownership.Member               // guarded by mu; of the cohorts of all pieces
	asked    map[ownership.Accessor]uint32    // guarded by mu; pieces that name each peer, where we ask
	jobs     map[string]*job                  // guarded by mu; by piece, where we answer
	expected int                              // guarded by mu; pieces to answer, 0 while that is not decided
	sealed   int                              // guarded by mu; pieces of ours that may be posted
	scatters map[string]*scatter              // guarded by mu; by piece
	ended    map[ownership.ClaimName]struct{} // guarded by mu; notified, and not reported yet
}

// adopt makes the session that admitted effects will be about, with the caller
// inside of it. It is called before the session is admitted, so that no effect is
// missed, and must be undone with forget if that fails.
func (e *Endpoint) adopt(name ownership.SessionName, side ownership.Side, direction backend.Direction, cohort ...ownership.Member) (*Session, error) {
	s := &Session{
		endpoint: e, name: name, side: side, direction: direction, done: make(chan struct{}), released: make(chan struct{}),
		adding: make(chan struct{}, 1), answer: Answer{Outcome: outcome.Active},
	}
	s.adding <- struct{}{}
	s.join(cohort)
	if e.config.Retired != nil {
		s.retired = e.config.Retired(name)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return nil, &ownership.Error{Kind: ownership.KindClosed, What: "endpoint " + e.config.Name, Why: "was told to stop"}
	}
	if e.sessions[name] != nil {
		return nil, &ownership.Error{Kind: ownership.KindReject, What: "session " + name.String(), Why: "the name is owned"}
	}
	e.sessions[name] = s
	return s, nil
}

// Name returns the session's name, which both sides share.
func (s *Session) Name() ownership.SessionName { return s.name }

// Side says by whose doing this session's memory is touched: ownership.Receive
// where peers reach it by themselves, ownership.Send where our own operations do.
func (s *Session) Side() ownership.Side { return s.side }

// Direction says what is done: backend.Write, where the receive side's memory is
// written, or backend.Read, where it is read.
func (s *Session) Direction() backend.Direction { return s.direction }

// join notes who is in the cohort of a piece.
func (s *Session) join(cohort []ownership.Member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range cohort {
		m.Sequence = 0
		if !slices.Contains(s.members, m) {
			s.members = append(s.members, m)
		}
	}
}

// has reports whether the peer, in whatever life, is in the session's cohorts.
func (s *Session) has(peer ownership.Accessor) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.members, func(m ownership.Member) bool { return m.Accessor == peer })
}

// isWith reports whether the session's peer is m, in this life.
func (s *Session) isWith(m ownership.Member) bool {
	m.Sequence = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.members, m)
}

// answers reports whether a piece was asked for before.
func (s *Session) answers(piece string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[piece] != nil
}

// took notes a piece that is being answered, and of how many.
func (s *Session) took(j *job, expected uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs == nil {
		s.jobs = map[string]*job{}
	}
	s.jobs[j.claim.Piece.Piece] = j
	if expected > 0 {
		s.expected = int(expected)
	}
}

// sealedAll counts a piece that was sealed, and reports whether all are.
func (s *Session) sealedAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed++
	return s.expected > 0 && s.sealed >= s.expected
}

// Done returns a channel that is closed at the first terminal outcome. The
// memory may still be touched then.
func (s *Session) Done() <-chan struct{} { return s.done }

// Released returns a channel that is closed when the session gave its memory
// back.
func (s *Session) Released() <-chan struct{} { return s.released }

// Answer returns the logical answer so far; its outcome is ACTIVE while there
// is none.
func (s *Session) Answer() Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer
}

// Physical says whether the memory could be reused: RETIRED once every owner
// is drained or released. It is no permission; only a release is.
func (s *Session) Physical() ownership.Physical {
	if state, owned := s.endpoint.registry.Session(s.name); owned {
		return state.Physical
	}
	return ownership.PhysicalRetired
}

// State returns everything that is known of the session, and false once it is
// closed.
func (s *Session) State() (ownership.SessionState, bool) { return s.endpoint.registry.Session(s.name) }

// Changed returns a channel that is closed when something of the session has
// moved since the call. Call it before State, and no change is missed.
func (s *Session) Changed() <-chan struct{} { return s.changed.wait() }

// Wait waits for the outcome. It returns nil for SUCCEEDED, an *OutcomeError
// for any other, and the context's error if that ends first: a context ends
// the wait, never the claim.
func (s *Session) Wait(ctx context.Context) error {
	select {
	case <-s.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if a := s.Answer(); a.Outcome != outcome.Succeeded {
		return &OutcomeError{Session: s.name, Answer: a}
	}
	return nil
}

// Cancel ends the session, unless it has an outcome, and returns its logical
// and physical state. It proves nothing about the memory. Calling it again is
// fine.
func (s *Session) Cancel() (ownership.CancelResult, error) {
	e := s.endpoint
	result, effects, err := e.registry.Cancel(e.now(), ownership.CancelSpec{Session: s.name, Origin: ownership.FromLocal})
	e.apply(effects)
	return result, err
}

// Fail ends the session as FAILED with the caller's reason as its cause, unless
// it has an outcome.
func (s *Session) Fail(reason string) error {
	effects, err := s.endpoint.registry.Fail(s.endpoint.now(), s.name, ownership.Cause(reason))
	s.endpoint.apply(effects)
	return err
}

// Complete says that no more pieces come. It is for a session that was left open,
// on both sides; the others do it by themselves. Where a gather still runs it takes
// effect when that has ended. Again is fine.
func (s *Session) Complete() error {
	if err := s.enter(); err != nil { // not between the reservation of a piece and its seal
		return err
	}
	defer s.leave()
	s.mu.Lock()
	waits := s.sealed < len(s.jobs)
	if s.side == ownership.Send {
		s.expected = len(s.jobs)
	}
	s.mu.Unlock()
	if waits && s.Answer().Outcome == outcome.Active {
		return nil
	}
	return s.complete()
}

func (s *Session) complete() error {
	effects, err := s.endpoint.registry.Complete(s.endpoint.now(), s.name)
	s.endpoint.apply(effects)
	return err
}

// Close gives the memory back. While anybody may still touch it the error
// matches ownership.ErrRefused and lists who; it does so as well while other ranks have
// not retired the request (Config.Retired). Closing again is fine.
func (s *Session) Close() error {
	if _, err := s.heldBack(); err != nil {
		return err
	}
	return s.close()
}

// close is Close, whatever other ranks hold.
func (s *Session) close() error {
	effects, err := s.endpoint.registry.Close(s.endpoint.now(), s.name)
	s.endpoint.apply(effects)
	return err
}

// Drain waits until everything is proven, and every rank has retired the request where it
// lives on several, and closes the session. If ctx ends
// first, nothing was given back, and the error has both the context's and the
// list of who may still touch the memory.
func (s *Session) Drain(ctx context.Context) error {
	for {
		moved := s.changed.wait()
		held, err := s.heldBack()
		if err == nil {
			err = s.close()
		}
		if !errors.Is(err, ownership.ErrRefused) {
			return err
		}
		select {
		case <-moved:
		case <-held:
		case <-s.endpoint.fatal:
			return s.Close() // says fatal
		case <-ctx.Done():
			return &Error{What: "session " + s.name.String(), Kind: ctx.Err(), Err: err}
		}
	}
}

// react takes over what an effect says about this session. Effects of two calls
// may come in any order, so that the close of a session must not rely on what
// was before it: a call that ended the session may still hold its effects.
func (s *Session) react(effect ownership.Effect) {
	switch f := effect.(type) {
	case *ownership.SessionEnded:
		s.end(Answer{Outcome: f.Outcome, Cause: f.Cause, Origin: f.Origin})
	case *ownership.SessionClosed:
		s.end(Answer{Outcome: f.Outcome, Cause: f.Cause, Origin: f.Origin})
		close(s.released)
	}
	if moved, ok := effect.(*ownership.ClaimMoved); ok && s.side == ownership.Receive {
		s.notifiedMoved(moved)
	}
	s.scatterMoved(effect)
	s.changed.send()
}

func (s *Session) end(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer.Outcome == outcome.Active {
		s.answer = a
		close(s.done)
	}
}

// expose counts a claim that went live or ended, and returns what changed.
func (s *Session) expose(change int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.covered {
		return 0
	}
	s.exposed += change
	return change
}

// cover counts no claim any more: a closed session has no live one.
func (s *Session) cover() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.covered = true
	return -s.exposed
}

// abandon gets rid of a session whose construction did not come to its end.
// Nothing of it was published.
func (s *Session) abandon(reason string) {
	_ = s.Fail(reason)
	if err := s.close(); err != nil {
		s.endpoint.config.Log.Error("half-made session stays", "session", s.name, "error", err)
	}
}
