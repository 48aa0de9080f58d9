// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// receive is the link's only goroutine that calls Stream.Recv. Each message
// gets its time of arrival before anything else is done with it: the registry
// judges deadlines by that time, however long the message then waits.
func (l *Link) receive() error {
	for {
		m, err := l.stream.Recv(l.ctx)
		if err != nil {
			return err
		}
		at := l.peer.endpoint.now()
		if err := m.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		if err := l.take(at, m); err != nil {
			return err
		}
	}
}

// take handles one message. An error ends the link.
func (l *Link) take(at time.Duration, m wire.Message) error {
	p := l.peer
	switch m := m.(type) {
	case wire.Receipt:
		return l.acknowledged(m.Received)
	case wire.Goodbye:
		p.retire(l.member.Incarnation)
		return io.EOF
	}
	sequenced, ok := m.(wire.Sequenced)
	if !ok {
		return fmt.Errorf("%w: a second %v", ErrProtocol, m.Kind())
	}
	p.mu.Lock()
	repeated := sequenced.Sequence() <= p.received
	p.mu.Unlock()
	if repeated {
		p.endpoint.counts.duplicates.Add(1)
		return nil
	}
	if !l.dispatch(at, sequenced) {
		p.endpoint.counts.foreign.Add(1)
	}
	// Confirmed only now: what was confirmed has been applied.
	p.mu.Lock()
	p.received = sequenced.Sequence()
	p.mu.Unlock()
	p.wake.raise()
	return nil
}

func (l *Link) acknowledged(received uint64) error {
	p := l.peer
	p.mu.Lock()
	if received > p.out.last {
		p.mu.Unlock()
		return fmt.Errorf("%w: receipt for message %d of %d", ErrProtocol, received, p.out.last)
	}
	p.out.acknowledge(received)
	l.resumed = true
	p.mu.Unlock()
	p.wake.raise()
	p.endpoint.changed.send()
	return nil
}

// dispatch gives a message to the registry. false: it names a party that the
// stream does not stand for, so it is no evidence (contract section 8).
func (l *Link) dispatch(at time.Duration, m wire.Sequenced) bool {
	e := l.peer.endpoint
	var effects ownership.Effects
	var err error
	switch m := m.(type) {
	case wire.RequestData:
		return l.requested(at, m)
	case wire.Result:
		claim := coreClaim(m.Claim)
		if claim.Accessor != l.member.Accessor || claim.Incarnation != l.member.Incarnation || claim.Owner != e.config.Incarnation {
			return false
		}
		effects, err = e.registry.Report(at, ownership.PeerReport{Claim: claim, From: l.member.Accessor, Evidence: ownership.Evidence(m.Evidence)})
	case wire.CancelSession:
		effects, err = l.cancelled(at, m)
	case wire.SessionQuiesced:
		effects, err = e.registry.Ack(at, coreSession(m.Session), l.member)
	}
	e.apply(effects)
	if err != nil && !errors.Is(err, ownership.ErrStale) {
		e.config.Log.Warn("message of a peer", "peer", l.Peer(), "message", m.String(), "error", err)
	}
	return true
}

// cancelled takes a CANCEL_SESSION in. Where the tombstones are full it is
// neither applied nor answered (contract section 7); the stream will not bring
// it again, so that it is tried again here.
func (l *Link) cancelled(at time.Duration, m wire.CancelSession) (ownership.Effects, error) {
	e, name := l.peer.endpoint, coreSession(m.Session)
	_, effects, err := e.registry.Cancel(at, ownership.CancelSpec{
		Session: name, Origin: ownership.FromPeer, From: l.member, FromSide: ownership.Side(m.From),
	})
	switch {
	case errors.Is(err, ownership.ErrCapacity):
		if !e.start(func() { l.cancelLater(m) }) {
			return effects, err
		}
		return effects, nil
	case m.From == wire.Receive:
		e.withdraw(func(r *Request) bool { return r.Session() == name && r.isFrom(l.member) })
	}
	return effects, err
}

// retryCancel is how long a cancel that found the tombstones full waits.
const retryCancel = 100 * time.Millisecond

func (l *Link) cancelLater(m wire.CancelSession) {
	e := l.peer.endpoint
	select {
	case <-time.After(retryCancel):
		effects, _ := l.cancelled(e.now(), m)
		e.apply(effects)
	case <-e.ctx.Done():
	}
}
