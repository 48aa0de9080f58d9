// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"sync"
)

// ordered is the SHA-256 of a file whose chunks pass by in nearly their order. One whose
// turn it is when it is in memory anyway is taken from there, which spares reading it
// again; the others are read from the file.
type ordered struct {
	shape Shape
	grown chan struct{} // has something when there may be more to read

	mu     sync.Mutex
	sum    hash.Hash          // guarded by mu
	next   int64              // guarded by mu; the chunk whose turn it is
	file   io.ReaderAt        // guarded by mu; set by run, as ready and buf are
	ready  func(i int64) bool // whether a chunk is to be read from the file
	buf    []byte
	failed error // guarded by mu; of reading
}

func newOrdered(shape Shape) *ordered {
	return &ordered{shape: shape, grown: make(chan struct{}, 1), sum: sha256.New()}
}

// pass shows a chunk that is in memory, after those before it that were missed. It
// reports whether that was its turn.
func (o *ordered) pass(i int64, data []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.file != nil && o.next < i && o.ready(o.next) {
		if o.read() != nil {
			break
		}
	}
	if i != o.next || o.failed != nil {
		return false
	}
	o.sum.Write(data)
	o.next++
	return true
}

func (o *ordered) wake() {
	select {
	case o.grown <- struct{}{}:
	default:
	}
}

// run reads what is ready and was not seen in memory, until the whole file is done.
func (o *ordered) run(ctx context.Context, f io.ReaderAt, ready func(i int64) bool) (Digest, error) {
	o.mu.Lock()
	o.file, o.ready, o.buf = f, ready, make([]byte, 1<<20)
	o.mu.Unlock()
	defer o.stop()
	for {
		done, read, err := o.step()
		switch {
		case err != nil:
			return Digest{}, err
		case ctx.Err() != nil:
			return Digest{}, context.Cause(ctx)
		case done:
			return Digest(o.sum.Sum(nil)), nil
		case read:
			continue
		}
		select {
		case <-o.grown:
		case <-ctx.Done():
		}
	}
}

// step reads the next chunk, if it is ready.
func (o *ordered) step() (done, read bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.failed != nil:
		return false, false, o.failed
	case o.next == o.shape.chunks():
		return true, false, nil
	case !o.ready(o.next):
		return false, false, nil
	}
	return false, true, o.read()
}

// read takes the next chunk from the file. The caller holds mu.
func (o *ordered) read() error {
	offset, n := o.shape.at(o.next)
	o.next++
	got, err := io.CopyBuffer(o.sum, io.NewSectionReader(o.file, offset, n), o.buf)
	if err == nil && got < n {
		err = io.ErrUnexpectedEOF
	}
	o.failed = err
	return err
}

// stop makes nobody read the file any more.
func (o *ordered) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.file = nil
}
