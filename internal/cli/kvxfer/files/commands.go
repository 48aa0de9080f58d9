// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"os"

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

// Recv gets files from the node at an address. What became of each is in the summary;
// the error says why those that have none of their own did not get their turn.
func Recv(ctx context.Context, c Config, j Job) (Summary, error) {
	n, err := newNode(c)
	if err != nil {
		return Summary{}, err
	}
	return n.client(ctx, newBatch(j), (*life).recv)
}

// Send puts files at the node at an address; the rest is as for Recv.
func Send(ctx context.Context, c Config, j Job) (Summary, error) {
	n, err := newNode(c)
	if err != nil {
		return Summary{}, err
	}
	b := newBatch(j)
	n.source = &Source{name: map[string]File{}, ctx: ctx}
	for _, it := range b.items {
		n.source.name[it.Remote] = it.File
		f, shape, err := n.source.open(it.Remote, n.config.Chunk)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			it.end(err)
			continue
		}
		it.size.Store(shape.Size)
		it.have.Store(&n.sent.begin(it.Remote, shape).have)
	}
	return n.client(ctx, b, (*life).put)
}

// recv gets one file.
func (l *life) recv(ctx context.Context, peer string, j *Job, it *item) error {
	n, err := l.insist(ctx, peer, message{Do: doGet, File: it.Remote})
	if err != nil {
		return err
	}
	n.Chunk = min(n.Chunk, l.node.config.Chunk)
	s, err := l.open(ctx, peer, it.File, n.Shape, j.Replace)
	if err != nil {
		return err
	}
	it.size.Store(n.Size)
	it.have.Store(s.done)
	it.result.Bytes, it.result.Resumed = n.Size, max(it.result.Resumed, s.Resumed)
	if err := l.complete(ctx, peer, it.Remote, j.Op, s); err != nil {
		return err
	}
	if j.SHA256 {
		if it.result.SHA256, err = plainDigest(ctx, it.Root, it.Local); err != nil {
			return err
		}
	}
	return s.forget()
}

// put lets the peer take one file in.
func (l *life) put(ctx context.Context, peer string, j *Job, it *item) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent, plain := l.node.sent.of(it.Remote), plainAside(ctx, j, it)
	it.result.Bytes = sent.shape.Size
	m := message{Do: doPut, File: it.Remote, Shape: sent.shape, Op: j.Op, Replace: j.Replace}
	if _, err := l.until(ctx, peer, m); err != nil {
		return err
	}
	done, err := sent.wait(ctx)
	switch {
	case err != nil:
		return err
	case done.Error != "":
		return &RefusedError{Peer: peer, Reason: done.Error}
	}
	it.result.Resumed = done.Resumed
	if it.result.SHA256, err = plain(); err != nil {
		return err
	}
	return l.node.source.same(it.Remote, sent.shape)
}

// plainAside computes what sha256sum prints, where that is asked for, beside the
// transfer. It ends with ctx.
func plainAside(ctx context.Context, j *Job, it *item) (result func() (string, error)) {
	if !j.SHA256 {
		return func() (string, error) { return "", nil }
	}
	var sum string
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		sum, err = plainDigest(ctx, it.Root, it.Local)
	}()
	return func() (string, error) { <-done; return sum, err }
}
