// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

// The two calls that speak about a posted transfer.
const (
	callPost   = "post_xfer_req"
	callStatus = "get_xfer_status"
)

// answers is what each code of a call says about the transfer. A code that is
// not here, from a version to come, is StatusFailed as well: nothing but
// success itself is ever taken for an end.
//
// Of the errors of a post only CodeNotFound can be better, see [unsubmitted].
// CodeBackend of a post can mean that a first post still runs, that the peer
// is gone, or that UCX failed after part of it was queued; of a status, that
// the connection broke while bytes were in a socket's buffer: they landed at
// the peer after the error, in 20 of 20 runs.
var answers = map[string]map[Code]Status{
	callPost: {
		CodeSuccess:      StatusDone,
		CodeInProgress:   StatusInProgress,
		CodeInvalidParam: StatusFailed,
		CodeBackend:      StatusFailed,
		CodeInvalidState: StatusFailed,
		CodeException:    StatusFailed,
		CodeNoTelemetry:  StatusFailed,
		CodeNotFound:     StatusFailed,
	},
	callStatus: {
		CodeSuccess:      StatusDone,
		CodeInProgress:   StatusInProgress,
		CodeInvalidParam: StatusFailed,
		CodeBackend:      StatusFailed,
		CodeInvalidState: StatusFailed,
		CodeException:    StatusFailed,
		CodeNoTelemetry:  StatusFailed,
		CodeNotFound:     StatusFailed, // the peer's metadata went away; the bytes go on
	},
}

// statusOf looks an answer up.
func statusOf(call string, code Code) Status {
	if s, ok := answers[call][code]; ok {
		return s
	}
	return StatusFailed
}

// unsubmitted reports whether the answer to a post proves that it queued
// nothing and nothing was queued before: NIXL looks the peer up before
// anything else and answers CodeNotFound when its metadata is gone or was
// replaced, and UCX gives this code nowhere on the way. Of another plugin that
// is not known, and an earlier post of the handle may still run.
func unsubmitted(code Code, first, ucx bool) bool {
	return code == CodeNotFound && first && ucx
}
