// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	nixlbackend "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// StoreName is the endpoint that owns the file.
const StoreName = "store"

// SideStore is its side in events.
const SideStore = "store"

// StorageConfig is a run that offloads blocks to a file and takes them back.
// Everything but Source is required.
type StorageConfig struct {
	Plan   Plan
	Count  int
	Source io.Reader         // content; nil makes it from the seed
	Plugin string            // of NIXL, one that serves files
	Params map[string]string // of the plugin
	File   string
	// Started is called when both endpoints know each other.
	Started func()
	// Event and Transfer are called one at a time, each event of a transfer
	// before the transfer itself. Transfer is called twice for each of Count:
	// out, and back.
	Event    func(Event)
	Transfer func(Transfer)
}

// storage is the memory's endpoint, which posts, and the file's.
type storage struct {
	*side
	config   *StorageConfig
	agent    *nixlbackend.Backend
	file     *os.File
	store    *transfer.Endpoint
	region   *transfer.Region // of the file
	closed   *closings        // of the store's sessions
	requests chan *transfer.Request
	tell     sync.Mutex // held while Config.Event and Config.Transfer run
	report   Report
}

// RunStorage moves each content to the file, checks what the file has by
// ordinary reads, clears the memory, and reads it back. Both ways both ends are
// owned until there is proof: the memory by one endpoint, the file by the other.
func RunStorage(ctx context.Context, config StorageConfig) (report *Report, err error) {
	s := &storage{config: &config, closed: newClosings(), requests: make(chan *transfer.Request, 1)}
	if s.file, err = os.OpenFile(config.File, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.file.Close()) }()
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	config.Started()
	began := time.Now()
	for n := 1; n <= config.Count && err == nil; n++ {
		err = s.one(ctx, n)
	}
	s.report.Took = time.Since(began)
	err = errors.Join(err, s.stop())
	return &s.report, err
}

func (s *storage) locked(f func()) {
	s.tell.Lock()
	defer s.tell.Unlock()
	f()
}

func (s *storage) event(e Event) { s.locked(func() { s.config.Event(e) }) }

func (s *storage) start(ctx context.Context) (err error) {
	plan := &s.config.Plan
	contain := func(c ownership.Containment) error {
		return fmt.Errorf("session %v was not settled in time", c.Session)
	}
	s.side, err = newSide(plan, sideConfig{
		name: SenderName, which: SideSender, order: plan.sourceOrder(), open: s.open,
		observe: s.event, contain: contain,
	})
	if err != nil {
		return err
	}
	n := uint64(plan.Shape.Bytes())
	if err := s.file.Truncate(int64(n)); err != nil {
		return err
	}
	file, err := s.agent.RegisterFile(s.file, n)
	if err != nil {
		return err
	}
	s.store, err = transfer.New(transfer.Config{
		Name: StoreName, Backend: s.agent.Store(StoreName), Contain: contain,
		RequestTimeout: plan.RequestTimeout, Grace: plan.Grace, OperationWait: plan.Wait,
		Observe: func(ev transfer.Event) {
			s.event(observed(SideStore, ev))
			s.closed.observe(ev)
		},
	})
	if err != nil {
		return err
	}
	if s.region, err = s.store.RegisterMemory("file", file.Memory()); err != nil {
		return err
	}
	s.ep.OnRequest(func(r *transfer.Request) { s.requests <- r })
	return s.join(ctx)
}

// open makes the agent; the endpoint of the memory posts through it.
func (s *storage) open(name string) (backend.Backend, error) {
	lib, err := nixl.Open(nixl.Options{Library: s.config.Plan.Library})
	if err != nil {
		return nil, err
	}
	s.agent, err = nixlbackend.New(nixlbackend.Config{
		Name: name, Library: lib, Plugin: s.config.Plugin, Params: s.config.Params, NoProgressThread: true,
	})
	return s.agent, err
}

// join makes the two endpoints know each other.
func (s *storage) join(ctx context.Context) error {
	ours, theirs := transfer.Pipe()
	attached := make(chan error, 1)
	go func() { _, err := s.store.Attach(ctx, theirs); attached <- err }()
	_, err := s.ep.Attach(ctx, ours)
	return errors.Join(err, <-attached)
}

// one offloads one content and takes it back.
func (s *storage) one(ctx context.Context, number int) error {
	var n int64
	err := s.cache.write(func() (err error) {
		if s.config.Source == nil {
			blocks.Fill(s.pool.Bytes(), s.order, s.config.Plan.Seed, uint64(number))
			n = s.config.Plan.Shape.Bytes()
			return nil
		}
		n, err = blocks.ReadFrom(s.pool.Bytes(), s.order, s.config.Source)
		return err
	})
	if err != nil {
		return err
	}
	mine := blocks.Prefix(s.order, n)
	digest := blocks.Digest(s.pool.Bytes(), mine)
	out := Transfer{Number: 2*number - 1, Bytes: n, Digest: digest}
	if err := s.offload(ctx, &out); err != nil {
		return err
	}
	if err := s.cache.write(func() error { blocks.Clear(s.pool.Bytes(), mine); return nil }); err != nil {
		return err
	}
	back := Transfer{Number: 2 * number, Bytes: n, Digest: digest}
	return s.restore(ctx, &back, mine)
}

