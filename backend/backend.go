// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package backend is the seam to whatever moves bytes: NIXL, the in-process
// loop, or a user's own transport.
//
// The promise: a backend says what it saw and decides nothing. A [Status] is
// an answer about one operation; whether it proves that memory may be reused
// is decided by spec/operation.yaml and by nobody else (contract section 2).
//
// # What an implementation must do
//
//  1. Answer [Done] only for the exact operation asked about, and only when the
//     hardware can no longer touch the memory of either side through it.
//  2. Answer [NotSubmitted] only when not one byte can ever move by that call.
//  3. Answer [Error] for everything ambiguous. An error is never quiescence.
//  4. Refuse [Operation.Release] and [Backend.Deregister] of anything that may
//     be in flight, with [ErrInFlight], before the library below hears of it.
//  5. Never touch Go-heap memory asynchronously.
//
// # Concurrency
//
// Every method of a Backend may be called from any goroutine. One Operation is
// posted once; Poll of the same operation from two goroutines at once is the
// caller's mistake. No method is ever called under a lock of the ownership
// packages, and Post may block for as long as the copy takes.
package backend

import "errors"

// Errors that callers match with errors.Is; implementations wrap them.
var (
	// ErrInFlight refuses what would let go of an operation that may still be running.
	ErrInFlight = errors.New("backend: operation may still be in flight")
	// ErrClosed is returned by every call after Close has succeeded, and by
	// calls on a handle that was released.
	ErrClosed = errors.New("backend: closed")
	// ErrUnavailable says that a library, driver or device is not there.
	ErrUnavailable = errors.New("backend: not available on this machine")
	// ErrMetadata says that a peer's metadata cannot be used: it is not this
	// backend's, was cut short, or was changed on the way.
	ErrMetadata = errors.New("backend: unusable metadata")
	// ErrMemoryKind says that this backend cannot use memory of that kind.
	ErrMemoryKind = errors.New("backend: kind of memory not supported")
	// ErrInvalid says that an argument is wrong: a segment outside of
	// registered memory, lists of different lengths, an unknown peer.
	ErrInvalid = errors.New("backend: invalid argument")
)

// Backend is one agent: the thing that registers memory, knows peers and
// posts one-sided operations.
type Backend interface {
	// Limits tells what this backend can and cannot promise.
	Limits() Limits
	// Register makes memory usable in operations. The memory must stay mapped
	// until Deregister has succeeded. Memory of a device is ErrMemoryKind unless
	// Limits.VRAM is set.
	Register(Memory) (Registration, error)
	// Deregister ends a registration; ErrInFlight while an operation of ours
	// that uses it has not ended on proof. It is no fence: it does not stop a
	// peer that has the metadata (see Limits.PassiveFence).
	Deregister(Registration) error
	// Metadata returns what a peer needs to reach the memory registered now.
	// It is safe to send over a network: the receiving backend checks it whole
	// before any of it is used.
	Metadata() ([]byte, error)
	// Connect loads a peer's metadata; again with newer metadata of the same
	// peer refreshes it. Unusable metadata is ErrMetadata and changes nothing.
	Connect(peer string, metadata []byte) error
	// Disconnect forgets a peer; ErrInFlight while an operation towards it has
	// not ended on proof.
	Disconnect(peer string) error
	// Prepare builds an operation. Nothing is submitted, and after an error
	// nothing ever will be.
	Prepare(Request) (Operation, error)
	// Poll asks for the state of many posted operations in one call and writes
	// one observation for each into out, which must be as long as ops. An
	// operation that this backend does not hold (nil, another backend's,
	// released) is answered NotFound; after Close or a fence the answer is Lost.
	Poll(ops []Operation, out []Observation)
	// Progress lets the library do work that belongs to no operation of ours
	// (a passive side's incoming data) and returns the notifications that
	// arrived. Call it regularly while Limits.PassiveProgress is set and a
	// peer may reach our memory.
	Progress() ([]Notification, error)
	// Close destroys the agent; ErrInFlight while anything has not ended on
	// proof. Closing twice is fine.
	Close() error
}

// Fencer is implemented by a backend that can be destroyed under operations in
// flight, where Close has to refuse; a backend that sets Limits.OwnFence must.
type Fencer interface {
	// Fence destroys the agent at once. A nil error is proof of what
	// Limits.OwnFence and Limits.PassiveFence claim and of nothing more: the
	// other side of an operation that was in flight needs proof of its own.
	// Afterwards every call but Close is ErrClosed; fencing twice is fine.
	Fence() error
}

// Operation is one retained handle. It keeps request, descriptors and memory
// of the operation until Release.
type Operation interface {
	// Post submits the operation, once. It may block while the copy runs. The
	// status is Submitted, Done, NotSubmitted or Error; err has the cause in
	// the library's own words for the latter two. A second Post is the caller's
	// mistake: nothing is submitted by it, and it answers Error, because the
	// first may still be running.
	Post() Observation
	// Release frees the handle; ErrInFlight unless the operation was never
	// posted, was NotSubmitted, or has answered Done.
	Release() error
}

// Direction is what a one-sided operation does, seen from who posts it.
type Direction uint8

const (
	_     Direction = iota
	Write           // local memory is read, remote memory is written
	Read            // remote memory is read, local memory is written
)

// String returns WRITE or READ.
func (d Direction) String() string {
	switch d {
	case Write:
		return "WRITE"
	case Read:
		return "READ"
	}
	return "invalid direction"
}

// Memory is one range to register. It must not be Go-heap memory: the garbage
// collector knows nothing of hardware.
type Memory struct {
	Addr uintptr
	Len  uint64 // bytes
	Space
}

// Registration names registered memory in calls to the same backend.
type Registration interface{ Memory() Memory }

// Segment is a contiguous piece of registered memory, ours or a peer's.
type Segment struct {
	Addr uint64
	Len  uint64 // bytes, > 0
}

// Request describes one operation: segment i of Local pairs with segment i of
// Remote, of the same length.
type Request struct {
	Direction Direction
	Peer      string
	Local     []Segment
	Remote    []Segment
	// LocalSpace is what all of Local is in, RemoteSpace all of Remote: those that
	// the memory was registered with.
	LocalSpace, RemoteSpace Space
	// Notify, when not empty, reaches the peer's Progress after the data of
	// this operation is in place, and never before.
	Notify []byte
}

// Notification is a peer's word that one of its operations has ended.
type Notification struct {
	Peer    string
	Message []byte
}

// Observation is what was seen of one operation at one moment.
type Observation struct {
	Status Status
	// Err is the library's own explanation; nil unless Status is
	// NotSubmitted, Error, NotFound, Replaced or Lost.
	Err error
}

// Limits are a backend's declared abilities; the conformance kit checks them.
type Limits struct {
	// Transport is a short name for logs: "loop", "nixl/tcp", "nixl/cma".
	Transport string
	// Cancel: an operation can be stopped, with proof, before it ends.
	Cancel bool
	// BoundedProgress: a posted operation ends in bounded time whatever the
	// peer does.
	BoundedProgress bool
	// PassiveProgress: the passive side must call Progress for data to move.
	PassiveProgress bool
	// OwnFence: the backend is a Fencer, and its Fence is proof for our memory
	// in the operations that this agent posted.
	OwnFence bool
	// VRAM: memory of a device can be registered.
	VRAM bool
	// PassiveFence: Close, or Fence, is proof for our memory that peers reach
	// by themselves.
	PassiveFence bool
}
