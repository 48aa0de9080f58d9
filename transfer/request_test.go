// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"bytes"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// extra registers one more arena, which lives until the test ends.
func (p *party) extra(id string) *transfer.Region {
	p.t.Helper()
	arena, err := memory.New(memory.Spec{Len: size})
	must(p.t, err)
	p.t.Cleanup(func() { arena.Close() })
	region, err := p.Register(id, arena)
	must(p.t, err)
	return region
}

func TestRequestSaysWhatIsWanted(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		name := ownership.SessionName{Request: ownership.RequestID{Endpoint: "router", Number: 7}, Attempt: 3}
		blocks := []transfer.Block{{Offset: 8192, Len: 4096}, {Offset: 0, Len: 1024}}
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{
			Session: name, Piece: "layer 3", Region: g.r.region, Blocks: blocks, From: transfer.FromPeers(sender), Label: "chat 42",
		})
		must(t, err)
		r := <-g.s.requests
		if r.Session() != name || r.Piece() != "layer 3" || r.Peer() != receiver || r.Label() != "chat 42" || r.Len() != 5120 || !slices.Equal(r.Lens(), []uint64{4096, 1024}) {
			t.Errorf("got session %v piece %q peer %q label %q lens %v", r.Session(), r.Piece(), r.Peer(), r.Label(), r.Lens())
		}
		must(t, r.Refuse("not in the cache"))
		must(t, r.Refuse("twice is fine"))
		must(t, rs.Drain(t.Context()))
		wantAnswer(t, rs, "CANCELLED, cause cancel, origin peer")
		_, err = r.Send(transfer.SendSpec{Region: g.s.region, Blocks: []transfer.Block{{Len: 5120}}})
		wantErr(t, err, transfer.ErrAnswered)
		g.s.expect("refused: not in the cache")
	})
}

// Blocks on both sides may lie in any order and be cut in different places.
func TestScatteredBlocks(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		fill(g.s.arena, 'a')
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{
			Region: g.r.region, Blocks: []transfer.Block{{Offset: 1000, Len: 300}, {Offset: 0, Len: 700}}, From: transfer.FromPeers(sender),
		})
		must(t, err)
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region, Blocks: []transfer.Block{{Offset: 5000, Len: 500}, {Offset: 64, Len: 500}}})
		must(t, err)
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		src, dst := g.s.arena.Bytes(), g.r.arena.Bytes()
		sent := slices.Concat(src[5000:5500], src[64:564])
		if got := slices.Concat(dst[1000:1300], dst[:700]); !bytes.Equal(got, sent) {
			t.Error("the bytes differ")
		}
		if !bytes.Equal(dst[700:1000], make([]byte, 300)) || !bytes.Equal(dst[1300:], make([]byte, size-1300)) {
			t.Error("bytes landed outside of the blocks")
		}
	})
}

// Requests that come before the application listens wait, in order.
func TestRequestsWaitForTheApplication(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		g.s.OnRequest(nil)
		var sessions []*transfer.Session
		for _, id := range []string{"one", "two", "three"} {
			rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.extra(id), From: transfer.FromPeers(sender), Label: id})
			must(t, err)
			sessions = append(sessions, rs)
		}
		synctest.Wait()
		got := make(chan *transfer.Request, 3)
		g.s.OnRequest(func(r *transfer.Request) { got <- r })
		for range 3 {
			_, err := (<-got).Send(transfer.SendSpec{Region: g.s.region}) // send owners share
			must(t, err)
		}
		for _, rs := range sessions {
			must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context())))
		}
	})
}

// slowConnect holds every Connect while the gate is there.
type slowConnect struct {
	*loop.Agent
	gate atomic.Pointer[chan struct{}]
}

func (b *slowConnect) Connect(peer string, metadata []byte) error {
	if gate := b.gate.Load(); gate != nil {
		<-*gate
	}
	return b.Agent.Connect(peer, metadata)
}

