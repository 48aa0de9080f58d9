// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	nixlbackend "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/meter"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// side is one of the two processes, from inside.
type side struct {
	ep    *transfer.Endpoint
	meter *meter.Backend
	all   *place           // one transfer at a time
	slots [maxWindow]place // several

	answering sync.WaitGroup
	mu        sync.Mutex
	took      []time.Duration // guarded by mu
	last      time.Duration   // CPU at the last "took"
}

// place is the memory of one transfer at a time.
type place struct {
	region *transfer.Region
	turn   sync.Mutex
}

func newSide(name, library, transport string) (*side, error) {
	lib, err := nixl.Open(nixl.Options{Library: library})
	if err != nil {
		return nil, err
	}
	kind, err := nixl.ParseTransport(transport)
	if err != nil {
		return nil, err
	}
	b, err := nixlbackend.New(nixlbackend.Config{Name: name, Library: lib, Transport: kind, Device: "lo", NoProgressThread: true})
	if err != nil {
		return nil, err
	}
	s := &side{meter: meter.New(b)}
	s.ep, err = transfer.New(transfer.Config{
		Name: name, Backend: s.meter,
		Contain: func(c ownership.Containment) error {
			return fmt.Errorf("session %v was not settled in time", c.Session)
		},
	})
	if err != nil {
		return nil, err
	}
	s.all = &place{}
	if err := s.register(s.all, "pool", arena); err != nil {
		return nil, err
	}
	for i := range s.slots {
		if err := s.register(&s.slots[i], fmt.Sprint("slot ", i), slot); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *side) register(p *place, name string, size int) error {
	pool, err := memory.New(memory.Spec{Len: size, HugePages: true, Prefault: true})
	if err != nil {
		return err
	}
	p.region, err = s.ep.Register(name, pool)
	return err
}

// at is where one of a window of transfers lies.
func (s *side) at(window, index int) *place {
	if window == 1 {
		return s.all
	}
	return &s.slots[index]
}

// play is the second process's main function.
func play(role, library, transport, address string) error {
	s, err := newSide(role, library, transport)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if role == roleTarget {
		stream, err := rpc.Dial(ctx, address)
		if err != nil {
			return err
		}
		if _, err := s.ep.Attach(ctx, stream); err != nil {
			return err
		}
		fmt.Println("ok")
		return s.obey(ctx)
	}
	s.ep.OnRequest(func(r *transfer.Request) {
		if err := s.answer(ctx, r); err != nil {
			fmt.Println("error", err)
		}
	})
	l, err := rpc.Listen(address)
	if err != nil {
		return err
	}
	fmt.Println("ok")
	stream, err := l.Accept(ctx)
	if err != nil {
		return err
	}
	if _, err := s.ep.Attach(ctx, stream); err != nil {
		return err
	}
	return s.obey(ctx)
}

// answer is the initiator's part of one transfer.
func (s *side) answer(ctx context.Context, r *transfer.Request) error {
	s.answering.Add(1)
	defer s.answering.Done()
	var w work
	var index int
	if _, err := fmt.Sscan(r.Label(), &w.len, &w.count, &w.stride, &w.window, &index); err != nil {
		return err
	}
	p := s.at(w.window, index)
	p.turn.Lock() // the one before may still be on its way out of the memory
	defer p.turn.Unlock()
	var session *transfer.Session
	var err error
	if r.Direction() == backend.Read {
		session, err = r.Fetch(transfer.FetchSpec{Region: p.region, Blocks: w.blocks()})
	} else {
		session, err = r.Send(transfer.SendSpec{Region: p.region, Blocks: w.blocks()})
	}
	if err != nil {
		return err
	}
	if err := session.Wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.took = append(s.took, s.meter.Last())
	s.mu.Unlock()
	return session.Drain(ctx)
}

func (s *side) obey(ctx context.Context) error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var w work
		switch _, err := fmt.Sscanf(in.Text(), "run %s %d %d %d %d %d", &w.op, &w.len, &w.count, &w.stride, &w.transfers, &w.window); {
		case err == nil:
			if err := s.run(ctx, w); err != nil {
				return err
			}
		case in.Text() == "took":
			s.answering.Wait() // the target may have heard of the end before our own goroutine
			s.mu.Lock()
			now := cpu()
			fmt.Println("ok", int64(now-s.last), list(s.took))
			s.took, s.last = nil, cpu()
			s.mu.Unlock()
		case in.Text() == "cpu":
			fmt.Println("ok", int64(cpu()))
		default:
			return errors.New("unknown order " + in.Text())
		}
	}
	return nil
}

// run is the target's part of some transfers, a window of them at a time.
func (s *side) run(ctx context.Context, w work) error {
	whole := make([]time.Duration, w.transfers)
	failed := make([]error, w.window)
	var next atomic.Int64
	var done sync.WaitGroup
	used, start := cpu(), time.Now()
	for index := range w.window {
		done.Go(func() {
			for failed[index] == nil {
				k := int(next.Add(1)) - 1
				if k >= w.transfers {
					return
				}
				whole[k], failed[index] = s.request(ctx, w, index)
			}
		})
	}
	done.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	fmt.Println("ok", int64(cpu()-used), int64(time.Since(start)), list(whole))
	return nil
}

// request is one of them: from the request to the release of the memory.
func (s *side) request(ctx context.Context, w work, index int) (took time.Duration, err error) {
	blocks, label := w.blocks(), fmt.Sprint(w.len, w.count, w.stride, w.window, index)
	region := s.at(w.window, index).region
	began := time.Now()
	var session *transfer.Session
	if w.op == "READ" {
		session, err = s.ep.Offer(ctx, transfer.OfferSpec{Region: region, Blocks: blocks, Label: label, To: transfer.ToPeers(roleInitiator)})
	} else {
		session, err = s.ep.Receive(ctx, transfer.ReceiveSpec{Region: region, Blocks: blocks, Label: label, From: transfer.FromPeers(roleInitiator)})
	}
	if err != nil {
		return 0, err
	}
	err = errors.Join(session.Wait(ctx), session.Drain(ctx))
	return time.Since(began), err
}

func list(times []time.Duration) string {
	var b strings.Builder
	for _, t := range times {
		fmt.Fprint(&b, int64(t), " ")
	}
	return b.String()
}

// cpu is what this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of ourselves it never fails
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
