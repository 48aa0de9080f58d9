// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import "strconv"

// Cause is a status of NIXL's C++ core. The C interface folds eleven of them
// into [CodeBackend].
type Cause int32

// Causes, with the core's numbers.
const (
	CauseNotPosted Cause = -1 - iota
	CauseInvalidParam
	CauseBackend
	CauseNotFound
	CauseMismatch
	CauseNotAllowed
	CauseRepostActive
	CauseUnknown
	CauseNotSupported
	CauseRemoteDisconnect
	CauseCanceled
	CauseNoTelemetry
)

var causeNames = map[Cause]string{
	CauseNotPosted:        "NOT_POSTED",
	CauseInvalidParam:     "INVALID_PARAM",
	CauseBackend:          "BACKEND",
	CauseNotFound:         "NOT_FOUND",
	CauseMismatch:         "MISMATCH",
	CauseNotAllowed:       "NOT_ALLOWED",
	CauseRepostActive:     "REPOST_ACTIVE",
	CauseUnknown:          "UNKNOWN",
	CauseNotSupported:     "NOT_SUPPORTED",
	CauseRemoteDisconnect: "REMOTE_DISCONNECT",
	CauseCanceled:         "CANCELED",
	CauseNoTelemetry:      "NO_TELEMETRY",
}

// String is the core's own name of the status, without its prefix.
func (c Cause) String() string {
	if n, ok := causeNames[c]; ok {
		return n
	}
	return "status " + strconv.Itoa(int(c))
}
