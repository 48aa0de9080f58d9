// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// Defaults of a zero field in [Config].
const (
	DefaultChunk    = 16 << 20
	DefaultParallel = 4
	DefaultPatience = 10 * time.Second
)

// Config is what a node needs to know.
type Config struct {
	Name string // of the endpoint
	// Open makes the backend of one life under a name of its own.
	Open func(name string) (Agent, error)
	// Chunk is how many bytes a slot has room for; a node takes part in transfers
	// of files in smaller chunks as well. Parallel is how many slots there are.
	Chunk    int64
	Parallel int
	// RequestTimeout, Grace and OperationWait are the endpoint's; zero takes its
	// defaults.
	RequestTimeout, Grace, OperationWait time.Duration
	// Patience is how long a peer that is owed may stay away before the node
	// ends its life.
	Patience time.Duration
	// Admin is where package admin serves the endpoint of each life; empty: nowhere.
	Admin string
	Log   *slog.Logger
	// Tell is called with what happens to the node, one word a call; see Event.
	// It may come from several goroutines. Required.
	Tell func(Event)
}

// offerTime is how long what a peer has promised to lend may take to be offered.
func (c *Config) offerTime() time.Duration {
	return cmp.Or(c.RequestTimeout, ownership.DefaultRequestTimeout)
}

// Event is something that a user wants to know.
type Event struct {
	Event string `json:"event"` // attached, lost, renewed, unreachable, receiving, received, failed, sending
	Peer  string `json:"peer,omitempty"`
	File  string `json:"file,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Node is an endpoint over its lives.
type Node struct {
	config Config
	chunks []*memory.Arena
	notes  []*memory.Arena
	source *Source // what peers may read; nil: nothing
	taker  *taker  // where peers may put files; nil: nowhere
	sent   sentFiles
}

// newNode maps the memory of all lives.
func newNode(c Config) (*Node, error) {
	c.Chunk, c.Parallel, c.Patience = cmp.Or(c.Chunk, DefaultChunk), cmp.Or(c.Parallel, DefaultParallel), cmp.Or(c.Patience, DefaultPatience)
	n := &Node{config: c}
	var err error
	if n.chunks, err = newArenas(c.Parallel, c.Chunk+int64(os.Getpagesize())); err != nil {
		return nil, err
	}
	// A note is asked for and answered in memory of its own kind: who waits for
	// the slot of a chunk never keeps a note waiting.
	if n.notes, err = newArenas(2*c.Parallel+2, noteSize); err != nil {
		return nil, errors.Join(err, closeArenas(n.chunks))
	}
	return n, nil
}

// run lives until work returns, or ctx ends: again and again where a life ends
// in doubt. work gets each life and ends with its context.
func (n *Node) run(ctx context.Context, work func(l *life) error) error {
	for {
		l, err := n.begin(ctx)
		if err != nil {
			return errors.Join(err, n.unmap())
		}
		err = work(l)
		cause := context.Cause(l.ctx)
		if kept := l.retire(); kept != nil { // its memory stays mapped, until the process ends
			return kept
		}
		switch {
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), n.unmap())
		case errors.Is(cause, errRenew):
			n.config.Tell(Event{Event: "renewed", Why: cause.Error()})
		default:
			return errors.Join(err, n.unmap())
		}
	}
}

// unmap is for when everything was released.
func (n *Node) unmap() error { return errors.Join(closeArenas(n.chunks), closeArenas(n.notes)) }

// accept attaches who dials, until the life ends.
func (l *life) accept(listener *rpc.Listener) error {
	for {
		stream, err := listener.Accept(l.ctx)
		if err != nil {
			return err
		}
		l.start(func() {
			link, err := l.ep.Attach(l.ctx, stream)
			if err != nil {
				l.node.config.Tell(Event{Event: "refused", Why: err.Error()})
				return
			}
			l.node.config.Tell(Event{Event: "attached", Peer: link.Peer()})
			l.linked(link)
		})
	}
}

// keep stays attached to the node at addr, and returns what cannot be mended.
// Each life of that node that it meets goes to found.
func (l *life) keep(carrier rpc.Config, addr string, found func(*transfer.Link)) error {
	return carrier.Keep(l.ctx, l.ep, addr, func(link *transfer.Link, err error) {
		if err != nil {
			l.node.config.Tell(Event{Event: "unreachable", Why: err.Error()})
			return
		}
		l.node.config.Tell(Event{Event: "attached", Peer: link.Peer()})
		l.linked(link)
		found(link)
	})
}
