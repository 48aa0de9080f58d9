// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// MaxLine bounds one message, in bytes: what is longer is not ours.
const MaxLine = 4 << 20

// ErrClosed says that the other process has closed its end.
var ErrClosed = errors.New("proc: the other process has closed the pipe")

// Lines carries JSON messages, one a line, both ways between two processes.
// Send and Recv may be used from any goroutine.
type Lines struct {
	in  io.ReadCloser
	out io.WriteCloser

	sendMu sync.Mutex
	lines  chan []byte
	quit   chan struct{} // closed by Close
	once   sync.Once
	ended  chan struct{} // closed when nothing more can be received
	err    error         // why; written before ended is closed
}

// NewLines carries messages over a pair of streams, which Close closes.
func NewLines(in io.ReadCloser, out io.WriteCloser) *Lines {
	l := &Lines{in: in, out: out, lines: make(chan []byte, 256), quit: make(chan struct{}), ended: make(chan struct{})}
	go l.read()
	return l
}

func (l *Lines) read() {
	defer close(l.ended)
	sc := bufio.NewScanner(l.in)
	sc.Buffer(make([]byte, 64<<10), MaxLine)
	for sc.Scan() {
		line := append([]byte(nil), sc.Bytes()...)
		select {
		case l.lines <- line:
		case <-l.quit:
			l.err = ErrClosed
			return
		}
	}
	if l.err = sc.Err(); l.err == nil {
		l.err = ErrClosed
	}
}

// Send writes one message.
func (l *Lines) Send(message any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("proc: message %T: %w", message, err)
	}
	l.sendMu.Lock()
	defer l.sendMu.Unlock()
	if _, err := l.out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("%w: %v", ErrClosed, err)
	}
	return nil
}

// Recv reads the next message into v. After the other end has closed it first
// returns what had arrived, then an error that matches ErrClosed.
func (l *Lines) Recv(ctx context.Context, v any) error {
	line, err := l.next(ctx)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("proc: message %.80q: %w", line, err)
	}
	return nil
}

func (l *Lines) next(ctx context.Context) ([]byte, error) {
	select {
	case line := <-l.lines:
		return line, nil
	default:
	}
	select {
	case line := <-l.lines:
		return line, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.ended:
	}
	select { // the last lines and the end may have come together
	case line := <-l.lines:
		return line, nil
	default:
		return nil, fmt.Errorf("proc: receive: %w", l.err)
	}
}

// Ended is closed when the other process has closed its end; messages that
// arrived before can still be received.
func (l *Lines) Ended() <-chan struct{} { return l.ended }

// Close closes both streams.
func (l *Lines) Close() error {
	l.once.Do(func() { close(l.quit) })
	return errors.Join(ignoreClosed(l.out.Close()), ignoreClosed(l.in.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
