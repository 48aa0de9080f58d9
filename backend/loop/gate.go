// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

// Call is a call of a backend that can be held.
type Call uint8

// The calls that Fabric.Hold can hold.
const (
	_ Call = iota
	CallPost
	CallPoll
	CallProgress
)

// String returns the name of the method.
func (c Call) String() string {
	switch c {
	case CallPost:
		return "Post"
	case CallPoll:
		return "Poll"
	case CallProgress:
		return "Progress"
	}
	return "invalid call"
}

// Hold makes every such call of the named agent block before it does anything,
// as a library stuck in a system call does, until release is called, which may
// be done more than once.
func (f *Fabric) Hold(agent string, c Call) (release func(), err error) {
	gate := make(chan struct{})
	var held *Agent
	err = f.with(agent, func(a *Agent) {
		held = a
		if a.gates[c] == nil {
			a.gates[c] = gate
		}
		gate = a.gates[c]
	})
	if err != nil {
		return nil, err
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if held.gates[c] == gate { // not released before
			delete(held.gates, c)
			close(gate)
		}
	}, nil
}

// pass waits while the call is held. It is called without fabric.mu.
func (a *Agent) pass(c Call) {
	a.fabric.mu.Lock()
	gate := a.gates[c]
	a.fabric.mu.Unlock()
	if gate != nil {
		<-gate
	}
}
