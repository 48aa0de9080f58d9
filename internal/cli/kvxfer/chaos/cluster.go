// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/kvxfer/kvxfer/internal/proc"
)

// member is a node as the first process holds it.
type member struct {
	*proc.Child
	job   Job
	words *words

	mu      sync.Mutex
	last    uint64                // guarded by mu
	waiting map[uint64]chan reply // guarded by mu
	found   []string              // guarded by mu; broken rules that it told of
	ended   chan struct{}         // closed when nothing more comes
}

// errEnded says that the node is not there any more.
var errEnded = errors.New("the node has ended")

func (m *member) read() {
	defer close(m.ended)
	for {
		var r reply
		if err := m.Recv(context.Background(), &r); err != nil {
			return
		}
		m.mu.Lock()
		to := m.waiting[r.ID]
		delete(m.waiting, r.ID)
		m.found = append(m.found, r.Found...)
		m.mu.Unlock()
		if to != nil {
			to <- r
		}
	}
}

// begin gives an order, whose answer comes later.
func (m *member) begin(o order) (answer chan reply, err error) {
	answer = make(chan reply, 1)
	m.mu.Lock()
	m.last++
	o.ID = m.last
	m.waiting[o.ID] = answer
	m.mu.Unlock()
	return answer, m.Send(o)
}

// do gives an order and waits for the answer. A node's own error is in the reply.
func (m *member) do(ctx context.Context, o order) (reply, error) {
	answer, err := m.begin(o)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errEnded, err)
	}
	return m.await(ctx, answer)
}

func (m *member) await(ctx context.Context, answer chan reply) (reply, error) {
	select {
	case r := <-answer:
		return r, nil
	default:
	}
	select {
	case r := <-answer:
		return r, nil
	case <-m.ended:
		select {
		case r := <-answer:
			return r, nil
		default:
			return reply{}, fmt.Errorf("node %d: %w", m.job.Node, errEnded)
		}
	case <-ctx.Done():
		return reply{}, fmt.Errorf("node %d: %w", m.job.Node, context.Cause(ctx))
	}
}

// cluster is the nodes of one run.
type cluster struct {
	config *Config
	spec   Spec
	folder string // of the traces; it goes unless keeps
	keeps  bool
	names  []string // where each node listens
	nodes  []*member
	dead   []bool // ended by a fault
	lives  []int
	relay  *relay // nil: the nodes reach each other themselves
}

func newCluster(ctx context.Context, config *Config, spec Spec) (*cluster, error) {
	c := &cluster{config: config, spec: spec, nodes: make([]*member, spec.Nodes), dead: make([]bool, spec.Nodes), lives: make([]int, spec.Nodes)}
	if err := c.makeFolder(); err != nil {
		return nil, err
	}
	for range spec.Nodes {
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails
		c.names = append(c.names, "kvxfer-chaos-"+hex.EncodeToString(id[:]))
	}
	if spec.Fault == ShortReads {
		c.relay = newRelay(spec.Seed)
	}
	for i := range spec.Nodes {
		if err := c.start(ctx, i); err != nil {
			c.close()
			c.discard()
			return nil, err
		}
	}
	return c, nil
}

// start starts a node, for the first time or again.
func (c *cluster) start(ctx context.Context, i int) error {
	words := new(words)
	child, err := c.config.Start(words)
	if err != nil {
		return err
	}
	m := &member{Child: child, words: words, waiting: map[uint64]chan reply{}, ended: make(chan struct{})}
	m.job = Job{
		Node: i, Life: c.lives[i], Library: c.config.Library, Transport: c.spec.Transport, Seed: c.spec.Seed,
		Regions: regions, Bytes: regionBytes(c.spec.Fault), Listen: "unix-abstract:" + c.names[i], Wait: operationWait, Notify: c.spec.Fault == NotificationLost,
		Exchange: c.spec.Fault == MetadataLost, Lengths: c.spec.Fault == Lengths,
		Careless: c.config.careless, Trace: c.traceFile(i, c.lives[i]),
	}
	for k := i + 1; k < c.spec.Nodes; k++ {
		addr := c.names[k]
		if c.relay != nil {
			if addr, err = c.relay.before(addr); err != nil {
				return errors.Join(err, child.Close())
			}
		}
		m.job.Dial = append(m.job.Dial, "unix-abstract:"+addr)
	}
	hello := make(chan reply, 1)
	m.waiting[0] = hello
	go m.read()
	if err := m.Send(m.job); err != nil {
		return errors.Join(err, child.Close())
	}
	r, err := m.await(ctx, hello)
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("chaos: node %d: %w", i, err), child.Close())
	}
	c.nodes[i], c.dead[i] = m, false
	c.lives[i]++
	return nil
}

// kill ends a node, as the fault of the run.
func (c *cluster) kill(i int) {
	c.dead[i] = true
	c.nodes[i].Kill()
}

func (c *cluster) close() {
	for _, m := range c.nodes {
		if m != nil {
			_ = m.Close()
		}
	}
	if c.relay != nil {
		c.relay.close()
		c.relay = nil
	}
}
