// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"errors"
	"time"

	"github.com/kvxfer/kvxfer/nixl"
)

func isInFlight(err error) bool { return errors.Is(err, nixl.ErrInFlight) }
func isFailed(err error) bool   { return errors.Is(err, nixl.ErrFailed) }
func isClosed(err error) bool   { return errors.Is(err, nixl.ErrClosed) }
func isBackend(err error) bool  { return errors.Is(err, nixl.ErrBackend) }

// untilEnd polls a request until it is no longer in progress, at most 30 s.
func untilEnd(q *nixl.Request) (nixl.Status, error) {
	s, err := q.Status()
	for deadline := time.Now().Add(30 * time.Second); s == nixl.StatusInProgress && time.Now().Before(deadline); {
		s, err = q.Status()
	}
	return s, err
}
