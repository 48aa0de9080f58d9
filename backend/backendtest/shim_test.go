// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest_test

import (
	"errors"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
)

// lies are what a mutant does instead of the truth; nil: the truth.
type lies struct {
	config     loop.Config
	limits     func(*backend.Limits)
	connect    func(*shim, string, error) error
	register   func(*backend.Memory)
	deregister func(error) error
	disconnect func(error) error
	close      func(*shim, error) error
	noClose    bool // Close does nothing
	noFence    bool // Fence does nothing
	prepare    func(*shim, backend.Request, error) (backend.Request, error)
	lazy       bool // Prepare keeps the caller's slices until Post
	post       func(*handle, backend.Observation) backend.Observation
	poll       func(*handle, backend.Observation) backend.Observation
	answers    func([]backend.Observation)
	release    func(error) error
	progress   func(*shim, []backend.Notification) []backend.Notification
}

// shim is a loop agent that lies.
type shim struct {
	*loop.Agent
	lies   *lies
	memory []byte
	peer   *shim
	inbox  []backend.Notification // invented ones
}

// handle is an operation of a shim.
type handle struct {
	backend.Operation
	shim    *shim
	request backend.Request
	err     error // of a lazy Prepare
	posts   int
}

func (s *shim) Limits() backend.Limits {
	l := s.Agent.Limits()
	if s.lies.limits != nil {
		s.lies.limits(&l)
	}
	return l
}

func (s *shim) Connect(peer string, m []byte) error {
	err := s.Agent.Connect(peer, m)
	if s.lies.connect != nil {
		return s.lies.connect(s, peer, err)
	}
	return err
}

func (s *shim) Register(m backend.Memory) (backend.Registration, error) {
	if s.lies.register != nil {
		s.lies.register(&m)
	}
	return s.Agent.Register(m)
}

func (s *shim) Deregister(r backend.Registration) error {
	err := s.Agent.Deregister(r)
	if s.lies.deregister != nil {
		return s.lies.deregister(err)
	}
	return err
}

func (s *shim) Disconnect(peer string) error {
	err := s.Agent.Disconnect(peer)
	if s.lies.disconnect != nil {
		return s.lies.disconnect(err)
	}
	return err
}

func (s *shim) Close() error {
	if s.lies.noClose {
		return nil
	}
	err := s.Agent.Close()
	if s.lies.close != nil {
		return s.lies.close(s, err)
	}
	return err
}

func (s *shim) Fence() error {
	if s.lies.noFence {
		return nil
	}
	return s.Agent.Fence()
}

func (s *shim) Prepare(r backend.Request) (backend.Operation, error) {
	if s.lies.lazy {
		return &handle{shim: s, request: r}, nil
	}
	op, err := s.Agent.Prepare(r)
	if err != nil && s.lies.prepare != nil {
		if r, err = s.lies.prepare(s, r, err); err == nil {
			op, err = s.Agent.Prepare(r)
		}
	}
	if err != nil {
		return nil, err
	}
	return &handle{Operation: op, shim: s, request: r}, nil
}

func (h *handle) Post() backend.Observation {
	if h.Operation == nil {
		if h.Operation, h.err = h.shim.Agent.Prepare(h.request); h.err != nil {
			return backend.Observation{Status: backend.NotSubmitted, Err: h.err}
		}
	}
	h.posts++
	o := h.Operation.Post()
	if h.shim.lies.post != nil {
		return h.shim.lies.post(h, o)
	}
	return o
}

func (h *handle) Release() error {
	if h.Operation == nil {
		return nil
	}
	err := h.Operation.Release()
	if h.shim.lies.release != nil {
		return h.shim.lies.release(err)
	}
	return err
}

func (s *shim) Poll(ops []backend.Operation, out []backend.Observation) {
	inner := make([]backend.Operation, len(ops))
	for i, op := range ops {
		if h, ok := op.(*handle); ok {
			inner[i] = h.Operation
		}
	}
	s.Agent.Poll(inner, out)
	for i, op := range ops {
		if h, ok := op.(*handle); ok && s.lies.poll != nil {
			out[i] = s.lies.poll(h, out[i])
		}
	}
	if s.lies.answers != nil {
		s.lies.answers(out)
	}
}

func (s *shim) Progress() ([]backend.Notification, error) {
	got, err := s.Agent.Progress()
	if s.lies.progress != nil && err == nil {
		got = s.lies.progress(s, got)
	}
	got = append(got, s.inbox...)
	s.inbox = nil
	return got, err
}

// forgive turns one refusal into success.
func forgive(refusal error) func(error) error {
	return func(err error) error {
		if errors.Is(err, refusal) {
			return nil
		}
		return err
	}
}

// say answers one status in place of another.
func say(lie, truth backend.Status) func(*handle, backend.Observation) backend.Observation {
	return func(_ *handle, o backend.Observation) backend.Observation {
		if o.Status != truth {
			return o
		}
		var err error
		if lie == backend.NotSubmitted || lie == backend.Error || lie == backend.NotFound {
			err = errors.New("a lie")
		}
		return backend.Observation{Status: lie, Err: err}
	}
}
