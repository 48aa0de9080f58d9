// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

// call is one of the two calls that speak about a posted transfer.
type call uint8

const (
	_ call = iota
	callPost
	callStatus
)

// String is the C function's name, without its prefix.
func (c call) String() string {
	if c == callPost {
		return "post_xfer_req"
	}
	return "get_xfer_status"
}

// answer is what one code says about the transfer, by the call that gave it.
type answer struct{ post, status Status }

// answers has a row for each code, from CodeInProgress downwards. A code that
// is not here, from a version to come, is StatusFailed as well: nothing but
// success itself is ever taken for an end.
//
// Of the errors of a post only CodeNotFound can be better, see [unsubmitted].
// CodeBackend of a post can mean that a first post still runs, that the peer
// is gone, or that UCX failed after part of it was queued; of a status, that
// the connection broke while bytes were in a socket's buffer: they landed at
// the peer after the error, in 20 of 20 runs. After CodeNotFound of a status,
// the peer's metadata having gone away, the bytes go on as well.
var answers = [...]answer{
	0:                                 {StatusInProgress, StatusInProgress}, // CodeInProgress
	CodeInProgress - CodeSuccess:      {StatusDone, StatusDone},
	CodeInProgress - CodeInvalidParam: {StatusFailed, StatusFailed},
	CodeInProgress - CodeBackend:      {StatusFailed, StatusFailed},
	CodeInProgress - CodeInvalidState: {StatusFailed, StatusFailed},
	CodeInProgress - CodeException:    {StatusFailed, StatusFailed},
	CodeInProgress - CodeNoTelemetry:  {StatusFailed, StatusFailed},
	CodeInProgress - CodeNotFound:     {StatusFailed, StatusFailed},
}

// statusOf looks an answer up. It is on the path of every poll.
func statusOf(c call, code Code) Status {
	row := int(CodeInProgress) - int(code)
	if row < 0 || row >= len(answers) {
		return StatusFailed
	}
	if c == callPost {
		return answers[row].post
	}
	return answers[row].status
}

// unsubmitted reports whether the answer to a post proves that it queued
// nothing and nothing was queued before: NIXL looks the peer up before
// anything else and answers CodeNotFound when its metadata is gone or was
// replaced, and UCX gives this code nowhere on the way. Of another plugin that
// is not known, and an earlier post of the handle may still run.
func unsubmitted(code Code, first, ucx bool) bool {
	return code == CodeNotFound && first && ucx
}