// offload has the file's endpoint ask for the content, and ours send it.
func (s *storage) offload(ctx context.Context, t *Transfer) error {
	part := []transfer.Block{{Len: uint64(t.Bytes)}}
	stored, err := s.store.Receive(ctx, transfer.ReceiveSpec{Region: s.region, Blocks: part, From: transfer.FromPeers(SenderName)})
	if err != nil {
		return err
	}
	return s.answer(ctx, t, ownership.Reads, stored, func(r *transfer.Request, region *transfer.Region, ours []transfer.Block) (*transfer.Session, error) {
		return r.Send(transfer.SendSpec{Region: region, Blocks: ours})
	}, func() (string, error) {
		h := sha256.New()
		_, err := io.Copy(h, io.NewSectionReader(s.file, 0, t.Bytes))
		return hex.EncodeToString(h.Sum(nil)), err
	})
}

// restore has the file's endpoint offer the content, and ours fetch it.
func (s *storage) restore(ctx context.Context, t *Transfer, mine []blocks.Block) error {
	part := []transfer.Block{{Len: uint64(t.Bytes)}}
	offered, err := s.store.Offer(ctx, transfer.OfferSpec{Region: s.region, Blocks: part, To: transfer.ToPeers(SenderName)})
	if err != nil {
		return err
	}
	err = s.answer(ctx, t, ownership.Writes, offered, func(r *transfer.Request, region *transfer.Region, ours []transfer.Block) (*transfer.Session, error) {
		return r.Fetch(transfer.FetchSpec{Region: region, Blocks: ours})
	}, func() (string, error) { return blocks.Digest(s.pool.Bytes(), mine), nil })
	if err != nil || s.config.Plan.Out == "" {
		return err
	}
	return s.write(mine)
}

// answer runs our side of what the file's endpoint asks for, waits for the proof
// on both sides, and compares what arrived.
func (s *storage) answer(ctx context.Context, t *Transfer, access ownership.Access, theirs *transfer.Session,
	do func(*transfer.Request, *transfer.Region, []transfer.Block) (*transfer.Session, error), arrived func() (string, error),
) error {
	began := time.Now()
	var request *transfer.Request
	select {
	case request = <-s.requests:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	region, part, err := s.cache.region(access, t.Bytes)
	if err != nil {
		return err
	}
	ours, err := do(request, region, part)
	if err != nil {
		return errors.Join(err, region.Deregister())
	}
	var outcome *transfer.OutcomeError
	for _, session := range []*transfer.Session{ours, theirs} {
		if err := session.Wait(ctx); err != nil && !errors.As(err, &outcome) {
			return err
		}
		if err := session.Drain(ctx); err != nil {
			return err
		}
	}
	s.seen.wait(ctx, ours.Name())
	s.closed.wait(ctx, theirs.Name())
	t.Session, t.Outcome, t.Cause, t.Released = ours.Name().String(), ours.Answer().Outcome.String(), string(ours.Answer().Cause), true
	t.Receiver = &Received{
		Number: t.Number, Session: t.Session, Outcome: theirs.Answer().Outcome.String(), Cause: string(theirs.Answer().Cause),
		Took: time.Since(began), Released: true,
	}
	if t.Outcome == Succeeded {
		t.PostToDone = s.meter.Last()
		if t.Receiver.Digest, err = arrived(); err != nil {
			return err
		}
		t.Receiver.Equal = t.Receiver.Digest == t.Digest
	}
	s.report.Transfers = append(s.report.Transfers, *t)
	s.locked(func() { s.config.Transfer(*t) })
	return nil
}

// write appends what came back to the output.
func (s *storage) write(mine []blocks.Block) error {
	file, err := os.OpenFile(s.config.Plan.Out, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	err = errors.Join(blocks.WriteTo(w, s.pool.Bytes(), mine), w.Flush())
	return errors.Join(err, file.Close())
}

// stop ends both endpoints; the file's registration ends before its agent.
func (s *storage) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if s.store != nil {
		err := s.store.Stop(ctx)
		s.report.Receiver = &Finished{}
		c := s.store.Snapshot().Counters
		s.report.Receiver.Admitted, s.report.Receiver.Released = c.Admitted, c.Released
		if err != nil {
			return err
		}
	}
	if s.side == nil {
		return nil
	}
	err := s.side.stop()
	s.report.Sender = s.finished(err)
	return err
}
