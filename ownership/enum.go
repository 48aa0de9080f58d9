// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "strconv"

// Side says whose memory a session owns. The numbers are stable.
type Side uint8

// The two sides of a transfer.
const (
	_       Side = iota
	Receive      // owns memory that peers write by themselves
	Send         // owns memory that own operations read
)

var sideNames = [...]string{Receive: "receive", Send: "send"}

// String returns "receive" or "send".
func (s Side) String() string { return name(sideNames[:], int(s), "side") }

// IsValid reports whether s is one of the two sides.
func (s Side) IsValid() bool { return s == Receive || s == Send }

// Access is what those who touch a piece's memory do with it. The zero value
// stands for the one that belongs to the side; see [PieceSpec].
type Access uint8

// The accesses. Owners of a region whose memory is only read share it; one whose
// memory is written holds it alone (contract §7).
const (
	_      Access = iota
	Writes        // the memory is written
	Reads         // the memory is read and not written
)

var accessNames = [...]string{Writes: "writes", Reads: "reads"}

// String returns "writes" or "reads".
func (a Access) String() string { return name(accessNames[:], int(a), "access") }

// of returns the access that is meant on a side.
func (a Access) of(side Side) Access {
	switch {
	case a != 0:
		return a
	case side == Send:
		return Reads
	}
	return Writes
}

// Evidence is what a peer's RESULT says about one claim. The numbers are stable.
type Evidence uint8

// The four statements of a RESULT (contract §8).
const (
	_              Evidence = iota
	OK                      // done_ok: access ended, delivered
	Failed                  // done_failed: access ended or never began, not delivered
	InDoubt                 // doubt: access may not have ended
	FailedQuiesced          // settle: late proof that access has ended
)

var evidenceNames = [...]string{OK: "ok", Failed: "failed", InDoubt: "in_doubt", FailedQuiesced: "failed_quiesced"}

// String returns the contract's name, such as "failed_quiesced".
func (e Evidence) String() string { return name(evidenceNames[:], int(e), "evidence") }

// IsValid reports whether e is one of the four statements.
func (e Evidence) IsValid() bool { return e >= OK && e <= FailedQuiesced }

// LocalEvent is what happened to a piece's own scatter or gather.
type LocalEvent uint8

// The three local events; Done of a claim in doubt is a settlement (contract §4).
const (
	_          LocalEvent = iota
	LocalStart            // publish: asks whether it may start now
	LocalDone             // done_ok, or settle where the claim is in doubt
	LocalDoubt            // doubt
)

var localNames = [...]string{LocalStart: "start", LocalDone: "done", LocalDoubt: "doubt"}

// String returns "start", "done" or "doubt".
func (e LocalEvent) String() string { return name(localNames[:], int(e), "local event") }

// IsValid reports whether e is one of the three events.
func (e LocalEvent) IsValid() bool { return e >= LocalStart && e <= LocalDoubt }

// Scope says which claims of an accessor a fence reaches.
type Scope uint8

// The scopes of a fence (contract §3).
const (
	_       Scope = iota
	Own           // operations that this endpoint posted towards it; a local claim is own
	Passive       // our memory that it reaches by itself
	All           // both
)

var scopeNames = [...]string{Own: "own", Passive: "passive", All: "all"}

// String returns "own", "passive" or "all".
func (s Scope) String() string { return name(scopeNames[:], int(s), "scope") }

// IsValid reports whether s is one of the three scopes.
func (s Scope) IsValid() bool { return s >= Own && s <= All }

// reaches reports whether a fence of scope s is proof for the memory of a session on side.
func (s Scope) reaches(side Side) bool {
	return s == All || (s == Own) == (side == Send)
}

// Origin says who caused an outcome. The zero value reads "none": no cause yet.
type Origin uint8

// The origins (contract §4).
const (
	NoOrigin    Origin = iota // the outcome is ACTIVE or SUCCEEDED
	FromLocal                 // operation, local claim, fail_send, fence, fail, stop, own cancel
	FromPeer                  // report, acknowledgement, gone incarnation, a peer's cancel
	FromTimeout               // the request clock
)

var originNames = [...]string{NoOrigin: "none", FromLocal: "local", FromPeer: "peer", FromTimeout: "timeout"}

// String returns "none", "local", "peer" or "timeout".
func (o Origin) String() string {
	if o == NoOrigin {
		return originNames[NoOrigin]
	}
	return name(originNames[:], int(o), "origin")
}

// Cause says why an outcome is FAILED or CANCELLED: one of the constants, or
// the reason that a caller gave to [Registry.Fail]. Empty means none.
type Cause string

// The causes that the core itself gives (contract §4).
const (
	CauseCancel       Cause = "cancel"
	CauseFailed       Cause = "failed"
	CauseDoubt        Cause = "doubt"
	CauseConflict     Cause = "conflict"
	CausePublication  Cause = "publication"
	CauseNotSubmitted Cause = "not_submitted"
	CauseFenced       Cause = "fenced"
	CauseTimeout      Cause = "timeout"
	CauseShutdown     Cause = "shutdown"
)

// String returns the cause, "none" when empty.
func (c Cause) String() string {
	if c == "" {
		return "none"
	}
	return string(c)
}

// Physical answers whether the memory of a session may be reused (contract §7).
type Physical uint8

// The physical states. Retired is not permission to reuse: only release is.
const (
	_                Physical = iota
	PhysicalInDoubt           // a claim is IN_DOUBT or an owner is invalid
	PhysicalDraining          // some owner is not drained
	PhysicalRetired           // every owner is drained or released
)

var physicalNames = [...]string{PhysicalInDoubt: "IN_DOUBT", PhysicalDraining: "DRAINING", PhysicalRetired: "RETIRED"}

// String returns "IN_DOUBT", "DRAINING" or "RETIRED".
func (p Physical) String() string { return name(physicalNames[:], int(p), "physical state") }

// Admission says whether anything new is taken in (contract §7).
type Admission uint8

// The admission states; a later one hides an earlier one.
const (
	_                    Admission = iota
	AdmissionOpen                  // everything is
	AdmissionQuarantined           // a doubt moved a claim; see Config.Quarantine
	AdmissionClosed                // Stop was called
	AdmissionFatal                 // a grace deadline passed without proof
)

var admissionNames = [...]string{AdmissionOpen: "OPEN", AdmissionQuarantined: "QUARANTINED", AdmissionClosed: "CLOSED", AdmissionFatal: "FATAL"}

// String returns "OPEN", "QUARANTINED", "CLOSED" or "FATAL".
func (a Admission) String() string { return name(admissionNames[:], int(a), "admission") }

// Quarantine is how far a doubt about one accessor closes admission (contract §7).
type Quarantine uint8

// The scopes of a quarantine; the zero value is the default, QuarantineEndpoint.
const (
	QuarantineEndpoint Quarantine = iota // everything
	QuarantineAccessor                   // pieces whose cohort names the accessor
	QuarantineOff                        // nothing
)

var quarantineNames = [...]string{QuarantineEndpoint: "endpoint", QuarantineAccessor: "accessor", QuarantineOff: "off"}

// String returns "endpoint", "accessor" or "off".
func (q Quarantine) String() string {
	if q == QuarantineEndpoint {
		return quarantineNames[q]
	}
	return name(quarantineNames[:], int(q), "quarantine")
}

// name returns names[i], or words that say that i is no valid what.
func name(names []string, i int, what string) string {
	if i >= 0 && i < len(names) && names[i] != "" {
		return names[i]
	}
	return "invalid " + what + " " + strconv.Itoa(i)
}
