// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// causeLocal is why a piece fails whose gather or scatter provably never ran.
const causeLocal ownership.Cause = "local_not_submitted"

// gather starts what a piece's operation waits for. Start may block for as long
// as the copy takes: this is a goroutine of its own.
func (e *Endpoint) gather(j *job) {
	if err := e.startLocal(j); err != nil { // a cancel was faster, or it is FATAL
		e.note(j.session, fmt.Sprintf("gather of %v not started: %v", j.claim.Piece, err))
		e.releaseLocal(j)
	}
}

// gathered goes on with a piece whose gather has ended. Whether it may, the
// registry says: not if the piece has failed or the gather is in doubt.
func (e *Endpoint) gathered(j *job) {
	if err := e.seal(j); err != nil {
		e.note(j.session, fmt.Sprintf("piece %v is not posted: %v", j.claim.Piece, err))
		return
	}
	e.expected()
	e.operate(j)
}

// startLocal asks for permission to start a local copy, and starts it. After an
// error nothing was started.
func (e *Endpoint) startLocal(j *job) error {
	effects, err := e.registry.Local(e.now(), j.claim, ownership.LocalStart)
	e.apply(effects)
	if err != nil {
		return err
	}
	seen := j.local.Start()
	e.started(j, e.now(), seen)
	return nil
}

// started passes on what Start answered, and gives the copy to the poller unless
// that was the end of it.
func (e *Endpoint) started(j *job, at time.Duration, seen backend.Observation) {
	e.noteAt(at, j.session, fmt.Sprintf("local copy of %v: start: %v%v", j.claim.Piece, seen.Status, cause(seen.Err)))
	switch seen.Status {
	case backend.Submitted, backend.InProgress:
		j.last = backend.Submitted
	default:
		e.seen(j, at, seen)
	}
	e.await(j, at)
}

// offerLocal makes evidence of a status of a local copy. Only Done is proof of an
// end; that it never began is proof too, but of a failure: it is said first, so
// that nothing is sent or scattered for it.
func (e *Endpoint) offerLocal(j *job, at time.Duration, s operation.Status) error {
	event := ownership.LocalDoubt
	switch s {
	case operation.StatusSubmitted, operation.StatusInProgress:
		return nil
	case operation.StatusNotSubmitted:
		effects, err := e.registry.FailPiece(at, j.claim.Piece, causeLocal)
		e.apply(effects)
		if err != nil {
			return err
		}
		event = ownership.LocalDone
	case operation.StatusDone:
		event = ownership.LocalDone
	}
	effects, err := e.registry.Local(at, j.claim, event)
	e.apply(effects)
	if err != nil && !errors.Is(err, ownership.ErrStale) {
		e.config.Log.Warn("status of a local copy", "claim", j.claim, "status", s, "error", err)
	}
	return err
}

func (e *Endpoint) releaseLocal(j *job) {
	if err := j.local.Release(); err != nil {
		e.config.Log.Error("local copy not released", "claim", j.claim, "error", err)
	}
}

// scatter is the local claim of a piece on the side that asks: it starts when the
// registry allows it, which the moves of the other claims may bring about.
type scatter struct {
	job  *job
	turn serial

	// Of the functions in turn only.
	started, over bool
}

// addScatter takes over a scatter whose piece is sealed.
func (s *Session) addScatter(local backend.Local, claim ownership.ClaimName) {
	c := &scatter{job: &job{session: s, claim: claim, local: local}}
	s.mu.Lock()
	if s.scatters == nil {
		s.scatters = map[string]*scatter{}
	}
	s.scatters[claim.Piece.Piece] = c
	s.mu.Unlock()
	c.try() // it may have ended meanwhile
}

// scatterMoved tries the scatters that an effect may concern.
func (s *Session) scatterMoved(effect ownership.Effect) {
	var list []*scatter
	s.mu.Lock()
	if len(s.scatters) > 0 {
		switch f := effect.(type) {
		case *ownership.ClaimMoved:
			list = append(list, s.scatters[f.Claim().Piece.Piece])
		case *ownership.GateMoved:
			list = append(list, s.scatters[f.Piece.Piece])
		case *ownership.SessionEnded, *ownership.SessionClosed:
			for _, c := range s.scatters {
				list = append(list, c)
			}
		}
	}
	s.mu.Unlock()
	for _, c := range list {
		if c != nil {
			c.try()
		}
	}
}

// try starts the scatter if its time has come, and gives it up if that never will.
func (c *scatter) try() {
	j := c.job
	e := j.session.endpoint
	c.turn.do(func() {
		switch {
		case c.started || c.over:
		case j.session.Answer().Outcome != outcome.Active:
			c.over = true
			e.releaseLocal(j)
		default:
			err := e.startLocal(j)
			c.started = err == nil
			if err != nil && !errors.Is(err, ownership.ErrReject) { // not yet, or not any more
				e.note(j.session, fmt.Sprintf("scatter of %v not started: %v", j.claim.Piece, err))
			}
		}
	})
}
