// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"fmt"
	"math"

	"github.com/kvxfer/kvxfer/backend"
)

// Rest, as Fault.Late, lets every byte that is left land.
const Rest = math.MaxInt64

// Fault is what goes wrong with one operation. The zero value is no fault.
type Fault struct {
	// Status is the answer: NotSubmitted, Error, NotFound, Replaced or Lost;
	// 0 leaves the answers alone.
	Status backend.Status
	// After is how many bytes have landed when the answer comes. An Error
	// after 0 bytes is the answer of Post itself.
	After int64
	// Late is how many further bytes land although the answer was given, 0 to
	// Rest: what makes an error no proof.
	Late int64
	// Buffered reads the late bytes when the answer is given, as a socket's
	// buffer does; otherwise they are read from the source as they land, so
	// that a reused source shows through.
	Buffered bool
	// Delay is how many ticks pass between the answer and the first late byte.
	Delay int
	// Transient gives the answer once; then the operation goes on and ends as
	// if nothing had been. Late has no meaning with it.
	Transient bool
	// DropNotification loses the notification behind data that arrived.
	DropNotification bool
	// Err replaces the text that explains the answer.
	Err error

	_ struct{}
}

// validate refuses a fault that a backend must not have, since its answer
// would be a lie, or that means nothing.
func (f Fault) validate() error {
	switch f.Status {
	case 0, backend.Error, backend.NotFound, backend.Replaced, backend.Lost:
	case backend.NotSubmitted:
		if f.After != 0 || f.Late != 0 || f.Transient {
			return fmt.Errorf("not_submitted with bytes that move")
		}
	default:
		return fmt.Errorf("status %v is no fault", f.Status)
	}
	if f.After < 0 || f.Late < 0 || f.Delay < 0 {
		return fmt.Errorf("negative count")
	}
	if f.Status == 0 && (f.After != 0 || f.Late != 0 || f.Transient || f.Buffered || f.Delay != 0) {
		return fmt.Errorf("no status to answer")
	}
	return nil
}

func (f Fault) cause(o *operation) error {
	if f.Err != nil {
		return f.Err
	}
	return fmt.Errorf("loop: %s: injected %v after %d bytes", o, f.Status, f.After)
}

// Inject lets the next operation that the named agent posts suffer f, the one
// after it the next injected fault, and so on. An unknown agent or a fault
// that contradicts itself is ErrInvalid.
func (f *Fabric) Inject(agent string, fault Fault) error {
	if err := fault.validate(); err != nil {
		return fmt.Errorf("loop: inject: %w: %w", backend.ErrInvalid, err)
	}
	return f.with(agent, func(a *Agent) { a.faults = append(a.faults, fault) })
}

// nextFault takes the fault of the next post; fabric.mu must be held.
func (a *Agent) nextFault() Fault {
	if len(a.faults) == 0 {
		return Fault{}
	}
	f := a.faults[0]
	a.faults = a.faults[1:]
	return f
}

// Stall stops the named agent, as SIGSTOP stops a process: nothing leaves or
// reaches its memory and its operations stay in progress, until Continue.
func (f *Fabric) Stall(agent string) error {
	return f.with(agent, func(a *Agent) { a.stalled = true })
}

// Continue ends a stall.
func (f *Fabric) Continue(agent string) error {
	return f.with(agent, func(a *Agent) { a.stalled = false })
}

// Slow limits what each operation from or to the named agent moves in a tick;
// 0 bytes is full speed again.
func (f *Fabric) Slow(agent string, bytesPerTick int64) error {
	if bytesPerTick < 0 {
		return fmt.Errorf("loop: slow %q: %d bytes per tick: %w", agent, bytesPerTick, backend.ErrInvalid)
	}
	return f.with(agent, func(a *Agent) { a.bytesPerTick = bytesPerTick })
}

// Kill ends the named agent, as SIGKILL ends a process. Operations that it
// takes part in answer Error to their owners; up to inSocket bytes of each
// were already read and still land on the side that lives, as late as it
// pleases the ticks. Its name can be taken again.
func (f *Fabric) Kill(agent string, inSocket int64) error {
	return f.with(agent, func(a *Agent) { a.end(inSocket) })
}

// Break cuts the connection between two agents that go on living: operations
// in flight between them answer Error, and up to inSocket bytes of each still
// land. Later operations work.
func (f *Fabric) Break(one, other string, inSocket int64) error {
	return f.with(one, func(a *Agent) {
		for _, o := range f.ops {
			if o.agent == a && o.target.name == other || o.target == a && o.agent.name == other {
				o.cut(inSocket, fmt.Errorf("loop: %s: the connection broke", o))
			}
		}
	})
}

// TruncateMetadata cuts the next metadata of the named agent to n bytes.
func (f *Fabric) TruncateMetadata(agent string, n int) error {
	if n < 0 {
		return fmt.Errorf("loop: truncate metadata of %q to %d bytes: %w", agent, n, backend.ErrInvalid)
	}
	return f.with(agent, func(a *Agent) { a.truncate = &n })
}

// with does something to a living agent and wakes who waits in Post.
func (f *Fabric) with(agent string, do func(*Agent)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.agents[agent]
	if a == nil {
		return fmt.Errorf("loop: no agent %q: %w", agent, backend.ErrInvalid)
	}
	do(a)
	f.moved.Broadcast()
	return nil
}
