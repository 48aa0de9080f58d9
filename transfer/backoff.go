// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"runtime"
	"time"
)

// Waiting between passes that bring nothing: first the processor is offered to
// others a few times, then the poller sleeps, the longer the more passes there
// were. Calls of the backend that took busyCall, and busyHandle for each handle
// asked about, have moved bytes, or were at least not idle, and count as news:
// a transport that needs our calls to make progress must not wait for us while
// it has something to do.
const (
	spins      = 256
	napSpins   = 16 // where a nap follows: more hold up the goroutines that bring and take messages
	maxNaps    = 64
	minSleep   = 20 * time.Microsecond
	busyCall   = 10 * time.Microsecond
	busyHandle = time.Microsecond
	slowSleep  = 10 * time.Millisecond
)

// rests are the longest sleeps by the number of passes: in flight, waiting for
// a peer that thinks, and stuck.
var rests = [...]struct {
	passes int
	sleep  time.Duration
}{{4000, 100 * time.Microsecond}, {5000, time.Millisecond}}

// backoff paces passes that bring no news.
type backoff struct {
	// naps makes the first sleeps as short as they say: the runtime's timers round
	// them up to a millisecond in a process that has nothing else to do. A nap is
	// not ended by wake. For backends that move bytes in our calls only, whose
	// peers wait for us meanwhile.
	naps   bool
	passes int
	sleep  time.Duration
	timer  *time.Timer
}

func (b *backoff) reset() { b.passes, b.sleep = 0, minSleep }

// wait waits its time or until wake; false means stop.
func (b *backoff) wait(wake signal, stop <-chan struct{}) bool {
	b.passes++
	spins := spins
	if b.naps {
		spins = napSpins
	}
	if b.passes <= spins {
		select {
		case <-stop:
			return false
		default:
			runtime.Gosched()
			return true
		}
	}
	if b.naps && b.passes <= spins+maxNaps {
		nap(b.sleep)
		b.sleep = min(2*b.sleep, b.limit())
		select {
		case <-stop:
			return false
		default:
			return true
		}
	}
	if b.timer == nil {
		b.timer = time.NewTimer(b.sleep)
	} else {
		b.timer.Reset(b.sleep)
	}
	b.sleep = min(2*b.sleep, b.limit())
	select {
	case <-b.timer.C:
		return true
	case <-wake:
		return true
	case <-stop:
		return false
	}
}

func (b *backoff) limit() time.Duration {
	for _, r := range rests {
		if b.passes < r.passes {
			return r.sleep
		}
	}
	return slowSleep
}

func (b *backoff) end() {
	if b.timer != nil {
		b.timer.Stop()
	}
}
