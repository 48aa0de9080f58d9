// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/ranks"
	"github.com/kvxfer/kvxfer/ownership"
)

// Request is this rank's part of a request that lives on all ranks of the
// group. All methods may be called from any goroutine.
type Request struct {
	rank    *Rank // nil until it is open here
	session ownership.SessionName
	cohort  *cohort
	// All below is guarded by rank.mu.
	system    ranks.System
	said      State // the newest to be written
	queued    bool  // said waits to be written
	published bool  // something was taken to be written, in the present life of this process
	closed    bool
	ended     chan struct{} // made when somebody asks
	retired   chan struct{}
}

// Open makes this rank take part in a request, before anything of it is
// published to hardware here. The epoch is the one under which the request was
// created, see Epoch. Open waits until this rank has read that far.
//
// The error matches fsm.Stale if the request's cohort has another incarnation
// of this rank, fsm.Closed if the request has ended elsewhere, its name is
// over, or this rank's lease may have ended, fsm.Misuse if it is open.
func (r *Rank) Open(ctx context.Context, session ownership.SessionName, epoch Revision) (*Request, error) {
	if session.Request.Endpoint == "" || len(session.Request.Endpoint) > maxName || session.Attempt == 0 || epoch <= 0 {
		return nil, fmt.Errorf("cluster: open %v at epoch %d: %w", session, epoch, ErrConfig)
	}
	if err := r.waitApplied(ctx, epoch); err != nil {
		return nil, fmt.Errorf("cluster: open %v: epoch %d is not read: %w", session, epoch, err)
	}
	request, err := r.open(session, epoch)
	if err != nil {
		r.wake() // that it holds nothing of the request may be to be said
		return nil, fmt.Errorf("cluster: open %v: %w", session, err)
	}
	r.step(AfterOpen)
	return request, nil
}

func (r *Rank) open(session ownership.SessionName, epoch Revision) (*Request, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.view
	if v.over(session) {
		return nil, errOver
	}
	known := v.requests[session]
	if known == nil {
		if known = v.begin(session, epoch); known == nil {
			return nil, errOutsider
		}
	}
	life := ranks.LifeMember
	if known.cohort.epoch != epoch || known.cohort.lives[known.cohort.own] != v.current(r.config.Rank) {
		life = ranks.LifeOther
	}
	var err error
	if v.effects, err = known.system.Open(life, r.leased(), v.effects[:0]); err != nil {
		if known.rank == nil && !known.published && !known.queued && !known.system.Ended() {
			delete(v.requests, session) // nobody has heard of it
		}
		return nil, err
	}
	known.rank = r
	v.undrained[known.cohort.lives[known.cohort.own]]++
	return known, nil
}

// Session returns the request's name.
func (q *Request) Session() ownership.SessionName { return q.session }

// Publish says how this rank's part stands: once it has an outcome, and again
// whenever that or Drained changes. It does not wait. Saying the same again is
// fine. The error matches ErrConfig for an outcome that is ACTIVE.
func (q *Request) Publish(s State) error {
	if !s.Outcome.IsValid() || s.Outcome == outcome.Active {
		return fmt.Errorf("cluster: %v: state with outcome %v: %w", q.session, s.Outcome, ErrConfig)
	}
	r := q.rank
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.said == s || q.closed {
		return nil
	}
	own := q.cohort.lives[q.cohort.own]
	if s.Drained && !q.said.Drained {
		r.view.undrained[own]--
	} else if !s.Drained && q.said.Drained {
		r.view.undrained[own]++
	}
	r.view.say(q, s)
	r.wake()
	return nil
}

// Ended returns a channel that is closed when the request cannot succeed on all
// ranks any more, because one failed, cancelled, or is in doubt.
func (q *Request) Ended() <-chan struct{} {
	q.rank.mu.Lock()
	defer q.rank.mu.Unlock()
	return signal(&q.ended, q.system.Ended())
}

// Retired returns a channel that is closed when this rank may give its memory
// of the request back, as soon as its own claims allow.
func (q *Request) Retired() <-chan struct{} {
	q.rank.mu.Lock()
	defer q.rank.mu.Unlock()
	return signal(&q.retired, q.system.Retired())
}

// signal makes the channel the first time; it is closed if what it tells has
// happened.
func signal(ch *chan struct{}, happened bool) <-chan struct{} {
	if *ch == nil {
		*ch = make(chan struct{})
		if happened {
			close(*ch)
		}
	}
	return *ch
}

// Close forgets a request whose memory is given back. It is refused
// (fsm.Refused) before the request was retired. Closing again is fine.
func (q *Request) Close() error {
	r := q.rank
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case q.closed:
		return nil
	case !q.system.Retired():
		return fmt.Errorf("cluster: close %v: %w", q.session, errNotRetired)
	}
	q.closed = true
	if !q.said.Drained { // its name is fenced, or it succeeded and is disputed
		r.view.undrained[q.cohort.lives[q.cohort.own]]--
	}
	r.view.forget(q)
	return nil
}
