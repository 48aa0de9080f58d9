// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"unsafe"

	"github.com/kvxfer/kvxfer/backend"
)

// source is the agent whose memory is read, destination the one whose memory
// is written.
func (o *operation) source() *Agent {
	if o.request.Direction == backend.Write {
		return o.agent
	}
	return o.target
}

func (o *operation) destination() *Agent {
	if o.request.Direction == backend.Write {
		return o.target
	}
	return o.agent
}

// advance lets one tick pass for the operation and reports whether it may move
// bytes in a later one. helper is the agent inside Progress, if any.
func (o *operation) advance(helper *Agent) bool {
	switch from, to := o.source(), o.destination(); {
	case to.gone:
		return false
	case to.stalled, from.stalled && len(o.wire) == 0:
		return true
	case o.agent.fabric.config.PassiveProgress && helper != o.target && (to == o.target || len(o.wire) == 0):
		return true
	case o.wait > 0:
		o.wait--
		return true
	}
	if err := o.move(o.allowance()); err != nil {
		o.fail(backend.Observation{Status: backend.Error, Err: err})
		o.end = o.landed
	}
	if o.fault.Status != 0 && o.landed >= o.fault.After {
		o.show()
	}
	if o.landed == o.total {
		o.notify()
	}
	return o.landed < o.end
}

// allowance is how many bytes may land in this tick.
func (o *operation) allowance() int64 {
	n := o.end - o.landed
	for _, limit := range []int64{o.agent.fabric.config.BytesPerTick, o.agent.bytesPerTick, o.target.bytesPerTick} {
		if limit > 0 {
			n = min(n, limit)
		}
	}
	if o.fault.Status != 0 {
		n = min(n, o.fault.After-o.landed)
	}
	if len(o.wire) > 0 {
		n = min(n, int64(len(o.wire)))
	}
	return n
}

// move lands n bytes: those on the wire first, then bytes read just now.
func (o *operation) move(n int64) error {
	wire := o.wire
	err := o.each(o.landed, n, func(from, to []byte) {
		if len(wire) > 0 {
			from, wire = wire[:len(to)], wire[len(to):]
		}
		copy(to, from)
	})
	if err != nil {
		return err
	}
	o.wire = wire
	o.landed += n
	stats := &o.agent.fabric.stats
	stats.Bytes += uint64(n)
	if o.doubted {
		stats.LateBytes += uint64(n)
	}
	return nil
}

// buffer reads up to n bytes that land later, as a socket's buffer holds them:
// the source may change behind them.
func (o *operation) buffer(n int64) error {
	read := o.landed + int64(len(o.wire))
	n = min(n, o.end-read)
	if n <= 0 {
		return nil
	}
	wire := slices.Clip(o.wire)
	err := o.each(read, n, func(from, _ []byte) { wire = append(wire, from...) })
	if err == nil {
		o.wire = wire
	}
	return err
}

// each calls f for the pieces of n bytes from an offset of the operation, with
// the memory they are read from and written to. Memory that was unmapped under
// the operation, which would kill a real process, is an error.
func (o *operation) each(offset, n int64, f func(from, to []byte)) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			at, ok := fault.(interface{ Addr() uintptr })
			if !ok {
				panic(fault)
			}
			err = fmt.Errorf("loop: %s: memory at %#x is not mapped any more", o, at.Addr())
		}
	}()
	i, found := slices.BinarySearch(o.starts, offset)
	if !found {
		i--
	}
	for ; n > 0; i++ {
		skip := offset - o.starts[i]
		size := min(n, int64(o.request.Local[i].Len)-skip)
		local := bytesAt(o.request.Local[i].Addr+uint64(skip), size)
		remote := bytesAt(o.request.Remote[i].Addr+uint64(skip), size)
		if o.request.Direction == backend.Write {
			f(local, remote)
		} else {
			f(remote, local)
		}
		offset, n = offset+size, n-size
	}
	return nil
}

// bytesAt views registered memory. The address is of memory outside the Go
// heap (backend.Memory demands it), which no pointer rule can be broken with;
// the detour keeps vet from asking.
func bytesAt(addr uint64, n int64) []byte {
	p := uintptr(addr)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n)
}

// show gives the fault's answer and arranges what happens after it.
func (o *operation) show() {
	f := o.fault
	o.fault.Status = 0
	o.fail(backend.Observation{Status: f.Status, Err: f.cause(o)})
	o.once, o.wait = f.Transient, f.Delay
	if f.Transient {
		return
	}
	if f.Late < math.MaxInt64-o.landed {
		o.end = min(o.end, o.landed+f.Late)
	}
	if f.Buffered {
		if err := o.buffer(o.end - o.landed); err != nil {
			o.end = o.landed
		}
	}
}

// fail sets what polls answer from now on; the first such answer stays.
func (o *operation) fail(answer backend.Observation) {
	o.doubted = true
	if o.answer.Status == 0 && !o.answeredDone {
		o.answer = answer
	}
}

// cut ends the operation's connection: inSocket bytes are already read and
// still land, and nothing else ever does.
func (o *operation) cut(inSocket int64, cause error) {
	if o.landed == o.total {
		return
	}
	if err := o.buffer(inSocket); err != nil {
		o.wire = nil
	}
	o.end = o.landed + int64(len(o.wire))
	o.once = false
	o.fault.Status = 0
	o.fail(backend.Observation{Status: backend.Error, Err: cause})
}

// notify tells the target that all bytes are in place.
func (o *operation) notify() {
	if len(o.request.Notify) == 0 {
		return
	}
	if o.fault.DropNotification {
		o.agent.fabric.stats.LostNotifications++
		return
	}
	n := backend.Notification{Peer: o.agent.name, Message: o.request.Notify}
	o.target.inbox = append(o.target.inbox, n)
}
