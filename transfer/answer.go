// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// SendSpec says what to send.
type SendSpec struct {
	// Region holds the data. It is owned, together with other sends at most,
	// until the session is closed. Required.
	Region *Region
	// Blocks are its ranges, in the order in which they go to the peer's blocks;
	// none means all of it. The total length must be the request's; the blocks
	// need not be cut in the same places.
	Blocks []Block
	// Gather, if not nil, is what has to end before the data is there: a copy that
	// collects scattered blocks into the region, or the event of a kernel that
	// writes it. It is a claim of its own on the region, which it holds alone then:
	// the endpoint starts it and posts nothing before its end is proven. It must
	// not have been started; it is the endpoint's, which releases it on proof, from
	// when Send returns without an error.
	Gather backend.Local

	_ struct{}
}

// Send answers a request of direction WRITE with data. It returns the session
// that owns the region from now on; the operation is posted on a goroutine of its
// own, so that Send does not wait for a copy. After an error nothing is owned
// here; whether the peer has been told depends on how far it came, and Refuse is
// always fine then. Where several peers asked under one name, one of them can be
// served: for the others the error matches ownership.ErrReject.
//
// Several pieces of one session have one session here as well, which every Send
// returns. It is complete when all pieces are in it that Request.Pieces counts;
// where that is 0, when Session.Complete says so.
func (r *Request) Send(spec SendSpec) (*Session, error) {
	return r.answer(reply{backend.Write, spec.Region, spec.Blocks, spec.Gather})
}

// FetchSpec says where to put what is read.
type FetchSpec struct {
	// Region is where the data goes. It is owned whole until the session is
	// closed. Required.
	Region *Region
	// Blocks are its ranges, in the order of the peer's blocks, and none of which
	// overlap; none means all of it. The total length must be the request's.
	Blocks []Block

	_ struct{}
}

// Fetch answers a request of direction READ: the data is read out of the peer's
// memory. Success says that it is here. Everything else is as with Send: the side
// that posts the operation owns by what the operation says, and its session is of
// the side ownership.Send in both directions.
func (r *Request) Fetch(spec FetchSpec) (*Session, error) {
	return r.answer(reply{backend.Read, spec.Region, spec.Blocks, nil})
}

// reply is what a request is answered with.
type reply struct {
	direction backend.Direction
	region    *Region
	blocks    []Block
	gather    backend.Local
}

// access says what happens to the region: a gather writes it, and so does a READ.
func (p *reply) access() ownership.Access {
	if p.direction == backend.Read || p.gather != nil {
		return ownership.Writes
	}
	return ownership.Reads
}

// pair checks a reply against its request, and returns the operation.
func (r *Request) pair(p reply) (backend.Request, error) {
	e := r.endpoint
	none := backend.Request{}
	if p.direction != r.direction {
		with := map[backend.Direction]string{backend.Write: "Send", backend.Read: "Fetch"}[r.direction]
		return none, invalid("request "+r.piece.String(), "it asks for a %v: answer it with %s", r.direction, with)
	}
	if p.region == nil || p.region.endpoint != e {
		return none, invalid("request "+r.piece.String(), "Region is nil or another endpoint's")
	}
	local, err := segments(p.region, p.blocks)
	if err == nil && p.direction == backend.Read {
		err = apart(p.region, local)
	}
	if err != nil {
		return none, err
	}
	local, remote, err := pair(local, r.segments)
	if err != nil {
		return none, &Error{What: "request " + r.piece.String(), Kind: ErrConfig, Err: err}
	}
	return backend.Request{
		Direction: p.direction, Peer: r.agent, Local: local, Remote: remote, LocalSpace: p.region.memory.Space, RemoteSpace: r.space,
	}, nil
}

func (r *Request) answer(p reply) (*Session, error) {
	request, err := r.pair(p)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over() {
		return nil, &Error{What: "request " + r.piece.String(), Kind: ErrAnswered}
	}
	e := r.endpoint
	s, fresh, err := e.sending(r)
	if err != nil {
		return nil, err
	}
	taken, err := false, error(nil)
	if e.waits(r) {
		taken, err = s.serve(r, p, request)
	} else { // refused or withdrawn meanwhile
		err = &Error{What: "request " + r.piece.String(), Kind: ErrAnswered}
	}
	switch {
	case err != nil && fresh: // of a session that nobody has, nothing stays
		err = s.withAnswer(err)
		s.abandon("not_constructed")
	case taken: // the session says what became of it
		err = nil
	}
	s.leave()
	if err != nil {
		return nil, err
	}
	r.answered = true
	e.answered(r)
	return s, nil
}

