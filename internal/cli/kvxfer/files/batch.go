// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// Job is files that go one way, several at once.
type Job struct {
	Carrier rpc.Config
	Addr    string
	Op      Op
	Files   []File
	Replace bool
	SHA256  bool // also what sha256sum prints of each
	// Progress is called now and then, and Ended with what became of each file, from
	// one goroutine at a time.
	Progress func(Progress)
	Ended    func(Result)
}

// File is one of them: where it is, or is to be, and its name at the peer.
type File struct {
	Root          *os.Root
	Local, Remote string
}

// Progress is how far a job is.
type Progress struct {
	Bytes int64 `json:"bytes"` // are there
	Size  int64 `json:"size"`  // of the files whose size is known by now
	Ended int   `json:"ended"` // files, in place or given up
	Files int   `json:"files"`
}

// Result is what became of one file.
type Result struct {
	File    string        `json:"file"` // its name at the peer
	Bytes   int64         `json:"bytes"`
	Resumed int64         `json:"resumed"`          // of these were there before
	SHA256  string        `json:"sha256,omitempty"` // what sha256sum prints of it, where that was asked for
	Took    time.Duration `json:"took_ns"`          // since its turn came
	Err     error         `json:"-"`                // nil: it is in place, and equal on both sides
}

// Summary is what became of a job.
type Summary struct {
	Peer    string
	Results []Result      // in the order of Job.Files
	Took    time.Duration // since the two sides knew each other
	Lives   int           // 1, and one more for each that ended in doubt
}

// ErrNotDone: the job ended before the file was in place.
var ErrNotDone = errors.New("not done")

// batch is a job over the lives of the node.
type batch struct {
	Job
	items []*item
	mu    sync.Mutex // of Progress and Ended
	peer  string
	lives int
	began time.Time
}

// item is one file of a batch.
type item struct {
	File
	size   atomic.Int64
	have   atomic.Pointer[atomic.Int64] // nil before anything is known
	over   atomic.Bool
	began  time.Time
	result Result // of one goroutine at a time
}

func newBatch(j Job) *batch {
	b := &batch{Job: j}
	for _, f := range j.Files {
		b.items = append(b.items, &item{File: f, result: Result{File: f.Remote}})
	}
	return b
}

func (it *item) end(err error) {
	it.result.Err = err
	if !it.began.IsZero() {
		it.result.Took = time.Since(it.began)
	}
	it.over.Store(true)
}

// left are the files that have no result yet.
func (b *batch) left() (list []*item) {
	for _, it := range b.items {
		if !it.over.Load() {
			list = append(list, it)
		}
	}
	return list
}

// move is how one file goes, with one incarnation of a peer.
type move func(l *life, ctx context.Context, peer string, j *Job, it *item) error

// client runs a batch with the node at its address: anew with each life of either
// side, for what is left.
func (n *Node) client(ctx context.Context, b *batch, m move) (Summary, error) {
	for _, it := range b.items {
		if it.over.Load() { // could not even begin
			b.ended(it)
		}
	}
	if len(b.left()) == 0 {
		return b.summary(), n.unmap()
	}
	stop := b.report()
	err := n.run(ctx, func(l *life) error {
		b.lives++
		return l.converse(b, m)
	})
	stop()
	for _, it := range b.left() {
		it.end(ErrNotDone)
		b.ended(it)
	}
	return b.summary(), err
}

func (b *batch) summary() Summary {
	s := Summary{Peer: b.peer, Lives: b.lives}
	if !b.began.IsZero() {
		s.Took = time.Since(b.began)
	}
	for _, it := range b.items {
		s.Results = append(s.Results, it.result)
	}
	return s
}

// run moves what is left, several files at once, until ctx ends.
func (b *batch) run(ctx context.Context, l *life, peer string, m move) error {
	return spread(ctx, l.node.config.Parallel, b.left(), func(it *item) {
		if it.began.IsZero() {
			it.began = time.Now()
		}
		err := m(l, ctx, peer, &b.Job, it)
		if err != nil && ctx.Err() != nil {
			return // with the next life it goes on
		}
		it.end(err)
		b.ended(it)
	})
}

func (b *batch) ended(it *item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Ended != nil {
		b.Ended(it.result)
	}
}

// report calls Progress until it is stopped.
func (b *batch) report() (stop func()) {
	if b.Progress == nil {
		return func() {}
	}
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				b.progress()
			case <-over:
				b.progress()
				return
			}
		}
	}()
	return func() { close(over); <-ended }
}

func (b *batch) progress() {
	p := Progress{Files: len(b.items)}
	for _, it := range b.items {
		size := it.size.Load()
		p.Size += size
		if have := it.have.Load(); have != nil {
			p.Bytes += min(have.Load(), size)
		}
		if it.over.Load() {
			p.Ended++
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Progress(p)
}

// converse keeps the link, and begins the conversation anew with each incarnation of
// the peer.
func (l *life) converse(b *batch, m move) error {
	found := make(chan *transfer.Link, 1)
	kept := make(chan error, 1)
	l.start(func() {
		kept <- l.keep(b.Carrier, b.Addr, func(link *transfer.Link) {
			select {
			case <-found: // an older one
			default:
			}
			found <- link
		})
	})
	var now *conversation
	defer func() { now.end() }()
	for {
		select {
		case link := <-found:
			if now != nil && now.with.Incarnation() == link.Incarnation() {
				continue // the same one goes on
			}
			now.end()
			if b.began.IsZero() {
				b.began = time.Now()
			}
			b.peer, now = link.Peer(), l.talk(link, b, m)
		case <-now.done():
			return now.err
		case err := <-kept:
			return err
		}
	}
}

// conversation is with one incarnation of a peer. A nil one has ended.
type conversation struct {
	with   *transfer.Link
	cancel context.CancelFunc
	over   chan struct{}
	err    error // once over is closed
}

func (l *life) talk(link *transfer.Link, b *batch, m move) *conversation {
	ctx, cancel := context.WithCancel(l.ctx)
	c := &conversation{with: link, cancel: cancel, over: make(chan struct{})}
	go func() {
		defer close(c.over)
		c.err = b.run(ctx, l, link.Peer(), m)
	}()
	return c
}

func (c *conversation) done() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.over
}

func (c *conversation) end() {
	if c != nil {
		c.cancel()
		<-c.over
	}
}
