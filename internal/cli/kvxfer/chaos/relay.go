// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// relay stands between nodes and passes control messages on in small pieces, each
// way, so that every read of the other end is short; now and then it cuts a stream.
type relay struct {
	mu        sync.Mutex
	rng       *rand.Rand // guarded by mu
	listeners []net.Listener
	conns     map[net.Conn]bool // guarded by mu
	closed    bool              // guarded by mu
}

func newRelay(seed uint64) *relay {
	return &relay{rng: rand.New(rand.NewPCG(seed, 77)), conns: map[net.Conn]bool{}}
}

// before returns an address that leads to the abstract one given.
func (r *relay) before(name string) (string, error) {
	front := name + "-relay-" + time.Now().Format("150405.000000")
	l, err := net.Listen("unix", "@"+front)
	if err != nil {
		return "", err
	}
	r.listeners = append(r.listeners, l)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", "@"+name)
			if err != nil {
				_ = in.Close() // whoever dialled tries again
				continue
			}
			if !r.keep(in, out) {
				return
			}
			go r.pass(in, out)
			go r.pass(out, in)
		}
	}()
	return front, nil
}

func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		if r.closed {
			_ = c.Close()
			continue
		}
		r.conns[c] = true
	}
	return !r.closed
}

// pass copies one way, and cuts both when it ends.
func (r *relay) pass(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buf := make([]byte, 64)
	for {
		r.mu.Lock()
		n := 1 + r.rng.IntN(len(buf))
		r.mu.Unlock()
		got, err := from.Read(buf[:n])
		if _, werr := to.Write(buf[:got]); werr != nil || err != nil && !errors.Is(err, io.ErrNoProgress) {
			return
		}
	}
}

// cut ends all streams that are up.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_ = c.Close()
	}
	clear(r.conns)
}

func (r *relay) close() {
	for _, l := range r.listeners {
		_ = l.Close()
	}
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cut()
}
