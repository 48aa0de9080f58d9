// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"

	"github.com/kvxfer/kvxfer/ownership"
)

// Admission returns what is taken in now, and a channel that is closed when
// that changes next. Both belong together: a change after the state was read is
// never missed.
//
// QUARANTINED means that a claim went into doubt (contract section 7). New
// sessions and pieces are refused with ownership.ErrClosed, all of them or,
// with ownership.QuarantineAccessor, those that name an accessor in doubt; what
// was admitted before goes on, and peers see nothing. What to do then:
//
//  1. Send new work elsewhere, or hold it back: a refused Receive or
//     Request.Send owns nothing and may be tried again. [Endpoint.WaitAdmission]
//     waits.
//  2. Find out why: [Endpoint.Explain] says who is in doubt, since when, and
//     what proof would end it.
//  3. Lift it by proof with [Endpoint.Fence], or by an operator's decision with
//     [Endpoint.Reopen]. Late proof alone frees the memory and does not lift it.
//
// From CLOSED and FATAL nothing comes back.
func (e *Endpoint) Admission() (now ownership.Admission, changed <-chan struct{}) {
	changed = e.admission.wait()
	return e.registry.Admission(), changed
}

// WaitAdmission waits until admission is OPEN. It returns nil then; the
// context's error if that ends first; an error that matches ownership.ErrClosed
// or ownership.ErrFatal once it never will be; ErrHalted after Halt. Another
// doubt may close admission again before the caller's next call, so that call's
// own error is what counts.
func (e *Endpoint) WaitAdmission(ctx context.Context) error {
	for {
		now, changed := e.Admission()
		switch now {
		case ownership.AdmissionOpen:
			if e.calls.closed() == nil { // not while it reincarnates
				return nil
			}
		case ownership.AdmissionClosed:
			return &ownership.Error{Kind: ownership.KindClosed, What: "endpoint " + e.config.Name, Why: "was told to stop"}
		case ownership.AdmissionFatal:
			return &ownership.Error{Kind: ownership.KindFatal, What: "endpoint " + e.config.Name, Why: "a grace deadline passed without proof"}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return &Error{What: "admission of " + e.config.Name, Kind: ctx.Err()}
		case <-e.fatal: // known before the containment callback has returned
		case <-e.ctx.Done():
			return &Error{What: "admission of " + e.config.Name, Kind: ErrHalted}
		}
	}
}
