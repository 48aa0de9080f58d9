// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
)

// notificationMagic begins every notification of this protocol: others share the
// backend's channel for them.
const notificationMagic = "kvxfer-end/1\n"

// Notification returns what an operation carries to the target of its backend: the
// name of the claim that it answers. It has one form only.
func Notification(c ClaimName) []byte {
	out := append([]byte(notificationMagic), c.Owner[:]...)
	out = append(out, c.Incarnation[:]...)
	out = binary.BigEndian.AppendUint64(out, c.Sequence)
	out = binary.BigEndian.AppendUint64(out, c.Session.Request.Number)
	out = binary.BigEndian.AppendUint32(out, c.Session.Attempt)
	for _, s := range []string{c.Session.Request.Endpoint, c.Piece, c.Accessor} {
		out = append(binary.BigEndian.AppendUint16(out, uint16(len(s))), s...)
	}
	return out
}

// ParseNotification reads what Notification wrote, and checks every field. The error
// matches ErrInvalid; so does that of a message that is not of this protocol.
func ParseNotification(message []byte) (ClaimName, error) {
	var c ClaimName
	bad := func() (ClaimName, error) {
		return ClaimName{}, fmt.Errorf("%w: notification of %d bytes that is not of this protocol, or is cut", ErrInvalid, len(message))
	}
	const fixed = len(notificationMagic) + 2*len(c.Owner) + 8 + 8 + 4
	if len(message) < fixed || string(message[:len(notificationMagic)]) != notificationMagic {
		return bad()
	}
	rest := message[len(notificationMagic):]
	rest = rest[copy(c.Owner[:], rest):]
	rest = rest[copy(c.Incarnation[:], rest):]
	c.Sequence, rest = binary.BigEndian.Uint64(rest), rest[8:]
	c.Session.Request.Number, rest = binary.BigEndian.Uint64(rest), rest[8:]
	c.Session.Attempt, rest = binary.BigEndian.Uint32(rest), rest[4:]
	for _, s := range []*string{&c.Session.Request.Endpoint, &c.Piece, &c.Accessor} {
		if len(rest) < 2 {
			return bad()
		}
		n := int(binary.BigEndian.Uint16(rest))
		if rest = rest[2:]; len(rest) < n {
			return bad()
		}
		*s, rest = string(rest[:n]), rest[n:]
	}
	if len(rest) > 0 {
		return bad()
	}
	check := checker{kind: KindConfirmed}
	check.claim(c)
	return c, check.err()
}
