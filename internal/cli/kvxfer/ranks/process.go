// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ranks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/etcd"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/ownership"
)

// process is one rank.
type process struct {
	plan     Plan
	rank     *cluster.Rank
	recorder *recorder
	began    time.Time

	mu    sync.Mutex
	held  int           // guarded by mu; parts that are open here
	empty chan struct{} // guarded by mu; closed while there are none
	times int           // guarded by mu; how often the failpoint was reached
}

// Serve is the process of one rank: it joins and does what the router says
// until that tells it to end.
func Serve(ctx context.Context, plan Plan, router *proc.Lines) error {
	p := &process{plan: plan, began: time.Now(), empty: make(chan struct{})}
	close(p.empty)
	joined, done, err := p.join(ctx)
	defer done()
	if err != nil {
		_ = router.Send(answer{Error: err.Error()})
		return err
	}
	if err := router.Send(answer{Joined: joined}); err != nil {
		return err
	}
	for {
		var c command
		if err := router.Recv(ctx, &c); err != nil {
			return err
		}
		if c.Quit {
			return nil
		}
		a, reply := p.do(ctx, c)
		if reply {
			if err := router.Send(a); err != nil {
				return err
			}
		}
	}
}

// join starts what the plan says and becomes a rank. done undoes it all.
func (p *process) join(ctx context.Context) (j *Joined, done func(), err error) {
	j = &Joined{}
	var undo []func()
	done = func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
	if p.recorder, err = newRecorder(p.plan.Folder, p.plan.Rank); err != nil {
		return nil, done, err
	}
	if p.plan.Embedded != "" {
		server, err := etcd.Start(ctx, etcd.ServerConfig{Dir: p.plan.Embedded})
		if err != nil {
			return nil, done, err
		}
		undo = append(undo, server.Close)
		j.URL = server.URL()
		p.plan.Etcd = Access{Endpoints: []string{j.URL}}
	}
	store, err := Dial(ctx, p.plan.Etcd)
	if err != nil {
		return nil, done, err
	}
	undo = append(undo, func() { _ = store.Close() })
	p.rank, err = cluster.Join(ctx, cluster.Config{
		Group: p.plan.Group, Rank: p.plan.Rank, Ranks: p.plan.Ranks, Store: store, Lease: p.plan.Lease, OnStep: p.failpoint(),
	})
	if err != nil {
		return nil, done, err
	}
	undo = append(undo, func() { _ = p.rank.Close() })
	j.Life = p.rank.Incarnation().String()
	return j, done, nil
}

// Dial connects to etcd.
func Dial(ctx context.Context, a Access) (*etcd.Store, error) {
	secure, err := a.TLS()
	if err != nil {
		return nil, err
	}
	return etcd.Dial(ctx, etcd.Config{Endpoints: a.Endpoints, TLS: secure, Username: a.Username, Password: a.Password})
}

// failpoint ends the process with SIGKILL where the plan says so.
func (p *process) failpoint() func(cluster.Step) {
	if p.plan.FailAt == "" {
		return nil
	}
	return func(s cluster.Step) {
		if s.String() != p.plan.FailAt {
			return
		}
		p.mu.Lock()
		p.times++
		die := p.times == p.plan.FailAfter
		p.mu.Unlock()
		if die {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is there
		}
	}
}

func (p *process) do(ctx context.Context, c command) (a answer, reply bool) {
	switch {
	case c.AskEpoch:
		e, err := p.rank.WaitEpoch(ctx)
		if err != nil {
			return answer{Error: err.Error()}, true
		}
		return answer{Epoch: e}, true
	case c.Fence != nil:
		if err := p.fence(ctx, *c.Fence); err != nil {
			return answer{Error: err.Error()}, true
		}
		return answer{}, true
	case c.Finish > 0:
		return answer{Report: p.finish(ctx, c.Finish)}, true
	}
	for n := c.From; n < c.To; n++ {
		p.begin(ctx, n, c.Epoch)
	}
	return answer{}, false
}

// fence writes the record. The rank is in doubt when its lease has ended here,
// which may still have to be heard of.
func (p *process) fence(ctx context.Context, o fenceOrder) error {
	life, err := ownership.ParseIncarnation(o.Life)
	if err != nil {
		return err
	}
	f := cluster.Fence{Rank: o.Rank, Incarnation: life, Kind: o.Kind, Checked: o.Checked, By: o.By}
	p.recorder.record(Fenced, 0, o.Life)
	for {
		err := p.rank.Fence(ctx, f)
		if !errors.Is(err, cluster.ErrAlive) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begin opens a part on a goroutine of its own.
func (p *process) begin(ctx context.Context, n int, epoch cluster.Revision) {
	p.hold(+1)
	go func() {
		defer p.hold(-1)
		life := p.rank.Incarnation().String()
		one, cancel := context.WithTimeout(ctx, p.plan.Lease)
		q, err := p.rank.Open(one, session(n), epoch)
		cancel()
		if err != nil {
			p.recorder.record(Refused, n, life)
			return
		}
		p.recorder.record(Opened, n, life)
		p.run(ctx, n, life, q)
	}()
}

func (p *process) hold(change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == 0 {
		p.empty = make(chan struct{})
	}
	if p.held += change; p.held == 0 {
		close(p.empty)
	}
}

// run is the life of one part: its end, the hardware's last access, and the
// ranks' decision.
func (p *process) run(ctx context.Context, n int, life string, q *cluster.Request) {
	how := p.plan.Mix.Of(n)
	var own <-chan time.Time // when this part ends by itself
	if how == Success || origin(n, p.plan.Ranks) == p.plan.Rank {
		own = time.After(p.plan.Hold)
	}
	end := outcome.Cancelled
	select {
	case <-own:
		p.recorder.record(Ended, n, life)
		end = map[Ending]outcome.State{Success: outcome.Succeeded, Failure: outcome.Failed, Cancel: outcome.Cancelled}[how]
	case <-q.Ended():
	case <-ctx.Done():
		return
	}
	if p.plan.Drain > 0 && end != outcome.Succeeded {
		_ = q.Publish(cluster.State{Outcome: end}) // no error: the outcome is one
		select {
		case <-time.After(p.plan.Drain):
		case <-ctx.Done():
			return
		}
	}
	p.recorder.record(Drained, n, life)
	_ = q.Publish(cluster.State{Outcome: end, Drained: true})
	select {
	case <-q.Retired():
		p.recorder.record(Retired, n, life)
		_ = q.Close() // it is retired
	case <-ctx.Done():
	}
}

func (p *process) finish(ctx context.Context, within time.Duration) *Report {
	p.mu.Lock()
	empty := p.empty
	p.mu.Unlock()
	select {
	case <-empty:
	case <-time.After(within):
	case <-ctx.Done():
	}
	r := &Report{
		Rank: p.plan.Rank, Life: p.rank.Incarnation().String(), Standing: p.rank.Status().Standing.String(),
		Counters: p.rank.Counters(), Ticks: uint64(time.Since(p.began) / cluster.DefaultTick),
	}
	for _, q := range p.rank.Retained() {
		one := Retained{Session: q.Session.String()}
		for _, w := range q.Waits {
			one.Waits = append(one.Waits, fmt.Sprint(w))
		}
		r.Retained = append(r.Retained, one)
	}
	return r
}
