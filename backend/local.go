// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backend

// Local is one local accessor: a gather that collects scattered blocks into a
// send buffer, or a scatter that distributes what was received. It is a claim
// of its own on the memory it reads or writes (contract section 4), and its
// statuses are read like those of an [Operation]: only Done is proof, and after
// an Error nothing that it says later is (a fence is).
//
// Start is called once; Poll and Release may be called from any goroutine, but
// not at the same time as another call on the same Local.
type Local interface {
	// Start submits the copy. It may block for as long as the copy takes. The
	// status is Submitted, Done, NotSubmitted or Error.
	Start() Observation
	// Poll asks for its state: InProgress, Done, Error or Lost.
	Poll() Observation
	// Release frees what the copy holds; ErrInFlight unless it was never
	// started, was NotSubmitted, or has answered Done.
	Release() error
}
