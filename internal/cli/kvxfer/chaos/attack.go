// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"math/rand/v2"
	"time"
)

// attack is one fault in one cluster.
type attack struct {
	*cluster
	rng     *rand.Rand
	renewed []bool
	result  *Result
	pending []pendingAsk
	retired []*member // killed ones that came again
}

type pendingAsk struct {
	m      *member
	answer chan reply
}

// attacks is what each fault does.
var attacks = map[Fault]func(*attack, context.Context) error{
	None:             func(a *attack, ctx context.Context) error { a.traffic(a.config.size(12), 0); return nil },
	StopContinue:     (*attack).stopContinue,
	Slow:             (*attack).slow,
	KillBeforePost:   (*attack).killBeforePost,
	KillInFlight:     (*attack).killInFlight,
	KillAfter:        (*attack).killAfter,
	Restart:          (*attack).restart,
	Renew:            (*attack).renew,
	ShortReads:       (*attack).shortReads,
	OutOfBounds:      (*attack).abuse,
	Repost:           (*attack).abuse,
	DoubleRelease:    (*attack).abuse,
	Lengths:          (*attack).lengths,
	MetadataLost:     (*attack).metadataLost,
	Cancels:          (*attack).cancels,
	NotificationLost: (*attack).killInFlight,
}

// traffic begins transfers between random nodes, in random directions; with cancel > 0
// each is cancelled within that time.
func (a *attack) traffic(n int, cancel time.Duration) {
	for range n {
		from, to := a.pair()
		a.ask(from, to, a.rng.IntN(2) == 0, cancel)
	}
}

func (a *attack) pair() (from, to int) {
	from = a.rng.IntN(a.spec.Nodes)
	return from, (from + 1 + a.rng.IntN(a.spec.Nodes-1)) % a.spec.Nodes
}

func (a *attack) ask(from, to int, read bool, cancel time.Duration) {
	o := &askOrder{Peer: nameOf(to), Read: read}
	if cancel > 0 {
		o.Cancel = 1 + time.Duration(a.rng.Int64N(int64(cancel)))
	}
	answer, err := a.nodes[from].begin(order{Ask: o})
	if err == nil { // otherwise it is dead
		a.result.Transfers++
		a.pending = append(a.pending, pendingAsk{a.nodes[from], answer})
	}
}

// collect waits for the answers, for a while: those of sessions with the dead come
// when something proves their end.
func (a *attack) collect(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var left []pendingAsk
	for _, p := range a.pending {
		r, err := p.m.await(ctx, p.answer)
		switch {
		case err == nil && r.Error == "":
			a.result.Outcomes[r.Outcome]++
		case err == nil:
			a.result.Outcomes["refused"]++
		case ctx.Err() != nil:
			left = append(left, p)
		default:
			a.result.Outcomes["asker died"]++
		}
	}
	a.pending = left
}

func (a *attack) victim() int { return a.rng.IntN(a.spec.Nodes) }

