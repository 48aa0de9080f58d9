// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsm_test

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/claim"
)

// A claim is offered what the accessor reports; each offer has its own result.
func Example() {
	var c claim.Machine
	for _, e := range []claim.Event{claim.Publish, claim.Publish, claim.Doubt, claim.DoneFailed, claim.DoneOK, claim.Settle} {
		before := c.State()
		state, result := c.Offer(e)
		fmt.Printf("%v: %v, %v\n", e, result, state)
		if result.Refused() {
			fmt.Println("  ", claim.Refusal(before, e))
		}
	}
	fmt.Println("reusable:", c.State().Reusable())
	// Output:
	// publish: moved, PUBLISHED
	// publish: duplicate, PUBLISHED
	// doubt: moved, IN_DOUBT
	// done_failed: ignored, IN_DOUBT
	// done_ok: conflict, IN_DOUBT
	//    fsm: claim: event done_ok in state IN_DOUBT: conflict: an ordinary result after the doubt contradicts it
	// settle: moved, FAILED_QUIESCED
	// reusable: true
}

// Refusals are static values that errors.Is and errors.As take apart.
func ExampleRefusedError() {
	err := claim.Refusal(claim.Drained, claim.Publish)
	var refused *fsm.RefusedError
	fmt.Println(errors.Is(err, fsm.ErrRejected), errors.Is(err, fsm.ErrConflict))
	fmt.Println(errors.As(err, &refused), refused.State, refused.Event, refused.Reason)
	// Output:
	// true false
	// true DRAINED publish the claim has ended
}
