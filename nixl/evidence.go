// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"
	"slices"
)

// Phase is where a request stands when NIXL is asked, or would be.
type Phase uint8

// Phases.
const (
	_ Phase = iota
	// PhaseBuild: the request is being made; there is no handle yet.
	PhaseBuild
	// PhaseUnposted: made, and never accepted by NIXL.
	PhaseUnposted
	// PhaseRunning: posted, and no answer since has ended it.
	PhaseRunning
	// PhaseDone: ended on proof; it may be posted again.
	PhaseDone
	// PhaseFailed: has answered with an error once.
	PhaseFailed
	// PhaseReleased: the handle is gone.
	PhaseReleased
)

var phaseNames = map[Phase]string{
	PhaseBuild: "build", PhaseUnposted: "unposted", PhaseRunning: "running",
	PhaseDone: "done", PhaseFailed: "failed", PhaseReleased: "released",
}

// String is the phase in a word.
func (p Phase) String() string {
	if n, ok := phaseNames[p]; ok {
		return n
	}
	return fmt.Sprintf("invalid phase %d", uint8(p))
}

// Evidence is one row of what NIXL's answers prove: what a call means that is
// made in a phase and answers one of the codes.
type Evidence struct {
	Call  string // C function, without its prefix nixl_capi_
	Phase Phase
	Codes []Code // nil: every code that no row above has for this call and phase
	// OnlyUCX: the row is about UCX; another plugin's answer is the next row's.
	OnlyUCX bool
	// Refused: the binding answers with Err and NIXL is not asked.
	Refused bool
	Err     error // what the binding's error matches; nil: NIXL's own, or none
	// Status is what the request is from then on.
	Status Status
	// Own and Peer say whose memory nobody touches any more through the request.
	Own, Peer bool
	Why       string
	Test      string // the test that brings the real library, or the fake, there
}

// Evidences is the whole table. Nothing that is not in it proves anything.
func Evidences() []Evidence { return slices.Clone(evidence) }

const (
	// The fake answers what no real library can be brought to, in every row.
	onFake   = "TestEvidence"
	onStop   = "TestNothingIsLetGoInFlight"
	onDeath  = "TestDeadPeerIsNoProof"
	onForget = "TestFirstPostToForgottenPeerQueuesNothing"
	onRaw    = "TestReleaseInFlightStopsNothing"
	onMove   = "TestMovesBytesBetweenAgents"
)

var (
	yes     = []Code{CodeSuccess}
	running = []Code{CodeInProgress}
	unknown = []Code{CodeNotFound}
)

