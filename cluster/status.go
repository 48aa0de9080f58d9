// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
)

// Standing says how a rank stands with the store. The zero value is none.
type Standing uint8

// The standings. Nothing retires while a rank hears nothing of the store, and
// nothing of it retires elsewhere while it can write nothing.
const (
	// Joining: no incarnation of this process is registered at the moment.
	Joining Standing = iota + 1
	// Live: registered, and the store answers.
	Live
	// CutOff: the store is out of reach. Statements wait.
	CutOff
	// Full: the store takes no writes until somebody makes room. Statements wait.
	Full
	// Replaced: another process has taken this rank's place. It stays so.
	Replaced
	// Closed: the rank was closed.
	Closed
)

var standingNames = [...]string{"", "JOINING", "LIVE", "CUT_OFF", "FULL", "REPLACED", "CLOSED"}

// String returns the standing's name, such as "CUT_OFF".
func (s Standing) String() string {
	if s > 0 && int(s) < len(standingNames) {
		return standingNames[s]
	}
	return fmt.Sprintf("Standing(%d)", uint8(s))
}

// Status is a rank's standing with the store, and the error that it comes from.
type Status struct {
	Standing Standing
	Err      error // nil for Live
}

// Status returns how the rank stands with the store now.
func (r *Rank) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

func (r *Rank) setStatus(s Standing, err error) {
	r.mu.Lock()
	changed := r.status.Standing != s && r.status.Standing != Closed
	if r.status.Standing != Closed {
		r.status = Status{s, err}
	}
	now := r.status
	r.mu.Unlock()
	if changed && r.config.OnStatus != nil {
		r.config.OnStatus(now)
	}
}

// failed takes in an error of the store.
func (r *Rank) failed(err error) {
	switch {
	case r.ctx.Err() != nil:
	case errors.Is(err, ErrFull):
		r.setStatus(Full, err)
	default:
		r.setStatus(CutOff, err)
	}
}
