// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// The core and the wire have types of their own for the same names, so that
// neither imports the other; the numbers of sides and evidence are equal (a
// test holds them together).

func wireSession(s ownership.SessionName) wire.SessionName {
	return wire.SessionName{Request: wire.RequestID(s.Request), Attempt: s.Attempt}
}

func coreSession(s wire.SessionName) ownership.SessionName {
	return ownership.SessionName{Request: ownership.RequestID(s.Request), Attempt: s.Attempt}
}

func wireClaim(c ownership.ClaimName) wire.ClaimName {
	return wire.ClaimName{
		Owner: wire.Incarnation(c.Owner), Session: wireSession(c.Piece.Session), Piece: c.Piece.Piece,
		Accessor: string(c.Accessor), Incarnation: wire.Incarnation(c.Incarnation), Sequence: c.Sequence,
	}
}

func coreClaim(c wire.ClaimName) ownership.ClaimName {
	return ownership.ClaimName{
		Owner:    ownership.Incarnation(c.Owner),
		Piece:    ownership.PieceName{Session: coreSession(c.Session), Piece: c.Piece},
		Accessor: ownership.Accessor(c.Accessor), Incarnation: ownership.Incarnation(c.Incarnation), Sequence: c.Sequence,
	}
}

// wireReport maps a message of the core's outbox; its number comes later.
func wireReport(m ownership.Message) wire.Sequenced {
	switch m := m.(type) {
	case *ownership.Result:
		return wire.Result{Claim: wireClaim(m.Claim), Evidence: wire.Evidence(m.Evidence)}
	case *ownership.CancelSession:
		return wire.CancelSession{Session: wireSession(m.Name), From: wire.Side(m.From)}
	case *ownership.SessionQuiesced:
		return wire.SessionQuiesced{Session: wireSession(m.Name)}
	}
	return nil
}
