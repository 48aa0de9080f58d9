// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// Serve lends the files of a folder, and takes files into it, until ctx ends.
func Serve(ctx context.Context, c Config, listener *rpc.Listener, root *os.Root, readOnly bool) error {
	n, err := newNode(c)
	if err != nil {
		return err
	}
	n.source = &Source{root: root, ctx: ctx}
	if !readOnly {
		n.taker = &taker{root: root, jobs: map[string]*takeJob{}}
	}
	return n.run(ctx, func(l *life) error { return l.accept(listener) })
}

// Job is one file that goes one way.
type Job struct {
	Carrier rpc.Config
	Addr    string
	Op      Op
	// Root and Local are where the file is, or is to be; Remote is its name there.
	Root          *os.Root
	Local, Remote string
	Replace       bool
	// Progress is called now and then with how many bytes are there, of how many.
	Progress func(done, size int64)
}

// Result is what came of a job.
type Result struct {
	Peer    string        `json:"peer"`
	File    string        `json:"file"`
	Bytes   int64         `json:"bytes"`
	Resumed int64         `json:"resumed"` // of these were there before
	Digest  string        `json:"digest"`  // SHA-256 of the file, equal on both sides
	Took    time.Duration `json:"took_ns"` // since the two sides knew each other
	Lives   int           `json:"lives"`   // 1, and one more for each that ended in doubt

	began time.Time
}

// Recv gets a file from the node at an address.
func Recv(ctx context.Context, c Config, j Job) (r Result, err error) {
	n, err := newNode(c)
	if err != nil {
		return r, err
	}
	return n.client(ctx, j, func(ctx context.Context, l *life, peer string) error { return l.recv(ctx, peer, j, &r) }, &r)
}

// Send puts a file at the node at an address.
func Send(ctx context.Context, c Config, j Job) (r Result, err error) {
	n, err := newNode(c)
	if err != nil {
		return r, err
	}
	n.source = &Source{root: j.Root, ctx: ctx, names: map[string]string{j.Remote: j.Local}}
	f, shape, err := n.source.open(j.Remote, n.config.Chunk)
	if err != nil {
		return r, err
	}
	if err := f.Close(); err != nil {
		return r, err
	}
	n.sent.begin(shape)
	return n.client(ctx, j, func(ctx context.Context, l *life, peer string) error { return l.put(ctx, peer, shape, j, &r) }, &r)
}

// client runs a conversation with the node at an address: anew with each life of
// either side.
func (n *Node) client(ctx context.Context, j Job, talk func(context.Context, *life, string) error, r *Result) (Result, error) {
	r.File = j.Remote
	err := n.run(ctx, func(l *life) error {
		r.Lives++
		return l.converse(j, talk, r)
	})
	return *r, err
}

// converse keeps the link, and begins the conversation anew with each
// incarnation of the peer.
func (l *life) converse(j Job, talk func(context.Context, *life, string) error, r *Result) error {
	found := make(chan *transfer.Link, 1)
	kept := make(chan error, 1)
	l.start(func() {
		kept <- l.keep(j.Carrier, j.Addr, func(link *transfer.Link) {
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
			if r.began.IsZero() {
				r.began = time.Now()
			}
			r.Peer, now = link.Peer(), l.talk(link, talk)
		case <-now.done():
			r.Took = time.Since(r.began)
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

func (l *life) talk(link *transfer.Link, talk func(context.Context, *life, string) error) *conversation {
	ctx, cancel := context.WithCancel(l.ctx)
	c := &conversation{with: link, cancel: cancel, over: make(chan struct{})}
	go func() {
		defer close(c.over)
		c.err = talk(ctx, l, link.Peer())
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

func (l *life) recv(ctx context.Context, peer string, j Job, r *Result) error {
	n, err := l.insist(ctx, peer, message{Do: doGet, File: j.Remote})
	if err != nil {
		return err
	}
	if n.Chunk > l.node.config.Chunk {
		n.Chunk = l.node.config.Chunk
	}
	s, err := openSink(ctx, j.Root, j.Local, n.Shape, j.Replace)
	if err != nil {
		return err
	}
	r.Bytes, r.Resumed = n.Size, max(r.Resumed, s.Resumed)
	stop := j.report(s.done.Load, n.Size)
	defer stop()
	d, err := l.complete(ctx, peer, j.Remote, j.Op, s)
	if err == nil {
		err = s.forget()
	}
	r.Digest = d.String()
	return err
}

func (l *life) put(ctx context.Context, peer string, shape Shape, j Job, r *Result) error {
	r.Bytes = shape.Size
	_, err := l.insist(ctx, peer, message{Do: doPut, File: j.Remote, Shape: shape, Op: j.Op, Replace: j.Replace})
	if err != nil {
		return err
	}
	stop := j.report(l.node.sent.have.Load, shape.Size)
	done, err := l.node.sent.wait(ctx)
	stop()
	if err != nil {
		return err
	}
	if done.Error != "" {
		return &RefusedError{Peer: peer, Reason: done.Error}
	}
	ours, err := l.node.source.hash(j.Remote, shape).wait(ctx)
	r.Digest, r.Resumed = ours.String(), done.Resumed
	if err == nil && r.Digest != done.Digest {
		err = fmt.Errorf("%w: %s is %s there, and %s here", ErrChecksum, j.Remote, done.Digest, r.Digest)
	}
	return err
}

// report calls Progress until it is stopped.
func (j *Job) report(done func() int64, size int64) (stop func()) {
	if j.Progress == nil {
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
				j.Progress(min(done(), size), size)
			case <-over:
				j.Progress(min(done(), size), size)
				return
			}
		}
	}()
	return func() { close(over); <-ended }
}
