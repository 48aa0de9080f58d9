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
		if err = m.Validate(); err != nil {
			err = fmt.Errorf("%w: %w", ErrProtocol, err)
		} else {
			err = l.take(at, m)
		}
		if errors.Is(err, ErrProtocol) {
			l.peer.endpoint.counts.violations.Add(1)
		}
		if err != nil {
			return err
		}
	}
}

// take handles one message. An error ends the link.
func (l *Link) take(at time.Duration, m wire.Message) error {
	p := l.peer
	switch m := m.(type) {
	case wire.Receipt:
		if err := l.acknowledged(m.Received); err != nil {
			return err
		}
		if m.Watermark > l.theirs { // of this goroutine only
			l.theirs = m.Watermark
			p.passed(m.Watermark)
		}
		return nil
	case wire.Goodbye:
		p.retire(l.member.Incarnation)
		l.receipted()
		return io.EOF
	}
	sequenced, ok := m.(wire.Sequenced)
	if !ok {
		return fmt.Errorf("%w: a second %v", ErrProtocol, m.Kind())
	}
	p.mu.Lock()
	received := p.received
	p.mu.Unlock()
	switch number := sequenced.Sequence(); {
	case number <= received:
		p.endpoint.counts.duplicates.Add(1)
		return nil
	case number > received+1: // what is missing cannot come any more on this stream
		return fmt.Errorf("%w: message %d after %d", ErrProtocol, number, received)
	}
	ours, err := l.dispatch(at, sequenced)
	if err != nil {
		return err
	}
	if !ours {
		p.endpoint.counts.foreign.Add(1)
	}
	// Confirmed only now: what was confirmed has been applied.
	p.mu.Lock()
	p.received = sequenced.Sequence()
	p.mu.Unlock()
	p.wake.raise()
	return nil
}

// receipted waits until what came before a Goodbye is confirmed: the peer, which
// has stopped but for that, would wait for it in vain once the stream has ended.
func (l *Link) receipted() {
	p := l.peer
	for {
		moved := p.endpoint.changed.wait()
		p.mu.Lock()
		done := p.received <= l.confirmed && !l.busy
		p.mu.Unlock()
		if done {
			return
		}
		select {
		case <-moved:
		case <-l.ctx.Done():
			return
		}
	}
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
// stream does not stand for, so it is no evidence (contract section 8). With an
// error it was not taken in.
func (l *Link) dispatch(at time.Duration, m wire.Sequenced) (ours bool, err error) {
	e := l.peer.endpoint
	var effects ownership.Effects
	switch m := m.(type) {
	case wire.RequestData:
		return l.requested(at, m), nil
	case wire.Result:
		claim := coreClaim(m.Claim)
		if claim.Accessor != l.member.Accessor || claim.Incarnation != l.member.Incarnation || claim.Owner != e.Incarnation() {
			return false, nil
		}
		effects, err = e.registry.Report(at, ownership.PeerReport{Claim: claim, From: l.member.Accessor, Evidence: ownership.Evidence(m.Evidence)})
	case wire.CancelSession:
		effects, err = l.cancelled(at, m)
		if errors.Is(err, ownership.ErrCapacity) {
			e.apply(effects)
			return true, l.postpone(m, err)
		}
	case wire.Confirmed:
		if ours, effects, err = l.endSeen(at, m); !ours {
			return false, nil
		}
	case wire.SessionQuiesced:
		effects, err = e.registry.Ack(at, coreSession(m.Session), l.member)
	}
	e.apply(effects)
	if err != nil && !errors.Is(err, ownership.ErrStale) {
		e.config.Log.Warn("message of a peer", "peer", l.Peer(), "message", m.String(), "error", err)
	}
	return true, nil
}

// cancelled takes a CANCEL_SESSION in. One that is not the peer's to make ends
// nothing; a receiver is told all the same that it has no part in the session.
func (l *Link) cancelled(at time.Duration, m wire.CancelSession) (ownership.Effects, error) {
	e, name := l.peer.endpoint, coreSession(m.Session)
	if !e.mayCancel(name, l.member.Accessor) {
		e.counts.foreign.Add(1)
		e.config.Log.Warn("cancel of a session of others", "peer", l.Peer(), "session", name)
		if m.From == wire.Receive {
			e.withdrawSession(name, l.member)
			l.peer.reply(l.member.Incarnation, wire.SessionQuiesced{Session: m.Session})
		}
		return nil, nil
	}
	_, effects, err := e.registry.Cancel(at, ownership.CancelSpec{
		Session: name, Origin: ownership.FromPeer, From: l.member, FromSide: ownership.Side(m.From),
	})
	if m.From == wire.Receive && !errors.Is(err, ownership.ErrCapacity) {
		e.withdrawSession(name, l.member)
	}
	return effects, err
}

// A cancel that found no room for a tombstone waits this long, and no more than
// this many of one peer wait.
const (
	retryCancel  = 100 * time.Millisecond
	maxPostponed = 256
)

// postpone keeps a cancel that found no room for a tombstone and was neither applied
// nor answered (contract section 7). It will be confirmed, so that the peer does
// not send it again: it is tried again here, as long as that life of the peer lasts.
// With too many of them the link ends instead, and this one comes again on the next
// stream.
func (l *Link) postpone(m wire.CancelSession, full error) error {
	p := l.peer
	if p.postponed.Add(1) > maxPostponed {
		p.postponed.Add(-1)
		return fmt.Errorf("%d cancels wait: %w", maxPostponed, full)
	}
	p.endpoint.start(func() { l.cancelLater(m); p.postponed.Add(-1) }) // or it has halted, and counts no more
	return nil
}

func (l *Link) cancelLater(m wire.CancelSession) {
	e := l.peer.endpoint
	for {
		select {
		case <-time.After(retryCancel):
			if !l.peer.lives(l.member.Incarnation) {
				return // it waits for no answer any more
			}
			effects, err := l.cancelled(e.now(), m)
			e.apply(effects)
			if !errors.Is(err, ownership.ErrCapacity) {
				return
			}
		case <-e.ctx.Done():
			return
		}
	}
}
