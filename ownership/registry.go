// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Registry is the root of everything owned (contract §7), and the only locked
// type of the package. All methods may be called from any goroutine.
//
// In every method at is the time of the call; see the package's text. Effects
// are returned also with an error: the deadlines that the call noticed, and
// what a conflict did.
type Registry struct {
	contain func(Containment) error // config's; not changed after New

	inbox inbox // has its own lock, held for an append only

	mu   sync.Mutex
	core core // guarded by mu
}

// New returns an empty registry. An incomplete config is ErrInvalidArgument.
func New(cfg Config) (*Registry, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	r := &Registry{contain: cfg.Contain}
	r.core.init(cfg)
	return r, nil
}

// Admit admits a session (contract §3, §7). A request that was cancelled before
// is admitted CANCELLED. Errors: ErrInvalidArgument, ErrFatal; ErrClosed in
// quarantine, after Stop and below the watermark; ErrReject for a name that is
// or was used, unless it was cancelled before; ErrRefused while an earlier
// attempt is ACTIVE; ErrCapacity.
func (r *Registry) Admit(at time.Duration, spec SessionSpec) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallAdmit); t != nil {
			t.Session, t.Side = spec.Name, spec.Side
			t.Timeout, t.Grace = cmp.Or(spec.RequestTimeout, c.cfg.RequestTimeout), cmp.Or(spec.Grace, c.cfg.Grace)
		}
		return c.admit(spec)
	})
}

// AddPiece adds a piece with its region to a session, and returns the names of
// its claims: the cohort's in order, then the local one if there is one. Errors:
// ErrInvalidArgument (also an unknown region), ErrStale, ErrFatal; ErrClosed in
// quarantine, after Stop, and for a session that is complete or has an outcome;
// ErrReject for a name that is owned; ErrRefused while the region is held by
// another owner (send owners share with send owners) or not registered;
// ErrCapacity. After an error nothing is left behind.
func (r *Registry) AddPiece(at time.Duration, spec PieceSpec) ([]ClaimName, Effects, error) {
	var names []ClaimName
	effects, err := r.call(at, func(c *core) (err error) {
		if t := c.tracing(CallAddPieces); t != nil {
			t.Added, t.First, t.Life = []PieceSpec{spec}, c.sequence+1, c.cfg.Incarnation
		}
		names, err = c.addPiece(spec)
		return err
	})
	return names, effects, err
}

// Seal publishes every claim of the pieces, all or none: after it, and not
// before, the addresses may leave. The caller then sends and calls Finish or
// FailSend. All pieces are of one session. Errors: ErrInvalidArgument, ErrStale,
// ErrFatal; ErrClosed once the session is complete or has an outcome; ErrReject
// unless every gate is OPEN and, on the send side, every local claim is DRAINED.
func (r *Registry) Seal(at time.Duration, pieces ...PieceName) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallSeal); t != nil {
			t.Pieces = slices.Clone(pieces)
		}
		return c.seal(pieces)
	})
}

// Finish says that the whole fan-out of the pieces returned. Errors:
// ErrInvalidArgument, ErrStale; ErrReject unless every gate is PUBLISHING.
func (r *Registry) Finish(at time.Duration, pieces ...PieceName) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallFinish); t != nil {
			t.Pieces = slices.Clone(pieces)
		}
		return c.finish(pieces)
	})
}

// FailSend says that the fan-out ended early: published may have the address,
// the rest of the cohort provably has not. The piece fails with cause
// publication. Errors: ErrInvalidArgument where published is not within the
// cohort, ErrStale; ErrConflict where the rest has an accessor that gave
// evidence, is IN_DOUBT, or whose operation was submitted (nothing moves, the
// piece is invalid); ErrReject unless the gate is PUBLISHING.
func (r *Registry) FailSend(at time.Duration, piece PieceName, published []Accessor) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallFailSend); t != nil {
			t.Pieces, t.Published = []PieceName{piece}, slices.Clone(published)
		}
		return c.failSend(piece, published)
	})
}

// Operation passes on what is known of the own operation of a claim (send side).
// StatusSubmitting asks for permission to post: nil grants it. Errors:
// ErrInvalidArgument, ErrStale; ErrConflict for contradictory evidence and for
// evidence of an accessor outside of the cohort; for StatusSubmitting ErrFatal,
// ErrClosed once there is an outcome, ErrReject.
func (r *Registry) Operation(at time.Duration, report OperationReport) (Effects, error) {
	return r.evidence(&evidence{at: at, kind: evidenceOperation, claim: report.Claim, status: report.Status})
}

// Report passes on a RESULT of a peer (receive side). Errors:
// ErrInvalidArgument, ErrStale, ErrConflict; ErrReject where From is not the
// accessor that the claim names.
func (r *Registry) Report(at time.Duration, report PeerReport) (Effects, error) {
	return r.evidence(&evidence{at: at, kind: evidenceReport, claim: report.Claim, from: Member{Accessor: report.From}, result: report.Evidence})
}

// Ack passes on a SESSION_QUIESCED of a peer (receive side). It is ignored for
// an ACTIVE session. Errors: ErrInvalidArgument, ErrStale; ErrConflict from
// outside of every cohort.
func (r *Registry) Ack(at time.Duration, session SessionName, from Member) (Effects, error) {
	return r.evidence(&evidence{at: at, kind: evidenceAck, session: session, from: from})
}

// Local passes on what happened to a piece's scatter or gather; claim is the
// last name that AddPiece returned. LocalStart asks for permission: nil grants
// it. Errors: ErrInvalidArgument where the piece has no local claim, ErrStale,
// ErrConflict; for LocalStart ErrFatal and ErrReject.
func (r *Registry) Local(at time.Duration, claim ClaimName, event LocalEvent) (Effects, error) {
	return r.evidence(&evidence{at: at, kind: evidenceLocal, claim: claim, local: event})
}

