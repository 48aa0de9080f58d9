// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "fmt"

// Step is a point in the protocol between which and the next a process may
// end. The zero value is none.
type Step uint8

// The steps, in the order in which a request meets them.
const (
	// BeforeRegister and AfterRegister are around the write that makes an
	// incarnation a member.
	BeforeRegister Step = iota + 1
	AfterRegister
	// AfterOpen: a request was opened here.
	AfterOpen
	// BeforeState and AfterState are around a write of statements.
	BeforeState
	AfterState
	// BeforeApply and AfterApply are around taking in a change of the store.
	BeforeApply
	AfterApply
	// AfterEnd and AfterRetire: the decision was handed to the caller.
	AfterEnd
	AfterRetire
	// BeforeCollect and AfterCollect are around a deletion of what nobody needs.
	BeforeCollect
	AfterCollect
	// BeforeFence and AfterFence are around the write of a fence.
	BeforeFence
	AfterFence
)

var stepNames = [...]string{"", "before-register", "after-register", "after-open", "before-state", "after-state",
	"before-apply", "after-apply", "after-end", "after-retire", "before-collect", "after-collect", "before-fence", "after-fence"}

// Steps returns all steps.
func Steps() []Step {
	all := make([]Step, 0, len(stepNames)-1)
	for s := BeforeRegister; s <= AfterFence; s++ {
		all = append(all, s)
	}
	return all
}

// String returns the step's name, such as "before-state".
func (s Step) String() string {
	if s > 0 && int(s) < len(stepNames) {
		return stepNames[s]
	}
	return fmt.Sprintf("Step(%d)", uint8(s))
}

// ParseStep reads what String wrote.
func ParseStep(name string) (Step, error) {
	for _, s := range Steps() {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("cluster: step %q: %w", name, ErrUnknown)
}

func (r *Rank) step(s Step) {
	if r.config.OnStep != nil {
		r.config.OnStep(s)
	}
}
