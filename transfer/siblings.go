// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"maps"
	"slices"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// A request may live on several ranks, each with an endpoint of its own. Which of them
// has drained is no evidence about our claims, and the registry has no part in it: it
// decides what is proven here, and this file only withholds the close that the other
// ranks have not allowed yet (contract section 9, I14).

// heldBack returns why the session may not be closed yet for other ranks' sake, and what
// is closed when it may; nil, nil otherwise.
func (s *Session) heldBack() (<-chan struct{}, error) {
	if s.retired == nil {
		return nil, nil
	}
	select {
	case <-s.retired:
		return nil, nil
	case <-s.endpoint.fatal: // graver, and nothing is given back any more
		return nil, nil
	default:
		return s.retired, &ownership.Error{Kind: ownership.KindRefused, What: "session " + s.name.String(), Why: "the other ranks of its request have not retired it"}
	}
}

// heldBack returns why a session may not be closed yet for other ranks' sake, as
// Session.heldBack does, and ends all that still goes on where there is one, as the
// registry does where there is none. No session is taken in any more.
func (e *Endpoint) heldBack() (retired <-chan struct{}, err error) {
	if e.config.Retired == nil {
		return nil, nil
	}
	e.mu.Lock()
	e.closing = true
	list := slices.Collect(maps.Values(e.sessions))
	e.mu.Unlock()
	for _, s := range list {
		if waits, why := s.heldBack(); why != nil {
			retired, err = waits, why
		}
	}
	if err == nil {
		return nil, nil
	}
	for _, s := range list {
		if s.Answer().Outcome == outcome.Active {
			_, _ = s.Cancel() // an error says that it is over
		}
	}
	return retired, err
}
