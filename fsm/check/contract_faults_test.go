// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

var contractFaults = map[string][]fault{
	"receive": receiveFaults,
}

var receiveFaults = []fault{
	{finds: "I1", old: "outcome == ACTIVE || !settled", new: "outcome == ACTIVE || invalid"},
	{finds: "I1_truth", old: "outcome == ACTIVE || !settled", new: "outcome == ACTIVE || invalid"},
	{finds: "I1_reusable", old: "if outcome == ACTIVE || gate == PUBLISHING", new: "if outcome == ACTIVE"},
	{finds: "I1_reusable", file: "claim.yaml", old: `acked: {ignore: a statement about the session does not settle an operation in doubt}`, new: "acked: FAILED_QUIESCED"},
	{finds: "I1_local", old: `assume: "scatter == OVER`, new: `assume: "scatter != OUT`},
	{finds: "I2", file: "claim.yaml", old: "fence: SAFE_UNPUBLISHED", new: "fence: PUBLISHED"},
	{finds: "I2_aborted", old: "if claims[a] == UNPUBLISHED", new: "if claims[a] == UNPUBLISHED && has_local"},
	{finds: "I2_local", old: "outcome == ACTIVE && answered", new: "outcome == ACTIVE"},
	{finds: "I2_scatter", old: "      truth[a] == OVER || says", new: "      truth[a] != OUT || says"},
	{finds: "I3", file: "outcome.yaml", old: "cancel: {ignore: the first answer stands}", new: "cancel: CANCELLED", after: "FAILED:\n    succeed"},
	{finds: "I4", old: "gate == SEALED && !invalid && answered", new: "!invalid && answered"},
	{finds: "I4_truth", old: "      truth[a] == OVER || says", new: "      truth[a] != OUT || says"},
	{finds: "I5", old: "claims[a] == DRAINED && verdicts[a] == OK\"\n  counts(a accessors): \"claims[a] == DRAINED || late[a]", new: "claims[a].reusable && verdicts[a] != FAILED\"\n  counts(a accessors): \"in(claims[a], DRAINED, FAILED_QUIESCED)"},
	{finds: "I6", old: `do: "shut(how)"`, new: "do: |\n      for a := range accessors {\n        if claims[a] == PUBLISHED { offer(claims[a], acked) }\n      }\n      shut(how)"},
	{finds: "I7", old: "!invalid && gate.shut", new: "gate.shut"},
	{finds: "I7_latch", old: "give(a, fence, FENCE)", new: "give(a, fence, FENCE)\n      invalid = false"},
	{finds: "I8", old: `{kind: stale, when: released, why: the piece is not owned}`, new: `{kind: stale, when: "false", why: the piece is not owned}`, after: "outsider:\n"},
	{finds: "I9_release", old: `{kind: fatal, when: fatal, why: nothing retires once the registry is FATAL}`, new: `{kind: fatal, when: "fatal && invalid", why: nothing retires once the registry is FATAL}`},
	{finds: "I9_seal", old: `{kind: fatal, when: fatal, why: nothing new begins once the registry is FATAL}`, new: `{kind: fatal, when: "false", why: nothing new begins once the registry is FATAL}`},
	{finds: "I9_scatter", old: `{kind: fatal, when: fatal, why: nothing new begins once the registry is FATAL}`, new: `{kind: fatal, when: "false", why: nothing new begins once the registry is FATAL}`, after: "local_start(fatal bool):\n"},
	{finds: "I11", old: `"released || fenced[a]"`, new: "released"},
	{finds: "I11_ack", old: `why: its name has ended}`, new: `why: its name has ended, do: "late[a] = true"}`, after: "acknowledge(a accessors):\n"},

	{finds: "failed_at_once", old: "any(a, accessors, counts(a) && !delivered(a)) ||", new: "", after: "hopeless: |"},
	{finds: "succeeded_at_once", old: "react(REPORT)", new: "", after: "finish:\n"},
	{finds: "selection", old: "if counting >= need", new: "if outcome == ACTIVE && counting >= need"},
	{finds: "conflict_fails", old: "    fails(CONFLICT, who)", new: "    emit(session_failed, CONFLICT, who)"},
	{finds: "doubt_fails", old: "if e == doubt { fails(DOUBT, trigger.origin(by)) }", new: ""},
	{finds: "withdrawn", old: "offer(local, withdraw)", new: "emit(repeated)"},
	{finds: "verdict_kept", file: "verdict.yaml", old: "done_failed: {conflict: the accessor said before that it was delivered}", new: "done_failed: FAILED"},
	{finds: "late_proof", old: "if e == settle", new: "if e == doubt"},
	{finds: "sealed", old: "if claims[a] == UNPUBLISHED", new: "if claims[a] == UNPUBLISHED && has_local", after: "seal(fatal bool, closed bool):"},
	{finds: "finished", file: "gate.yaml", old: "finish: SEALED", new: "finish: {ignore: not yet}"},
	{finds: "unpublished_excluded", old: "if !has(published, a) && !fenced[a] && claims[a] == PUBLISHED", new: "if !has(published, a) && !fenced[a] && claims[a] == PUBLISHED && has_local"},
	{finds: "fan_out_contradicted", file: "claim.yaml", old: "unexposed: {conflict: access was possible already}", new: "unexposed: FAILED_QUIESCED", after: "IN_DOUBT:\n    publish"},
	{finds: "doubted", file: "claim.yaml", old: `doubt: {IN_DOUBT: "disputed proof takes reuse back, as long as the owner is not released"}`, new: "doubt: {ignore: the result stands}"},
	{finds: "delivered_ok", file: "claim.yaml", old: "done_failed: DRAINED", new: "done_failed: IN_DOUBT"},
	{finds: "proven", file: "claim.yaml", old: "settle: FAILED_QUIESCED", new: "settle: {ignore: not yet}"},
	{finds: "latched", file: "claim.yaml", old: "done_ok: {conflict: an ordinary result after the doubt contradicts it}", new: "done_ok: DRAINED"},
	{finds: "outsider_latched", old: `do: "latch(trigger.origin(REPORT))"`, new: `do: "emit(ignored_one)"`, after: "outsider:\n"},
	{finds: "acknowledged", file: "claim.yaml", old: "acked: FAILED_QUIESCED", new: "acked: {ignore: not a proof}"},
	{finds: "acknowledged_early", old: "if outcome == ACTIVE || gate == PUBLISHING", new: "if gate == PUBLISHING"},
	{finds: "fence_ends", file: "claim.yaml", old: "fence: FAILED_QUIESCED", new: "fence: {ignore: not a proof}"},
	{finds: "lost", old: "if claims[a].live {", new: "if claims[a] == IN_DOUBT {", after: "gone(a accessors):\n"},
	{finds: "local_settled", old: "if local == IN_DOUBT { give_local(settle, LOCAL) }", new: "if local == IN_DOUBT { give_local(done_failed, LOCAL) }"},
	{finds: "local_doubted", old: `do: "give_local(doubt, LOCAL)"`, new: `do: "if local == PUBLISHED { give_local(doubt, LOCAL) }"`},
	{finds: "local_fenced", old: "local_ended = true", new: "local_ended = false"},
	{finds: "I15", old: "would(claims[a], e) == moved {\n      emit(claim_moved, a, e, claims[a])\n      offer(claims[a], e)", new: "would(claims[a], e) == moved && e != settle {\n      emit(claim_moved, a, e, claims[a])\n      offer(claims[a], e)"},
}
