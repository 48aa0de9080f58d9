// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// peer is the receiver as the first process sees it: its events go to the
// timeline, its other replies wait to be asked for.
type peer struct {
	Process
	replies chan reply
	ended   chan struct{} // closed when nothing more comes

	mu  sync.Mutex
	err error // guarded by mu; why it ended
}

// errEnded is the cause of a watch's end.
var errEnded = errors.New("receiver ended")

func newPeer(process Process, event func(Event)) *peer {
	p := &peer{Process: process, replies: make(chan reply, 16), ended: make(chan struct{})}
	go p.read(event)
	return p
}

func (p *peer) read(event func(Event)) {
	defer close(p.ended)
	for {
		var r reply
		err := p.Recv(context.Background(), &r)
		if err != nil && !errors.Is(err, proc.ErrClosed) {
			err = &Failure{Kind: KindPeer, Text: "second process: " + err.Error()}
		}
		if err != nil {
			p.fail(err)
			return
		}
		switch {
		case r.Event != nil:
			event(*r.Event)
		case r.Failed != nil:
			p.fail(r.Failed)
			return
		case r == reply{}:
			p.fail(&Failure{Kind: KindPeer, Text: "second process: an empty reply"})
			return
		default:
			p.replies <- r
		}
	}
}

func (p *peer) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

// endTime is how much later than its stream the receiver's pipe may end.
const endTime = time.Second

// over reports whether the receiver's end explains err: an end of the process
// and an end of its stream may be seen in either order.
func (p *peer) over(err error) bool {
	if errors.Is(err, wire.ErrVersion) || errors.Is(err, backend.ErrMetadata) {
		return false // the receiver may have ended because of it
	}
	wait := time.Duration(0)
	if errors.Is(err, transfer.ErrHandshake) {
		wait = endTime
	}
	select {
	case <-p.ended:
		return true
	case <-time.After(wait):
	}
	select { // with no time to wait either may be taken
	case <-p.ended:
		return true
	default:
		return false
	}
}

// watch is ctx until the receiver ends.
func (p *peer) watch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-p.ended:
			cancel(errEnded)
		case <-done:
		}
	}()
	var once sync.Once
	return ctx, func() { once.Do(func() { close(done) }); cancel(nil) }
}

// next waits for the reply that is wanted; any other is a mistake.
func (p *peer) next(ctx context.Context, want func(reply) bool) (reply, error) {
	select {
	case r := <-p.replies:
		if !want(r) {
			return r, &Failure{Kind: KindPeer, Text: "second process: a reply that nobody asked for"}
		}
		return r, nil
	case <-p.ended:
		select {
		case r := <-p.replies:
			if want(r) {
				return r, nil
			}
		default:
		}
		return reply{}, p.failure(ctx, "before it was done")
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// failure says why the receiver ended: in its own words, or in the kernel's.
func (p *peer) failure(ctx context.Context, when string) error {
	p.mu.Lock()
	err := p.err
	p.mu.Unlock()
	if errors.Is(err, proc.ErrClosed) {
		return &Failure{Kind: KindPeer, Text: fmt.Sprintf("second process %s %s", p.Ending(ctx), when)}
	}
	return err
}