// sending returns the session that answers a request: a new one for the first
// piece, and for the others that of the first. The caller is inside of it.
func (e *Endpoint) sending(r *Request) (s *Session, fresh bool, err error) {
	name := r.piece.Session
	for {
		if s = e.session(name); s == nil {
			s, err = e.admit(ownership.Send, r.direction, name, r.from)
			if errors.Is(err, ownership.ErrReject) && e.session(name) != nil {
				continue // another piece of it was faster
			}
			return s, true, err
		}
		if s.side != ownership.Send || s.direction != r.direction || !s.isWith(r.from) {
			return nil, false, &ownership.Error{Kind: ownership.KindReject, What: "session " + name.String(), Why: "the name is owned"}
		}
		if err = s.enter(); err != nil {
			return nil, false, err
		}
		if e.session(name) == s {
			return s, false, nil
		}
		s.leave() // its construction has failed
	}
}

// serve adds a piece to a session that sends, and starts its gather or its
// operation. It reports whether the piece was taken in: with an error it belongs to a
// session that has ended meanwhile, and is not posted.
func (s *Session) serve(r *Request, p reply, request backend.Request) (taken bool, err error) {
	e := s.endpoint
	claims, effects, err := e.addPieces([]*Region{p.region}, []ownership.PieceSpec{{
		Name: r.piece, Region: p.region.id, Cohort: []ownership.Member{r.from}, Local: p.gather != nil, Access: p.access(), Kind: r.piece.Piece,
	}})
	e.apply(effects)
	if err != nil {
		return false, err
	}
	j := &job{session: s, life: r.life, claim: claims[0][0], request: request, remote: r.claim}
	s.took(j, r.pieces)
	if p.gather == nil {
		if err := e.seal(j); err != nil {
			return true, err
		}
		e.expected()
		go e.operate(j)
		return true, nil
	}
	g := &job{session: s, claim: claims[0][1], local: p.gather, then: func() { e.gathered(j) }}
	go e.gather(g)
	return true, nil
}

// seal publishes a piece, after which its operation may be posted, and completes
// the session with its last piece.
func (e *Endpoint) seal(j *job) error {
	effects, err := e.registry.Seal(e.now(), j.claim.Piece)
	e.apply(effects)
	if err != nil {
		return err
	}
	if j.session.sealedAll() {
		if err := j.session.complete(); err != nil {
			e.config.Log.Error("complete", "session", j.session.name, "error", err)
		}
	}
	return nil
}

// Refuse answers that no data will be moved: the peer is told that nothing of the
// request is held here and never will be. The reason goes to this side's log
// and timeline; the message has no room for it. Refusing twice is fine. Other
// peers that asked under the same name are not refused with it; other pieces of
// the same peer's session are, since it cannot succeed any more. The error matches
// ownership.ErrCapacity where there is no room to remember the refusal, in all or in
// the peer's share (Config.PeerTombstones): the request then waits on.
func (r *Request) Refuse(reason string) error {
	e := r.endpoint
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over() {
		return nil
	}
	switch e.partFrom(r) {
	case others:
		r.excuse()
	case shared: // its own cancel comes after all that it asks for, and is answered
		r.decline()
	default:
		told, effects, err := e.registry.Cancel(e.now(), ownership.CancelSpec{Session: r.piece.Session, Origin: ownership.FromLocal, Refused: r.from.Accessor})
		e.apply(effects)
		if err != nil {
			return err
		}
		if told.Outcome == outcome.Succeeded { // without this piece, and the peer was told nothing
			r.decline()
		}
	}
	r.answered = true
	e.answered(r)
	e.note(nil, fmt.Sprintf("request %v refused: %s", r.piece, reason))
	e.config.Log.Info("request refused", "request", r.piece, "peer", r.from.Accessor, "reason", reason)
	return nil
}
