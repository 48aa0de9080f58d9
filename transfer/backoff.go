// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"runtime"
	"time"
)

// Waiting between passes: first the processor is offered to others a few times,
// then the poller sleeps, longer each time; after slowAfter such sleeps of
// maxSleep, what is in flight is stuck rather than busy.
const (
	spins     = 64
	minSleep  = 20 * time.Microsecond
	maxSleep  = time.Millisecond
	slowAfter = 1000
	slowSleep = 10 * time.Millisecond
)

// backoff paces passes that bring no news.
type backoff struct {
	passes int
	sleep  time.Duration
	timer  *time.Timer
}

func (b *backoff) reset() { b.passes, b.sleep = 0, minSleep }

// wait waits its time or until wake; false means stop.
func (b *backoff) wait(wake signal, stop <-chan struct{}) bool {
	b.passes++
	if b.passes <= spins {
		select {
		case <-stop:
			return false
		default:
			runtime.Gosched()
			return true
		}
	}
	if b.timer == nil {
		b.timer = time.NewTimer(b.sleep)
	} else {
		b.timer.Reset(b.sleep)
	}
	if limit := b.limit(); b.sleep < limit {
		b.sleep = min(2*b.sleep, limit)
	}
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
	if b.passes > spins+slowAfter {
		return slowSleep
	}
	return maxSleep
}

func (b *backoff) end() {
	if b.timer != nil {
		b.timer.Stop()
	}
}
