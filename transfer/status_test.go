// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// mumbling is an agent whose operations answer something else than they saw when
// they are posted.
type mumbling struct {
	*loop.Agent
	says backend.Status
}

func (b *mumbling) Prepare(r backend.Request) (backend.Operation, error) {
	o, err := b.Agent.Prepare(r)
	return &mumbled{o, b.says}, err
}

func (b *mumbling) Poll(list []backend.Operation, out []backend.Observation) {
	list = slices.Clone(list)
	for i, o := range list {
		list[i] = o.(*mumbled).Operation
	}
	b.Agent.Poll(list, out)
}

type mumbled struct {
	backend.Operation
	says backend.Status
}

func (o *mumbled) Post() backend.Observation {
	o.Operation.Post()
	return backend.Observation{Status: o.says}
}

// What Post has no word for is ambiguous, the zero status too: the operation is in
// doubt, and its end is late proof and no delivery.
func TestNoAnswerOfPostIsDoubt(t *testing.T) {
	for _, says := range []backend.Status{0, 1, 7, 8, 99} {
		t.Run(says.String(), func(t *testing.T) {
			atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
				p := g.party("prefill-1", func(c *transfer.Config) { c.Backend = &mumbling{c.Backend.(*loop.Agent), says} })
				attach(t, p, g.r)
				rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-1")})
				must(t, err)
				ss, err := (<-p.requests).Send(transfer.SendSpec{Region: p.region})
				must(t, err)
				synctest.Wait()
				wantPhysical(t, ss, ownership.PhysicalInDoubt)
				g.fabric.Advance(2)
				must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
				wantAnswer(t, ss, "FAILED, cause doubt, origin local")
			})
		})
	}
}

// evasive is a copy that goes on, whatever it says.
type evasive struct {
	*loop.Local
	start, poll backend.Status
}

func (l *evasive) Start() backend.Observation {
	l.Local.Start()
	return backend.Observation{Status: l.start}
}

func (l *evasive) Poll() backend.Observation { return backend.Observation{Status: l.poll} }

// A copy that was submitted cannot say later that it never was, and no answer is
// none: it is in doubt, and is not asked again.
func TestNoAnswerOfALocalCopyIsDoubt(t *testing.T) {
	for _, says := range [][2]backend.Status{
		{0, backend.InProgress}, {0, backend.Done}, {99, backend.Done}, {backend.Submitted, 0},
		{backend.Submitted, backend.NotSubmitted}, {backend.InProgress, backend.NotSubmitted},
	} {
		t.Run(says[0].String()+" "+says[1].String(), func(t *testing.T) {
			atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
				attach(t, g.s, g.r)
				rs, request := g.request()
				gather := &evasive{g.local(g.arena(), g.s.arena, loop.Fault{}), says[0], says[1]}
				ss, err := request.Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
				must(t, err)
				synctest.Wait()
				wantAnswer(t, ss, "FAILED, cause doubt, origin local")
				wantErr(t, errors.Join(ss.Close(), g.s.region.Reuse()), ownership.ErrRefused)
				g.fabric.Advance(2)
				must(t, g.s.Fence(ownership.FenceSpec{Accessor: ownership.Local, Scope: ownership.Own}))
				must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
				if gather.Released() {
					t.Error("a copy in doubt was released")
				}
			})
		})
	}
}
