// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/verdict"
	"github.com/kvxfer/kvxfer/ownership"
)

// words returns the names of values, as files write them.
func words[T interface{ String() string }](values ...T) map[string]T {
	m := make(map[string]T, len(values))
	for _, v := range values {
		m[v.String()] = v
	}
	return m
}

var (
	sides     = words(ownership.Receive, ownership.Send)
	origins   = words(ownership.FromLocal, ownership.FromPeer)
	evidences = words(ownership.OK, ownership.Failed, ownership.InDoubt, ownership.FailedQuiesced)
	locals    = words(ownership.LocalStart, ownership.LocalDone, ownership.LocalDoubt)
	scopes    = words(ownership.Own, ownership.Passive, ownership.All)
	statuses  = words(operation.AllStatuses()...)
	kinds     = words(
		ownership.KindInvalid, ownership.KindStale, ownership.KindFatal, ownership.KindClosed,
		ownership.KindConflict, ownership.KindReject, ownership.KindRefused, ownership.KindCapacity,
	)
	quarantines = words(ownership.QuarantineEndpoint, ownership.QuarantineAccessor, ownership.QuarantineOff)
	transports  = map[string]bool{"auto": false, "manual": true}
	failing     = map[string]bool{"fails": true}
	results     = map[string]bool{"ok": true, "failed": false}
	registries  = map[string]bool{"registry": true}
	expirable   = map[string]bool{"metadata": true}
	accesses    = map[string]ownership.Access{"writes": ownership.Writes, "reads": ownership.Reads}
	pieceKinds  = map[string]string{"kv": "kv", "aux": "aux"}
	callKinds   = map[string]string{"submit": "submit", "wait": "wait", "query": "query", "send": "send"}

	claimStates   = words(claim.AllStates()...)
	verdictStates = words(verdict.AllStates()...)
	gateStates    = words(gate.AllStates()...)
	outcomeStates = words(outcome.AllStates()...)
	physicals     = words(ownership.PhysicalInDoubt, ownership.PhysicalDraining, ownership.PhysicalRetired)
	admissions    = words(ownership.AdmissionOpen, ownership.AdmissionQuarantined, ownership.AdmissionClosed, ownership.AdmissionFatal)
	allOrigins    = words(ownership.NoOrigin, ownership.FromLocal, ownership.FromPeer, ownership.FromTimeout)
	labels        = map[string]bool{"OK": true, "FAILED": true, "IN_DOUBT": true, "FAILED_QUIESCED": true, "SESSION_QUIESCED": true, "CANCEL_SESSION": true}
)