var evidence = []Evidence{
	{Call: "prep_xfer_dlist", Phase: PhaseBuild, Codes: yes, Status: StatusNotSubmitted, Own: true, Peer: true,
		Why: "a list submits nothing", Test: "TestPreparedListsByIndexAndAgain"},
	{Call: "prep_xfer_dlist", Phase: PhaseBuild, Status: StatusNotSubmitted, Own: true, Peer: true,
		Why: "nothing was submitted", Test: onFake},
	{Call: "create_xfer_req", Phase: PhaseBuild, Codes: yes, Status: StatusNotSubmitted, Own: true, Peer: true,
		Why: "a request submits nothing before its post", Test: onMove},
	{Call: "create_xfer_req", Phase: PhaseBuild, Status: StatusNotSubmitted, Own: true, Peer: true,
		Why: "nothing was submitted", Test: onFake},
	{Call: "make_xfer_req", Phase: PhaseBuild, Codes: yes, Status: StatusNotSubmitted, Own: true, Peer: true,
		Why: "a request submits nothing before its post", Test: "TestPreparedListsByIndexAndAgain"},
	{Call: "make_xfer_req", Phase: PhaseBuild, Status: StatusNotSubmitted, Own: true, Peer: true,
		Why: "nothing was submitted", Test: onFake},

	{Call: "post_xfer_req", Phase: PhaseUnposted, Codes: yes, Status: StatusDone, Own: true, Peer: true,
		Why: "never seen before the bytes were in place", Test: onMove},
	{Call: "post_xfer_req", Phase: PhaseUnposted, Codes: running, Status: StatusInProgress,
		Why: "it runs, for ever while the peer stands still", Test: onStop},
	{Call: "post_xfer_req", Phase: PhaseUnposted, Codes: unknown, OnlyUCX: true, Status: StatusNotSubmitted, Own: true, Peer: true,
		Why: "the peer is looked up first, and UCX gives this code nowhere on the way", Test: onForget},
	{Call: "post_xfer_req", Phase: PhaseUnposted, Status: StatusFailed,
		Why: "the peer may be gone, or part of it was queued before the error", Test: onFake},
	{Call: "post_xfer_req", Phase: PhaseDone, Codes: yes, Status: StatusDone, Own: true, Peer: true,
		Why: "as the first time", Test: "TestPreparedListsByIndexAndAgain"},
	{Call: "post_xfer_req", Phase: PhaseDone, Codes: running, Status: StatusInProgress,
		Why: "as the first time", Test: "TestPreparedListsByIndexAndAgain"},
	{Call: "post_xfer_req", Phase: PhaseDone, Status: StatusFailed,
		Why: "not even an unknown peer: an earlier post of the handle may still run", Test: onFake},
	{Call: "post_xfer_req", Phase: PhaseRunning, Refused: true, Err: ErrInFlight, Status: StatusInProgress,
		Why: "NIXL's own error would look like a failure of the first", Test: onStop},
	{Call: "post_xfer_req", Phase: PhaseFailed, Refused: true, Err: ErrFailed, Status: StatusFailed,
		Why: "what became of it is not known", Test: onFake},
	{Call: "post_xfer_req", Phase: PhaseReleased, Refused: true, Err: ErrClosed, Own: true, Peer: true,
		Why: "the handle is freed memory; nothing is released before its end", Test: onFake},

	{Call: "get_xfer_status", Phase: PhaseRunning, Codes: yes, Status: StatusDone, Own: true, Peer: true,
		Why: "never seen before the bytes were in place; a stopped peer holds it back", Test: onStop},
	{Call: "get_xfer_status", Phase: PhaseRunning, Codes: running, Status: StatusInProgress,
		Why: "no time ends it", Test: onStop},
	{Call: "get_xfer_status", Phase: PhaseRunning, Status: StatusFailed,
		Why:  "2 MiB landed after the error; with the peer's metadata gone all of it went on",
		Test: onDeath},
	{Call: "get_xfer_status", Phase: PhaseUnposted, Refused: true, Err: ErrNotPosted, Status: StatusNotSubmitted, Own: true, Peer: true,
		Why: "nothing was submitted; NIXL would answer as of a broken transfer", Test: "TestStatusBeforePostLooksLikeFailure"},
	{Call: "get_xfer_status", Phase: PhaseDone, Refused: true, Status: StatusDone, Own: true, Peer: true,
		Why: "what is over stays over", Test: onFake},
	{Call: "get_xfer_status", Phase: PhaseFailed, Refused: true, Err: ErrBackend, Status: StatusFailed,
		Why: "some versions say success later, of a transfer nobody followed", Test: onDeath},
	{Call: "get_xfer_status", Phase: PhaseReleased, Refused: true, Err: ErrClosed, Own: true, Peer: true,
		Why: "NIXL would read freed memory; nothing is released before its end", Test: onFake},

	{Call: "release_xfer_req", Phase: PhaseUnposted, Codes: yes, Own: true, Peer: true,
		Why: "nothing was ever submitted", Test: "TestStatusBeforePostLooksLikeFailure"},
	{Call: "release_xfer_req", Phase: PhaseUnposted, Status: StatusNotSubmitted, Own: true, Peer: true,
		Why: "nothing was ever submitted, and the handle stays", Test: onFake},
	{Call: "release_xfer_req", Phase: PhaseDone, Codes: yes, Own: true, Peer: true,
		Why: "it had ended", Test: onMove},
	{Call: "release_xfer_req", Phase: PhaseDone, Status: StatusDone, Own: true, Peer: true,
		Why: "it had ended, and the handle stays", Test: onFake},
	{Call: "release_xfer_req", Phase: PhaseRunning, Refused: true, Err: ErrInFlight, Status: StatusInProgress,
		Why: "NIXL answers success and stops nothing: all reused bytes were sent, 20 of 20", Test: onRaw},
	{Call: "release_xfer_req", Phase: PhaseFailed, Refused: true, Err: ErrInFlight, Status: StatusFailed,
		Why: "the same", Test: onDeath},

	{Call: "deregister_mem", Phase: PhaseRunning, Refused: true, Err: ErrInFlight, Status: StatusInProgress,
		Why: "NIXL answers success and the transfer goes on", Test: onFake},
	{Call: "deregister_mem", Phase: PhaseFailed, Refused: true, Err: ErrInFlight, Status: StatusFailed,
		Why: "it may go on", Test: onFake},
	{Call: "deregister_mem", Phase: PhaseDone, Codes: yes, Status: StatusDone, Own: true, Peer: true,
		Why: "the request had ended; peers with the metadata still reach the memory", Test: onMove},
	{Call: "deregister_mem", Phase: PhaseDone, Status: StatusDone, Own: true, Peer: true,
		Why: "the request had ended; the memory stays registered", Test: onFake},
	{Call: "invalidate_remote_md", Phase: PhaseRunning, Refused: true, Err: ErrInFlight, Status: StatusInProgress,
		Why: "NIXL answers success, the transfer goes on, and its status is an error for good", Test: onStop},
	{Call: "invalidate_remote_md", Phase: PhaseFailed, Refused: true, Err: ErrInFlight, Status: StatusFailed,
		Why: "it may go on", Test: onFake},
	{Call: "invalidate_remote_md", Phase: PhaseDone, Codes: yes, Status: StatusDone, Own: true, Peer: true,
		Why: "the request had ended", Test: onStop},
	{Call: "invalidate_remote_md", Phase: PhaseDone, Status: StatusDone, Own: true, Peer: true,
		Why: "the request had ended; the peer stays known", Test: onFake},

	{Call: "destroy_agent", Phase: PhaseRunning, Codes: yes, Own: true,
		Why: "with no call running: 0 of 38 sent or landed a reused byte; 2 MiB of old ones still land at the peer", Test: onFake},
	{Call: "destroy_agent", Phase: PhaseRunning, Status: StatusInProgress,
		Why: "the agent may live", Test: onFake},
	{Call: "destroy_agent", Phase: PhaseFailed, Codes: yes, Own: true,
		Why: "the same: the fence is what a failed request can end by here", Test: onDeath},
	{Call: "destroy_agent", Phase: PhaseFailed, Status: StatusFailed,
		Why: "the agent may live", Test: onFake},
	{Call: "get_notifs", Phase: PhaseRunning, Status: StatusInProgress,
		Why: "a notification speaks of the peer's requests: 0 of 400 came before all bytes; of ours it says nothing", Test: onFake},
}
