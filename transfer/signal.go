// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import "sync"

// signal wakes one goroutine. Raising it twice before it is seen is the same
// as once; raising it never blocks.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// broadcast wakes everybody who took its channel before. The zero value is ready.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{} // guarded by mu; nil while nobody waits
}

// wait returns a channel that the next send closes. Take it before looking at
// what may change, or the change may be missed.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

// serial runs functions one after the other, in the order in which they were
// given, on a goroutine that exists only while there are any. The zero value
// is ready.
type serial struct {
	mu      sync.Mutex
	queue   []func() // guarded by mu
	running bool     // guarded by mu
}

func (s *serial) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, f)
	if !s.running {
		s.running = true
		go s.run()
	}
}

// idle reports whether nothing runs or waits.
func (s *serial) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.running
}

func (s *serial) run() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.running = false
			s.mu.Unlock()
			return
		}
		f := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		f()
	}
}