// A request is not handed over before the metadata that it needs is loaded,
// and once only.
func TestRequestWaitsForItsMetadata(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		slow := &slowConnect{}
		s := g.party("prefill-1", func(c *transfer.Config) {
			slow.Agent = c.Backend.(*loop.Agent)
			c.Backend, c.OnRequest = slow, nil
		})
		attach(t, s, g.r)
		gate := make(chan struct{})
		slow.gate.Store(&gate)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.extra("late"), From: transfer.FromPeers("prefill-1")})
		must(t, err)
		synctest.Wait()
		got := make(chan *transfer.Request, 2)
		s.OnRequest(func(r *transfer.Request) { got <- r })
		synctest.Wait()
		if len(got) != 0 {
			t.Error("the request came before its metadata")
		}
		close(gate)
		_, err = (<-got).Send(transfer.SendSpec{Region: s.region})
		must(t, errors.Join(err, rs.Wait(t.Context()), rs.Drain(t.Context())))
		if len(got) != 0 {
			t.Error("the request came twice")
		}
	})
}

// A full table turns a request away; the receiver's cancel is answered all the same.
func TestFullTableOfRequests(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		s := g.party("prefill-1", func(c *transfer.Config) { c.Requests = 1 })
		attach(t, s, g.r)
		first, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-1")})
		must(t, err)
		second, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.extra("more"), From: transfer.FromPeers("prefill-1")})
		must(t, err)
		synctest.Wait()
		if n := s.Counters().RequestsTurnedAway; n != 1 {
			t.Errorf("%d requests turned away, want 1", n)
		}
		_, err = second.Cancel()
		must(t, errors.Join(err, second.Drain(t.Context())))
		must(t, (<-s.requests).Refuse("enough"))
		must(t, first.Drain(t.Context()))
	})
}

// Regions that are registered after the Hello travel with the next request.
func TestMetadataFollowsRegistrations(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		late := g.r.extra("late")
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: late, From: transfer.FromPeers(sender)})
		must(t, err)
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		must(t, late.Deregister())
		if _, known := late.State(); known {
			t.Error("a deregistered region is still known")
		}
		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: late, From: transfer.FromPeers(sender)})
		wantErr(t, err, ownership.ErrInvalidArgument)
	})
}

// Several senders write one region; each is a claim of its own.
func TestSeveralSenders(t *testing.T) {
	atOnce(t, loop.Config{Auto: true, BytesPerTick: 512}, func(t *testing.T, g *rig) {
		other := g.party("prefill-1")
		attach(t, g.s, g.r)
		attach(t, other, g.r)
		fill(g.s.arena, 'a')
		fill(other.arena, 'A')
		half := func(i uint64) []transfer.Block { return []transfer.Block{{Offset: i * size / 2, Len: size / 2}} }
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: []transfer.Accessor{
			{Peer: sender, Blocks: half(0)}, {Peer: "prefill-1", Blocks: half(1)},
		}})
		must(t, err)
		for i, p := range []*party{g.s, other} {
			_, err := (<-p.requests).Send(transfer.SendSpec{Region: p.region, Blocks: half(uint64(i))})
			must(t, err)
		}
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context())))
		got := g.r.arena.Bytes()
		if !bytes.Equal(got[:size/2], g.s.arena.Bytes()[:size/2]) || !bytes.Equal(got[size/2:], other.arena.Bytes()[size/2:]) {
			t.Error("the halves are not those of their senders")
		}
	})
}

// An operation that the backend never took is a failure with nothing at risk.
func TestOperationThatIsNotSubmitted(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		must(t, g.fabric.Inject(sender, loop.Fault{Status: backend.NotSubmitted}))
		rs, ss := g.begin()
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		wantAnswer(t, ss, "FAILED, cause not_submitted, origin local")
		wantAnswer(t, rs, "FAILED, cause failed, origin peer")
		g.s.expect("unexposed: PUBLISHED -> SAFE_UNPUBLISHED")
		if a := g.s.Snapshot().Admission; a != ownership.AdmissionOpen {
			t.Errorf("admission is %v: there is no doubt here", a)
		}
	})
}