// others are the nodes but one.
func (a *attack) others(v int) (list []int) {
	for i := range a.spec.Nodes {
		if i != v {
			list = append(list, i)
		}
	}
	return list
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// inFlight stops a node and makes sure, as far as the transport allows, that operations
// are in flight: those of others towards its memory are posted while it stands still, and
// its own are posted just before.
func (a *attack) inFlight(ctx context.Context, v int) error {
	if err := a.holdAll(ctx, true); err != nil {
		return err
	}
	for _, i := range a.others(v) {
		for _, read := range []bool{false, true} {
			a.ask(v, i, read, 0)
			a.ask(i, v, read, 0)
		}
	}
	pause(ctx, 50*time.Millisecond) // for the requests to arrive
	if err := a.holdOne(ctx, v, false); err != nil {
		return err
	}
	pause(ctx, time.Duration(a.rng.IntN(3000))*time.Microsecond)
	if err := a.nodes[v].Child.Stop(ctx); err != nil {
		return err
	}
	for _, i := range a.others(v) {
		if err := a.holdOne(ctx, i, false); err != nil {
			return err
		}
	}
	return nil
}

func (a *attack) holdAll(ctx context.Context, hold bool) error {
	for i := range a.nodes {
		if err := a.holdOne(ctx, i, hold); err != nil {
			return err
		}
	}
	return nil
}

func (a *attack) holdOne(ctx context.Context, i int, hold bool) error {
	_, err := a.nodes[i].do(ctx, order{Hold: &hold})
	return err
}

func (a *attack) stopContinue(ctx context.Context) error {
	v := a.victim()
	for range a.config.size(2) {
		if err := a.inFlight(ctx, v); err != nil {
			return err
		}
		a.traffic(4, 0)
		pause(ctx, 2*operationWait)
		if err := a.nodes[v].Continue(ctx); err != nil {
			return err
		}
		a.collect(ctx, never)
	}
	return nil
}

func (a *attack) slow(ctx context.Context) error {
	v := a.victim()
	a.traffic(6, 0)
	for range 12 {
		if err := a.nodes[v].Child.Stop(ctx); err != nil {
			return err
		}
		pause(ctx, 20*time.Millisecond)
		if err := a.nodes[v].Continue(ctx); err != nil {
			return err
		}
		pause(ctx, 2*time.Millisecond)
	}
	return nil
}

func (a *attack) killBeforePost(ctx context.Context) error {
	v := a.victim()
	if err := a.holdOne(ctx, v, true); err != nil {
		return err
	}
	for _, i := range a.others(v) {
		a.ask(i, v, false, 0)
		a.ask(i, v, true, 0)
		a.ask(v, i, false, 0)
	}
	pause(ctx, 50*time.Millisecond)
	a.kill(v)
	return nil
}

func (a *attack) killInFlight(ctx context.Context) error {
	v := a.victim()
	if a.rng.IntN(2) == 0 { // certainly in flight, or whatever it is just now
		if err := a.inFlight(ctx, v); err != nil {
			return err
		}
	} else {
		a.traffic(8, 0)
	}
	pause(ctx, time.Duration(a.rng.IntN(15000))*time.Microsecond)
	a.kill(v)
	return nil
}

func (a *attack) killAfter(ctx context.Context) error {
	v := a.victim()
	a.traffic(6, 0)
	a.collect(ctx, 10*time.Second)
	a.kill(v)
	for _, i := range a.others(v) {
		a.ask(i, v, a.rng.IntN(2) == 0, 0)
	}
	return nil
}

func (a *attack) restart(ctx context.Context) error {
	v := a.victim()
	for range a.config.size(1) {
		a.traffic(8, 0)
		pause(ctx, time.Duration(a.rng.IntN(15000))*time.Microsecond)
		a.kill(v)
		a.retired = append(a.retired, a.nodes[v])
		if err := a.start(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

func (a *attack) renew(ctx context.Context) error {
	v := a.victim()
	a.traffic(8, 0)
	pause(ctx, time.Duration(a.rng.IntN(10000))*time.Microsecond)
	for range a.config.size(2) {
		if err := a.another(ctx, v); err != nil {
			return err
		}
		a.traffic(2, 0)
	}
	return nil
}

// another gives a node another life.
func (a *attack) another(ctx context.Context, v int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	a.renewed[v] = true
	r, err := a.nodes[v].do(ctx, order{Renew: true})
	if err == nil && r.Error != "" {
		a.result.find("node %d: another life: %s", v, r.Error)
	}
	return err
}

func (a *attack) shortReads(ctx context.Context) error {
	for range a.config.size(3) {
		a.traffic(4, 0)
		pause(ctx, time.Duration(a.rng.IntN(20))*time.Millisecond)
		a.relay.cut()
	}
	return nil
}

func (a *attack) abuse(ctx context.Context) error {
	for _, m := range a.nodes {
		a.traffic(2, 0)
		r, err := m.do(ctx, order{Abuse: a.spec.Fault})
		if err != nil {
			return err
		}
		if a.result.Refused += r.Refused; r.Error != "" {
			a.result.find("node %d: %s: %s", m.job.Node, a.spec.Fault, r.Error)
		}
	}
	return nil
}

func (a *attack) cancels(ctx context.Context) error {
	for begun := 0; begun < a.config.Cancels; begun += 8 {
		a.traffic(min(8, a.config.Cancels-begun), 4*time.Millisecond)
		a.collect(ctx, 20*time.Second)
	}
	return nil
}
