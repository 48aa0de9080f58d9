// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// posing is a stream whose Hello names another agent, with that one's metadata.
type posing struct {
	transfer.Stream
	agent    string
	metadata []byte
}

func (s *posing) Send(ctx context.Context, m wire.Message) error {
	if h, ok := m.(wire.Hello); ok {
		h.Agent, h.Metadata = s.agent, s.metadata
		m = h
	}
	return s.Stream.Send(ctx, m)
}

// A peer cannot say that another peer's agent is its own, or that ours is: what is
// meant for it would be written into the other's memory. The name is free for another
// peer when its own has let go of it.
func TestAgentIsOfOnePeer(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		third := g.party("decode-1")
		metadata := map[*party][]byte{}
		for _, p := range []*party{g.s, g.r} {
			m, err := p.agent.Metadata()
			must(t, err)
			metadata[p] = m
		}
		pose := func(as *party) error {
			sa, sb := transfer.Pipe()
			done := make(chan struct{})
			go func() {
				_, _ = third.Attach(t.Context(), &posing{sb, as.agent.Name(), metadata[as]})
				close(done)
			}()
			_, err := g.s.Attach(t.Context(), sa)
			<-done
			return err
		}
		for _, as := range []*party{g.r, g.s} {
			err := pose(as)
			wantErr(t, err, transfer.ErrHandshake)
			wantErr(t, err, backend.ErrMetadata)
		}
		attach(t, g.s, third) // under its own name
		must(t, g.r.Stop(t.Context()))
		synctest.Wait()
		must(t, pose(g.r))
	})
}
