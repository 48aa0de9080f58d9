// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
)

// Add asks for further pieces in a session that was left open: all of them are
// published, or none. Peers and Label are those of the session's first piece
// where a piece has none. After an error nothing of them is owned, and the session
// goes on without them; otherwise they are the session's, whose outcome says what
// became of them, also where it has ended meanwhile and nobody heard of them. Of a session that sends the
// error matches ErrConfig: its pieces are the peer's to ask for.
func (s *Session) Add(ctx context.Context, pieces ...Piece) error { return s.add(ctx, pieces, false) }

// AddLast is Add, and says that no more pieces come: the session succeeds when
// all have. The peers that are named in it learn that with their requests; for one
// that was asked only before, its application calls Session.Complete.
func (s *Session) AddLast(ctx context.Context, pieces ...Piece) error {
	return s.add(ctx, pieces, true)
}

func (s *Session) add(ctx context.Context, pieces []Piece, last bool) error {
	if s.side != ownership.Receive {
		return invalid("session "+s.name.String(), "it answers what its peer asks for, and adds nothing")
	}
	list, err := s.endpoint.lookUp(s.name, s.direction, completed(pieces, s.peers, s.label))
	if err != nil {
		return err
	}
	for _, a := range list {
		if s.direction == backend.Read && a.spec.Scatter != nil {
			return invalid("piece "+a.spec.Name, "an offer has a Scatter")
		}
	}
	if err := s.enter(); err != nil {
		return err
	}
	fanOut, err := s.reserve(list, last)
	s.leave()
	switch {
	case fanOut == nil:
		return s.withAnswer(err)
	case errors.Is(err, ownership.ErrClosed): // the pieces were withdrawn with the session
		fanOut.giveUp()
		return nil
	case err != nil:
		return err
	}
	fanOut.run(ctx)
	return nil
}

// enter begins a call that adds to the session; one at a time, so that what it
// learns of the others' pieces stays true. It only waits for calls of the
// registry, and after FATAL, when one may hang in a containment, not at all.
func (s *Session) enter() error {
	select {
	case s.adding <- struct{}{}:
		return nil
	case <-s.endpoint.fatal:
		return &ownership.Error{Kind: ownership.KindFatal, What: "session " + s.name.String()}
	}
}

func (s *Session) leave() { <-s.adding }

// reserve brings pieces to the moment before their first publication: afterwards
// every claim is PUBLISHED and nothing has left yet. Without a fan-out they own
// nothing; with one and an error they belong to a session that has ended meanwhile,
// and nothing of them may leave. The caller is inside of the session.
func (s *Session) reserve(list []asking, last bool) (*fanOut, error) {
	e := s.endpoint
	specs := make([]ownership.PieceSpec, len(list))
	regions := make([]*Region, len(list))
	for i := range list {
		specs[i], regions[i] = list[i].pieceSpec(s.direction), list[i].spec.Region
		s.join(specs[i].Cohort)
	}
	claims, effects, err := e.addPieces(regions, specs)
	e.apply(effects)
	if err != nil {
		return nil, err
	}
	f := &fanOut{session: s, pieces: list, claims: claims, last: last}
	effects, err = e.registry.Seal(e.now(), f.names()...)
	e.apply(effects)
	if err != nil {
		return f, err
	}
	for i, a := range list {
		if a.spec.Scatter != nil { // its claim is the last one
			s.addScatter(a.spec.Scatter, claims[i][len(claims[i])-1])
		}
	}
	f.totals = s.count(list, last)
	return f, nil
}

// withAnswer adds to an error what became of the session meanwhile.
func (s *Session) withAnswer(err error) error {
	if a := s.Answer(); a.Cause != "" {
		return fmt.Errorf("%w (the session is %v)", err, a)
	}
	return err
}

// count notes what each peer is asked for and, with the last pieces, returns how
// many pieces that makes.
func (s *Session) count(list []asking, last bool) map[ownership.Accessor]uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[ownership.Accessor]uint32{}
	}
	for _, a := range list {
		for _, t := range a.targets {
			s.asked[t.member.Accessor]++
		}
	}
	if !last {
		return nil
	}
	totals := make(map[ownership.Accessor]uint32, len(s.asked))
	for a, n := range s.asked {
		totals[a] = n
	}
	return totals
}
