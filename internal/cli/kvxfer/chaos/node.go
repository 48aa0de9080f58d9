// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	nixlbackend "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// Times of a node: proof may take as long as a run, and a transfer is doubted soon.
const (
	requestTimeout = 2 * time.Minute
	grace          = 2 * time.Minute
	renewTime      = 15 * time.Second
)

func nameOf(node int) string { return fmt.Sprintf("node-%d", node) }

// node is one process of a run.
type node struct {
	job    Job
	parent *proc.Lines
	ep     *transfer.Endpoint
	lib    *nixl.Library
	record *record
	lies   atomic.Bool // other lengths are stated
	slots  chan *slot  // those that nobody owns
	all    []*slot

	mu       sync.Mutex
	agent    string              // guarded by mu
	port     uint16              // guarded by mu; where NIXL listens; 0: it does not
	numbers  uint32              // guarded by mu
	hold     bool                // guarded by mu; requests are kept
	kept     []*transfer.Request // guarded by mu
	outcomes map[string]int      // guarded by mu
	found    []string            // guarded by mu; broken rules
	checked  int64               // guarded by mu; bytes
}

// Serve is one node, until its parent lets go of it.
func Serve(ctx context.Context, job Job, parent *proc.Lines) error {
	n := &node{job: job, parent: parent, outcomes: map[string]int{}, slots: make(chan *slot, job.Regions)}
	if err := n.start(ctx); err != nil {
		return errors.Join(err, parent.Send(reply{Error: err.Error()}))
	}
	if err := parent.Send(reply{}); err != nil {
		return err
	}
	for {
		var o order
		if err := parent.Recv(ctx, &o); err != nil {
			return fmt.Errorf("chaos: the first process is gone: %w", err)
		}
		go func() {
			r := n.obey(ctx, o)
			r.ID = o.ID
			_ = parent.Send(r) // a parent that is gone ends this process
		}()
	}
}

func (n *node) start(ctx context.Context) error {
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	agent := nameOf(n.job.Node) + "." + hex.EncodeToString(id[:])
	var err error
	if n.lib, err = nixl.Open(nixl.Options{Library: n.job.Library}); err != nil {
		return err
	}
	b, err := n.openMain(agent)
	if err != nil {
		return err
	}
	life := ownership.NewIncarnation()
	if n.record, err = newRecord(n.job.Trace, nameOf(n.job.Node), life); err != nil {
		return errors.Join(err, b.Close())
	}
	n.ep, err = transfer.New(transfer.Config{
		Name: nameOf(n.job.Node), Incarnation: life, Agent: agent, Backend: b, Notify: n.job.Notify, Trace: n.record.Step,
		RequestTimeout: requestTimeout, Grace: grace, OperationWait: n.job.Wait,
		Quarantine: ownership.QuarantineOff, // doubts are made on purpose
		Contain:    func(c ownership.Containment) error { n.broken("FATAL: %v", c.Session); return nil },
		OnRequest:  n.requested,
	})
	if err != nil {
		return errors.Join(err, b.Close())
	}
	for i := range n.job.Regions {
		s, err := n.newSlot(i)
		if err != nil {
			return err
		}
		n.all = append(n.all, s)
		n.slots <- s
	}
	return n.meet(ctx)
}

// openMain makes the endpoint's backend.
func (n *node) openMain(agent string) (backend.Backend, error) {
	var port uint16
	if n.job.Exchange {
		var err error
		if port, err = freePort(); err != nil {
			return nil, err
		}
	}
	b, err := n.open(agent, port)
	if err == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.agent, n.port = agent, port
	}
	return b, err
}

// open makes a backend; the progress of this process is its endpoint's.
func (n *node) open(agent string, port uint16) (backend.Backend, error) {
	transport, err := nixl.ParseTransport(n.job.Transport)
	if err != nil {
		return nil, err
	}
	return nixlbackend.New(nixlbackend.Config{Name: agent, Library: n.lib, Transport: transport, Device: "lo", NoProgressThread: true, ListenPort: port})
}

// meet listens for the nodes before this one and dials those after it, again whenever
// a stream has ended.
func (n *node) meet(ctx context.Context) error {
	l, err := rpc.Listen(n.job.Listen)
	if err != nil {
		return err
	}
	go func() {
		for {
			stream, err := l.Accept(ctx)
			if err != nil {
				return
			}
			go func() { _, _ = n.ep.Attach(ctx, n.liar(stream)) }() // the dialler tries again
		}
	}()
	for _, addr := range n.job.Dial {
		go func() { _ = rpc.Config{}.Keep(ctx, n.ep, addr, nil) }()
	}
	return nil
}

// broken records a broken rule.
func (n *node) broken(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.found = append(n.found, fmt.Sprintf("%s: ", nameOf(n.job.Node))+fmt.Sprintf(format, args...))
}

// number is one that this node has never used, in this life or an earlier one.
func (n *node) number() uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.numbers++
	return uint32(n.job.Life)<<20 | n.numbers
}

// obey does one order.
func (n *node) obey(ctx context.Context, o order) (r reply) {
	var err error
	switch {
	case o.Ask != nil:
		r.Outcome, err = n.ask(ctx, *o.Ask)
	case o.Hold != nil:
		n.keep(*o.Hold)
	case o.State:
		r.State, err = n.state()
	case o.Renew:
		r.Outcome, err = n.renew(ctx)
	case o.Gone != nil:
		err = n.gone(o.Gone)
	case o.Abuse != "":
		r.Refused, err = n.abuse(ctx, o.Abuse)
	case o.Lie != nil:
		n.lies.Store(*o.Lie)
	case o.Forget != "":
		err = n.forget(o.Forget)
	case o.Check:
		n.check()
	case o.Stop > 0:
		err = n.stop(ctx, o.Stop)
	default:
		err = errors.New("an empty order")
	}
	if err != nil {
		r.Error = err.Error()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r.Found, n.found = n.found, nil
	return r
}

// renew is another life of the endpoint.
func (n *node) renew(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	r, err := n.ep.Reincarnate(ctx, n.openMain)
	if err == nil && !r.Proven.Own.Proven {
		n.broken("another life without proof for its own memory: %v", r.Proven)
	}
	if errors.Is(err, context.DeadlineExceeded) { // who is in the way
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
	}
	return fmt.Sprintf("freed %d, retained %d", r.Fenced, len(r.Retained)), err
}

// gone asks for what the end of the peers' processes proves.
func (n *node) gone(peers []string) error {
	var errs []error
	for _, p := range peers {
		_, err := n.ep.FenceGone(p)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (n *node) stop(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := n.ep.Stop(ctx)
	if err != nil {
		n.ep.Halt() // nothing goes back; but the trace has an end
	}
	if err := errors.Join(err, n.record.close(n.ep.Snapshot().Counters)); err != nil {
		return err
	}
	if left := n.lib.Handles(); left != (nixl.Handles{}) {
		n.broken("NIXL still has %v after everything was given back", left)
	}
	n.check() // whoever still writes does it to memory that is still mapped
	for _, s := range n.all {
		if err := errors.Join(s.arena.Check(), s.arena.Close()); err != nil {
			n.broken("region %d: %v", s.index, err)
		}
	}
	return nil
}
