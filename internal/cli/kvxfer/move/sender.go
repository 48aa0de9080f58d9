// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/admin"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// Config is one run. Everything but Source and Fault is required.
type Config struct {
	Plan   Plan
	Count  int
	Source io.Reader // content; nil makes it from the seed
	Fault  Fault     // in the last transfer, or with Plan.Recover in the one before it
	Open   Opener
	// Start starts the receiver with the plan, whose Control is the address to dial.
	Start func(context.Context, Plan) (Process, error)
	// Started is called when both sides can reach each other.
	Started func(Process)
	// Event and Transfer are called one at a time, each event of a transfer
	// before the transfer itself.
	Event    func(Event)
	Transfer func(Transfer)
	// Admin is where package admin serves the sender's endpoint; empty: nowhere.
	Admin string
}

// sender is the first process.
type sender struct {
	*side
	config   *Config
	listener *rpc.Listener
	admin    *admin.Server // nil without Config.Admin
	peer     *peer
	requests chan *transfer.Request

	tell      sync.Mutex // held while Config.Event and Config.Transfer run
	contained chan ownership.Containment
	report    Report
}

// Run moves data until everything was moved and both sides have stopped, or
// something cannot be proven: then it comes back with what is retained, and the
// process should end.
func Run(ctx context.Context, config Config) (*Report, error) {
	s := &sender{config: &config, requests: make(chan *transfer.Request, 1), contained: make(chan ownership.Containment, 1)}
	defer s.close()
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	config.Started(s.peer)
	began := time.Now()
	for n := 1; n <= config.Count; n++ {
		fault := NoFault
		if n == config.faulty() {
			fault = config.Fault
		}
		t, err := s.one(ctx, n, fault)
		if err != nil {
			return nil, err
		}
		s.report.Transfers = append(s.report.Transfers, t)
		s.locked(func() { config.Transfer(t) })
	}
	s.report.Took = time.Since(began)
	return &s.report, s.end(ctx)
}

func (c *Config) faulty() int {
	if c.Plan.Recover {
		return c.Count - 1
	}
	return c.Count
}

// start brings both sides to the point where they can reach each other.
func (s *sender) start(ctx context.Context) (err error) {
	plan := s.config.Plan
	s.side, err = newSide(&plan, sideConfig{
		name: SenderName, which: SideSender, order: plan.sourceOrder(), open: s.config.Open,
		observe: s.event,
		contain: func(c ownership.Containment) error { s.contained <- c; return nil },
	})
	if err != nil {
		return err
	}
	s.ep.OnRequest(func(r *transfer.Request) { s.requests <- r })
	if s.config.Admin != "" {
		if s.admin, err = admin.Serve(s.config.Admin, s.ep); err != nil {
			return err
		}
	}
	if s.listener, err = rpc.Listen(plan.Control); err != nil {
		return err
	}
	plan.Control = s.listener.Addr()
	process, err := s.config.Start(ctx, plan)
	if err != nil {
		return fmt.Errorf("move: second process: %w", err)
	}
	s.peer = newPeer(process, s.event)
	return s.attach(ctx)
}

// attach waits for the receiver's stream and its word that it is ready. A
// receiver that ends meanwhile ends the wait.
func (s *sender) attach(ctx context.Context) error {
	err := s.accept(ctx)
	if err == nil {
		_, err = s.peer.next(ctx, func(r reply) bool { return r.Ready != nil })
	}
	return s.blame(ctx, err, "before it was ready")
}

// blame says why the receiver ended, where that is the cause of err.
func (s *sender) blame(ctx context.Context, err error, when string) error {
	if err != nil && ctx.Err() == nil && s.peer.over(err) {
		return s.peer.failure(ctx, when)
	}
	return err
}

// accept waits for the receiver's next stream.
func (s *sender) accept(ctx context.Context) error {
	watched, cancel := s.peer.watch(ctx)
	defer cancel()
	stream, err := s.listener.Accept(watched)
	if err == nil {
		_, err = s.ep.Attach(watched, stream)
	}
	return err
}

// event passes one event on.
func (s *sender) event(e Event) { s.locked(func() { s.config.Event(e) }) }

func (s *sender) locked(f func()) {
	s.tell.Lock()
	defer s.tell.Unlock()
	f()
}

// note puts something that this command did into the timeline.
func (s *sender) note(event, to string) {
	s.event(Event{Time: time.Now(), Side: SideCommand, What: "process", Event: event, To: to})
}

// end stops both sides, unless something is retained: then a stop would be
// refused, and is.
func (s *sender) end(ctx context.Context) error {
	if s.report.Contained != "" {
		err := s.ep.Stop(ctx)
		s.report.Sender = s.finished(err)
		s.ep.Halt()
		return nil
	}
	if err := s.peer.Send(order{Finish: true}); err != nil {
		return err
	}
	err := s.stop()
	s.report.Sender = s.finished(err)
	if err != nil {
		return err
	}
	s.side = nil // nothing is left of it
	got, err := s.peer.next(ctx, func(r reply) bool { return r.Finished != nil })
	if err != nil {
		return err
	}
	s.report.Receiver = got.Finished
	if got.Finished.Error != "" {
		return &Failure{Kind: got.Finished.Kind, Text: "receiver: " + got.Finished.Error}
	}
	return nil
}

// close ends what is left, in the order in which it can hurt: first whoever
// may write into our memory, or read it.
func (s *sender) close() {
	if s.peer != nil {
		_ = s.peer.Close()
	}
	if s.listener != nil {
		_ = s.listener.Close()
	}
	if s.admin != nil {
		_ = s.admin.Close()
	}
	if s.side != nil {
		s.ep.Halt()
		_ = s.endTrace() // what could not be written is missing, and check-trace says so
	}
}
