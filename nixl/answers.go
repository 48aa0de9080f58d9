// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

// call is one of the two calls that speak about a posted transfer.
type call uint8

const (
	callPost   call = iota // a first post through UCX
	callPlugin             // a first post through another plugin, or through one that NIXL chose
	callRepost             // a post after the request was done
	callStatus             // a question about a request that runs
	callsOfRequest
)

// String is the C function's name, without its prefix.
func (c call) String() string {
	if c == callStatus {
		return "get_xfer_status"
	}
	return "post_xfer_req"
}

// matches reports whether a row of the table is about the call.
func (c call) matches(e *Evidence) bool {
	phase := map[call]Phase{
		callPost: PhaseUnposted, callPlugin: PhaseUnposted, callRepost: PhaseDone, callStatus: PhaseRunning,
	}[c]
	return e.Call == c.String() && e.Phase == phase && !e.Refused && (!e.OnlyUCX || c == callPost)
}

// answers is the table in the shape that a poll needs: a row for each code from
// CodeInProgress downwards. A code that is not in the table, of a version to
// come, is StatusFailed as well: nothing but success itself is taken for an end.
var answers = tabulate()

type codes [int(CodeInProgress-CodeNotFound) + 1]Status

func tabulate() (t [callsOfRequest]codes) {
	for c := range t {
		for i := range t[c] {
			t[c][i] = meaning(call(c), CodeInProgress-Code(i))
		}
	}
	return t
}

func meaning(c call, code Code) Status {
	for i := range evidence {
		e := &evidence[i]
		if c.matches(e) && e.covers(code) {
			return e.Status
		}
	}
	return StatusFailed
}

func (e *Evidence) covers(code Code) bool {
	if e.Codes == nil {
		return true
	}
	for _, c := range e.Codes {
		if c == code {
			return true
		}
	}
	return false
}

// statusOf looks an answer up. It is on the path of every poll.
func statusOf(c call, code Code) Status {
	row := int(CodeInProgress) - int(code)
	if row < 0 || row >= len(codes{}) {
		return StatusFailed
	}
	return answers[c][row]
}