// An error is no proof: the operation stays watched, and its DONE settles it.
func TestErrorThatEndsAfterAll(t *testing.T) {
	atOnce(t, loop.Config{Auto: true, BytesPerTick: 1024}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		must(t, g.fabric.Inject(sender, loop.Fault{Status: backend.Error, After: 4096, Transient: true}))
		rs, ss := g.begin()
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		wantAnswer(t, ss, "FAILED, cause doubt, origin local")
		wantAnswer(t, rs, "FAILED, cause doubt, origin peer")
		g.r.expect("doubt: PUBLISHED -> IN_DOUBT", "settle: IN_DOUBT -> FAILED_QUIESCED", "released")
		must(t, errors.Join(g.s.Reopen(), g.r.Reopen()))
	})
}

func TestSpecsThatAreRefused(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		for name, test := range map[string]struct {
			spec transfer.ReceiveSpec
			want error
		}{
			"no region":      {transfer.ReceiveSpec{From: transfer.FromPeers(sender)}, transfer.ErrConfig},
			"foreign region": {transfer.ReceiveSpec{Region: g.s.region, From: transfer.FromPeers(sender)}, transfer.ErrConfig},
			"nobody":         {transfer.ReceiveSpec{Region: g.r.region}, transfer.ErrConfig},
			"unknown peer":   {transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("who")}, transfer.ErrNoPeer},
			"a peer twice":   {transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender, sender)}, ownership.ErrInvalidArgument},
			"empty block":    {transfer.ReceiveSpec{Region: g.r.region, Blocks: []transfer.Block{{}}, From: transfer.FromPeers(sender)}, transfer.ErrConfig},
			"block outside":  {transfer.ReceiveSpec{Region: g.r.region, Blocks: []transfer.Block{{Offset: size, Len: 1}}, From: transfer.FromPeers(sender)}, transfer.ErrConfig},
			"block too long": {transfer.ReceiveSpec{Region: g.r.region, Blocks: []transfer.Block{{Offset: 1, Len: ^uint64(0)}}, From: transfer.FromPeers(sender)}, transfer.ErrConfig},
			"overlap":        {transfer.ReceiveSpec{Region: g.r.region, Blocks: []transfer.Block{{Offset: 8, Len: 4}, {Len: 9}}, From: transfer.FromPeers(sender)}, transfer.ErrConfig},
			"block twice":    {transfer.ReceiveSpec{Region: g.r.region, Blocks: []transfer.Block{{Len: 9}, {Len: 9}}, From: transfer.FromPeers(sender)}, transfer.ErrConfig},
			"unprintable":    {transfer.ReceiveSpec{Region: g.r.region, Label: "a\nb", From: transfer.FromPeers(sender)}, transfer.ErrConfig},
			"bad session":    {transfer.ReceiveSpec{Region: g.r.region, Session: ownership.SessionName{Request: ownership.RequestID{Endpoint: "a"}}, From: transfer.FromPeers(sender)}, transfer.ErrConfig},
		} {
			s, err := g.r.Receive(t.Context(), test.spec)
			if !errors.Is(err, test.want) || s != nil {
				t.Errorf("%s: got %v, want %v", name, err, test.want)
			}
		}
		if n := g.r.Counters().Owners; n != 0 {
			t.Errorf("%d owners are left behind", n)
		}
		rs, request := g.request()
		for name, spec := range map[string]transfer.SendSpec{
			"no region":      {},
			"foreign region": {Region: g.r.region},
			"wrong length":   {Region: g.s.region, Blocks: []transfer.Block{{Len: 5}}},
			"block outside":  {Region: g.s.region, Blocks: []transfer.Block{{Offset: 1, Len: size}}},
		} {
			if _, err := request.Send(spec); !errors.Is(err, transfer.ErrConfig) {
				t.Errorf("send, %s: got %v, want ErrConfig", name, err)
			}
		}
		_, err := request.Send(transfer.SendSpec{Region: g.s.region}) // none of it was an answer
		must(t, errors.Join(err, rs.Wait(t.Context())))
	})
}