// Fence applies outside proof to every claim of an accessor that the scope
// reaches, in all sessions, and ends their names: later evidence under them is
// stale. Pieces that are added later are not touched by it. It may lift a
// quarantine. Errors: ErrInvalidArgument.
func (r *Registry) Fence(at time.Duration, spec FenceSpec) (Effects, error) {
	return r.evidence(&evidence{at: at, kind: evidenceFence, from: Member{Accessor: spec.Accessor, Incarnation: spec.Incarnation}, scope: spec.Scope})
}

// Gone says that an incarnation of an accessor is known to be gone: a hello with
// a new one, or a lease that ended. It is doubt to its live claims, and later
// reports of it are stale; only Operation and Fence still count. A lost stream
// is no such knowledge. Errors: ErrInvalidArgument.
func (r *Registry) Gone(at time.Duration, accessor Accessor, incarnation Incarnation) (Effects, error) {
	return r.evidence(&evidence{at: at, kind: evidenceGone, from: Member{Accessor: accessor, Incarnation: incarnation}})
}

// Cancel cancels a session, or an attempt of a request that was not admitted
// yet: it is then CANCELLED when it is. It is idempotent. Errors:
// ErrInvalidArgument; ErrCapacity where the tombstones, or the share in them of the
// peer that is behind it, are full: the peer is then not answered, so that it asks
// again.
func (r *Registry) Cancel(at time.Duration, spec CancelSpec) (CancelResult, Effects, error) {
	var result CancelResult
	effects, err := r.call(at, func(c *core) (err error) {
		if t := c.tracing(CallCancel); t != nil {
			t.Session, t.Origin, t.From, t.Side = spec.Session, spec.Origin, spec.From, spec.FromSide
		}
		result, err = c.cancel(spec)
		return err
	})
	return result, effects, err
}

// Requested says that a peer's REQUEST_DATA for a session has arrived (send
// side). It is kept until the session is admitted, and answered at once where
// the session holds nothing and never will (contract §8; Refuses says which). Errors:
// ErrInvalidArgument; ErrCapacity where the table of kept requests, or the peer's share, is full: the
// request is dropped and the peer asks again.
func (r *Registry) Requested(at time.Duration, session SessionName, from Member) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallRequested); t != nil {
			t.Session, t.From = session, from
		}
		return c.requested(session, from)
	})
}

// Fail makes a session FAILED with the caller's reason as its cause. On a
// session with an outcome it changes nothing. Errors: ErrInvalidArgument for an
// empty reason, ErrStale.
func (r *Registry) Fail(at time.Duration, session SessionName, reason Cause) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallFail); t != nil {
			t.Session, t.Reason = session, reason
		}
		return c.failSession(session, reason)
	})
}

// FailPiece makes a piece, and so its session, FAILED. Otherwise like Fail.
func (r *Registry) FailPiece(at time.Duration, piece PieceName, reason Cause) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallFailPiece); t != nil {
			t.Pieces, t.Reason = []PieceName{piece}, reason
		}
		return c.failPiece(piece, reason)
	})
}

// Complete says that no more pieces come. On a session that is complete or has
// an outcome it changes nothing. Errors: ErrInvalidArgument, ErrStale;
// ErrReject while the session has no piece or a gate is OPEN.
func (r *Registry) Complete(at time.Duration, session SessionName) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallComplete); t != nil {
			t.Session = session
		}
		return c.complete(session)
	})
}

// Close releases a session and all of its pieces. Closing a closed session is
// fine. Errors: ErrInvalidArgument, ErrStale, ErrFatal; ErrRefused, with a list
// of what is in the way, while it is ACTIVE or an owner is not drained.
func (r *Registry) Close(at time.Duration, session SessionName) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallClose); t != nil {
			t.Session = session
		}
		return c.close(session)
	})
}

// Stop shuts the registry down: nothing new is admitted, every ACTIVE session
// is CANCELLED with cause shutdown, and if everything is drained and no report
// waits, all is released. Otherwise everything is kept, the error is ErrRefused
// with a list of what is retained and why, and Stop may be called again. After
// a successful Stop it does nothing. Errors: ErrFatal, ErrRefused.
func (r *Registry) Stop(at time.Duration) (Effects, error) {
	return r.call(at, func(c *core) error { c.tracing(CallStop); return c.stop() })
}

// Reopen lifts a quarantine on an operator's word. When admission is OPEN it
// does nothing. Errors: ErrFatal, ErrClosed.
func (r *Registry) Reopen(at time.Duration) (Effects, error) {
	return r.call(at, func(c *core) error { c.tracing(CallReopen); return c.reopen() })
}

// Watermark says that every request that endpoint created with a number below
// is over for good. It never goes back. Errors: ErrInvalidArgument, ErrFatal.
func (r *Registry) Watermark(at time.Duration, endpoint string, below uint64) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallWatermark); t != nil {
			t.Endpoint, t.Number = endpoint, below
		}
		return c.setWatermark(endpoint, below)
	})
}

// Tick judges the deadlines up to at, after all evidence that has arrived was
// applied under its own time. NextDeadline says when it is due.
func (r *Registry) Tick(at time.Duration) (Effects, error) {
	return r.call(at, func(c *core) error { c.tracing(CallTick); return nil })
}

// NextDeadline returns the earliest deadline that a Tick would judge, and
// whether there is one. Any call may change it.
func (r *Registry) NextDeadline() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.deadlines.next()
}
