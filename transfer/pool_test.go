// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/blocks"
	"github.com/kvxfer/kvxfer/transfer"
)

const (
	blockSize  = 4 << 10
	blockCount = size / blockSize
)

func (p *party) pool() *transfer.Pool {
	p.t.Helper()
	pool, err := p.region.Pool(blockSize)
	must(p.t, err)
	return pool
}

// allocate gives a request n blocks, filled with its own pattern.
func (p *party) allocate(pool *transfer.Pool, request string, n int, pattern byte) (blocks.Name, []blocks.Block) {
	p.t.Helper()
	table := make([]blocks.Block, n)
	name, err := pool.Blocks().Allocate(request, table)
	must(p.t, err)
	for _, b := range table {
		copy(p.bytes(pool, b), bytes.Repeat([]byte{pattern}, blockSize))
	}
	return name, table
}

func (p *party) bytes(pool *transfer.Pool, b blocks.Block) []byte {
	at := pool.Range(b)
	return p.arena.Bytes()[at.Offset : at.Offset+at.Len]
}

// wantContent fails unless every block of the table has one pattern.
func (p *party) wantContent(pool *transfer.Pool, table []blocks.Block, pattern byte) {
	p.t.Helper()
	for _, b := range table {
		if got := p.bytes(pool, b); !bytes.Equal(got, bytes.Repeat([]byte{pattern}, blockSize)) {
			p.t.Fatalf("%s: block %v has %q, want %q", p.Name(), b, got[:4], pattern)
		}
	}
}

func wantFree(t *testing.T, pool *transfer.Pool, n int) {
	t.Helper()
	if st := pool.Blocks().Stats(); st.Free != n || st.Stale != 0 {
		t.Fatalf("%+v, want %d free and no stale unpin; pins %v", st, n, pool.Blocks().Pins())
	}
}

func unpin(t *testing.T, pool *transfer.Pool, names ...blocks.Name) {
	t.Helper()
	_, err := pool.Blocks().Unpin(names...)
	must(t, err)
}

func region(t *testing.T, pool *transfer.Pool, access ownership.Access, holder string, table []blocks.Block) *transfer.Region {
	t.Helper()
	r, err := pool.Region(access, holder, table)
	must(t, err)
	return r
}

// into asks for data into a table's blocks and answers with another table's.
func (g *rig) into(target, source *transfer.Region) (rs, ss *transfer.Session) {
	g.t.Helper()
	rs, err := g.r.Receive(g.t.Context(), transfer.ReceiveSpec{Region: target, From: transfer.FromPeers(sender)})
	must(g.t, err)
	ss, err = (<-g.s.requests).Send(transfer.SendSpec{Region: source})
	must(g.t, err)
	return rs, ss
}

// Two requests with a common prefix are sent at the same time; the first ends
// in the middle. Each block comes back when its last claim is gone, once.
func TestTwoRequestsShareAPrefix(t *testing.T) {
	atOnce(t, loop.Config{BytesPerTick: blockSize}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		from, to := g.s.pool(), g.r.pool()
		first, prefix := g.s.allocate(from, "request 1", 2, 'p')
		own1, tail1 := g.s.allocate(from, "request 1", 1, '1')
		own2, tail2 := g.s.allocate(from, "request 2", 2, '2')
		shared, err := from.Blocks().Pin("request 2", blocks.Hold, prefix)
		must(t, err)
		into1, table1 := g.r.allocate(to, "request 1", 3, 0)
		into2, table2 := g.r.allocate(to, "request 2", 4, 0)

		r1, s1 := g.into(region(t, to, ownership.Writes, "receive 1", table1), region(t, from, ownership.Reads, "send 1", append(prefix[:2:2], tail1...)))
		r2, s2 := g.into(region(t, to, ownership.Writes, "receive 2", table2), region(t, from, ownership.Reads, "send 2", append(prefix[:2:2], tail2...)))
		synctest.Wait()
		g.fabric.Advance(1)
		unpin(t, from, first, own1)
		wantFree(t, from, blockCount-5) // sends keep what requests have left
		_, err = from.Region(ownership.Writes, "late", prefix)
		wantErr(t, err, ownership.ErrRefused)
		g.fabric.Advance(4)
		must(t, errors.Join(r1.Wait(t.Context()), r2.Wait(t.Context())))
		g.r.wantContent(to, table1[:2], 'p')
		g.r.wantContent(to, table1[2:], '1')
		g.r.wantContent(to, table2[:2], 'p')
		g.r.wantContent(to, table2[2:], '2')

		must(t, errors.Join(r1.Drain(t.Context()), s1.Drain(t.Context())))
		wantFree(t, from, blockCount-4) // the tail of request 1
		must(t, errors.Join(r2.Drain(t.Context()), s2.Drain(t.Context()), s2.Close()))
		wantFree(t, from, blockCount-4) // request 2 holds its own
		wantFree(t, to, blockCount-7)   // received, and held by their requests
		wantErr(t, g.s.Stop(t.Context()), ownership.ErrRefused)
		unpin(t, from, shared, own2)
		unpin(t, to, into1, into2)
		wantFree(t, from, blockCount)
		wantFree(t, to, blockCount)
	})
}

// Catalogue 82: a pin count was the only keeper, termination unpins while a
// send reads. The send's own claim keeps the blocks.
func TestPinCountWasTheOnlyKeeper(t *testing.T) {
	atOnce(t, loop.Config{BytesPerTick: blockSize}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		from, to := g.s.pool(), g.r.pool()
		hold, table := g.s.allocate(from, "request 1", 4, 'a')
		into, target := g.r.allocate(to, "request 1", 4, 0)
		rs, ss := g.into(region(t, to, ownership.Writes, "receive", target), region(t, from, ownership.Reads, "send", table))
		synctest.Wait()
		g.fabric.Advance(1)
		_, err := ss.Cancel()
		must(t, err)
		unpin(t, from, hold) // termination
		wantFree(t, from, blockCount-4)
		_, err = from.Blocks().Unpin(hold) // and once more
		wantErr(t, err, blocks.ErrStale)
		next, others := g.s.allocate(from, "request 2", blockCount-4, 'b')
		_, err = from.Blocks().Allocate("request 3", make([]blocks.Block, 1))
		wantErr(t, err, blocks.ErrExhausted)
		g.fabric.Advance(3)
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		g.r.wantContent(to, target, 'a')
		g.s.wantContent(from, others, 'b')
		if n := from.Blocks().Stats().Free; n != 4 {
			t.Errorf("%d blocks are free, want the 4 of request 1", n)
		}
		unpin(t, from, next)
		unpin(t, to, into)
	})
}

// Catalogue 77: request A is freed at once while its write is in flight, B asks
// for pages. It gets none of A's, by allocation or by a number kept too long.
func TestOverlappingPagesWhileInFlight(t *testing.T) {
	atOnce(t, loop.Config{BytesPerTick: blockSize}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		from, to := g.s.pool(), g.r.pool()
		hold, source := g.s.allocate(from, "request A", 8, 'a')
		into, tableA := g.r.allocate(to, "request A", 8, 0)
		rs, ss := g.into(region(t, to, ownership.Writes, "receive A", tableA), region(t, from, ownership.Reads, "send A", source))
		synctest.Wait()
		g.fabric.Advance(2)
		_, err := rs.Cancel()
		must(t, err)
		unpin(t, to, into)
		wantFree(t, to, blockCount-8)
		_, err = to.Blocks().Allocate("request B", make([]blocks.Block, 9))
		wantErr(t, err, blocks.ErrExhausted)
		intoB, tableB := g.r.allocate(to, "request B", 8, 'b')
		for _, access := range []ownership.Access{ownership.Writes, ownership.Reads} {
			var e *blocks.Error
			_, err = to.Region(access, "request B", []blocks.Block{tableB[0], tableA[3]})
			if wantErr(t, err, ownership.ErrRefused); !errors.As(err, &e) || e.Block != tableA[3] || e.By.Holder != "receive A" {
				t.Errorf("%v: %v does not name block and holder", access, err)
			}
		}
		g.fabric.Advance(6)
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		g.r.wantContent(to, tableB, 'b')
		wantFree(t, to, blockCount-8)
		_, err = to.Region(ownership.Writes, "request B", tableA[:1])
		wantErr(t, err, ownership.ErrStale)
		unpin(t, to, intoB)
		unpin(t, from, hold)
	})
}

// Catalogue 74: decode aborts A and frees its pages, B gets pages, A's write
// lands late, after our own wait has run out. It lands in A's and in nobody
// else's, and A's come back on proof.
func TestLateWriteIntoReusedPages(t *testing.T) {
	within(t, 11*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		from, to := g.s.pool(), g.r.pool()
		hold, source := g.s.allocate(from, "request A", 6, 'a')
		into, tableA := g.r.allocate(to, "request A", 6, 0)
		must(t, g.fabric.Stall(receiver))
		rs, ss := g.into(region(t, to, ownership.Writes, "receive A", tableA), region(t, from, ownership.Reads, "send A", source))
		synctest.Wait() // posted
		_, err := rs.Cancel()
		must(t, err)
		unpin(t, to, into)
		unpin(t, from, hold)
		time.Sleep(wait)
		synctest.Wait()
		wantPhysical(t, rs, ownership.PhysicalInDoubt)
		wantFree(t, to, blockCount-6)
		intoB, tableB := g.r.allocate(to, "request B", blockCount-6, 'b')
		must(t, g.fabric.Continue(receiver))
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		g.r.wantContent(to, tableA, 'a')
		g.r.wantContent(to, tableB, 'b')
		wantFree(t, to, 6)
		wantFree(t, from, blockCount)
		intoC, tableC := g.r.allocate(to, "request C", 6, 'c')
		_, err = to.Blocks().Unpin(into) // A's, again
		wantErr(t, err, blocks.ErrStale)
		_, err = to.Blocks().Pin("request A", blocks.Hold, tableA)
		wantErr(t, err, blocks.ErrStale)
		g.r.wantContent(to, tableC, 'c')
		unpin(t, to, intoB, intoC)
		must(t, errors.Join(g.s.Reopen(), g.r.Reopen()))
	})
}

// A region is owned whole or in blocks, and is not deregistered under either.
func TestPoolExcludesTheWhole(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		for _, n := range []uint64{0, 3, size + 1} {
			_, err := g.s.region.Pool(n)
			wantErr(t, err, transfer.ErrConfig)
		}
		rs, ss := g.begin()
		_, err := g.r.region.Pool(blockSize)
		wantErr(t, err, ownership.ErrRefused)
		synctest.Wait()
		g.fabric.Advance(1)
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))

		to := g.r.pool()
		_, err = g.r.region.Pool(blockSize)
		wantErr(t, err, ownership.ErrReject)
		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender)})
		wantErr(t, err, ownership.ErrRefused)
		must(t, g.r.region.Reuse())
		hold, table := g.r.allocate(to, "request", 2, 0)
		wantErr(t, g.r.region.Reuse(), ownership.ErrRefused)
		wantErr(t, g.r.region.Deregister(), ownership.ErrRefused)
		unused := region(t, to, ownership.Writes, "unused", table)
		unpin(t, to, hold)
		wantErr(t, g.r.region.Deregister(), ownership.ErrRefused)
		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: unused, From: transfer.FromPeers("nobody")})
		wantErr(t, err, transfer.ErrNoPeer)
		must(t, unused.Reuse())
		must(t, errors.Join(unused.Deregister(), unused.Deregister()))
		wantFree(t, to, blockCount)
		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: unused, From: transfer.FromPeers(sender)})
		wantErr(t, err, ownership.ErrInvalidArgument)
		must(t, g.r.region.Deregister())
		_, err = to.Blocks().Allocate("late", table)
		wantErr(t, err, blocks.ErrClosed)
	})
}

// One region of blocks may answer several requests; its blocks come back with
// the last of them. Ranges count along the table and may cross blocks.
func TestRegionOfBlocksIsSharedBySends(t *testing.T) {
	atOnce(t, loop.Config{BytesPerTick: blockSize}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		from, to := g.s.pool(), g.r.pool()
		hold, table := g.s.allocate(from, "request", 3, 'x')
		copy(g.s.bytes(from, table[2]), bytes.Repeat([]byte{'z'}, blockSize))
		source := region(t, from, ownership.Reads, "send", []blocks.Block{table[2], table[0]}) // not in the order of the pool
		unpin(t, from, hold)
		wantErr(t, source.Reuse(), ownership.ErrRefused)
		_, err := g.s.Receive(t.Context(), transfer.ReceiveSpec{Region: source, From: transfer.FromPeers(receiver)})
		wantErr(t, err, ownership.ErrRefused)

		hold, target := g.r.allocate(to, "request", 2, 0)
		ask := func(table []blocks.Block) *transfer.Session {
			s, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: region(t, to, ownership.Writes, "receive", table), From: transfer.FromPeers(sender)})
			must(t, err)
			return s
		}
		r1, r2 := ask(target[:1]), ask(target[1:])
		// Requests arrive in any order; both want one block.
		half := transfer.SendSpec{Region: source, Blocks: []transfer.Block{{Offset: blockSize / 2, Len: blockSize}}}
		s1, err := (<-g.s.requests).Send(half)
		must(t, err)
		s2, err := (<-g.s.requests).Send(half)
		must(t, err)
		synctest.Wait()
		g.fabric.Advance(1)
		must(t, errors.Join(r1.Drain(t.Context()), r2.Drain(t.Context()), s1.Drain(t.Context())))
		wantFree(t, from, blockCount-2)
		wantErr(t, source.Deregister(), ownership.ErrRefused)
		must(t, s2.Drain(t.Context()))
		wantFree(t, from, blockCount)
		want := append(bytes.Repeat([]byte{'z'}, blockSize/2), bytes.Repeat([]byte{'x'}, blockSize/2)...)
		for _, b := range target {
			if !bytes.Equal(g.r.bytes(to, b), want) {
				t.Errorf("block %v has other bytes", b)
			}
		}
		unpin(t, to, hold)
	})
}

// After FATAL nothing retires: every pin stays, those of other requests too.
func TestFatalFreezesPins(t *testing.T) {
	inVirtualTime(t, loop.Config{BytesPerTick: 1}, func(t *testing.T, g *rig) {
		g.s.keepOwning, g.r.keepOwning = true, true
		attach(t, g.s, g.r)
		from, to := g.s.pool(), g.r.pool()
		hold, table := g.s.allocate(from, "request", 1, 'a')
		other, _ := g.s.allocate(from, "other", 1, 'b')
		_, target := g.r.allocate(to, "request", 1, 0)
		_, ss := g.into(region(t, to, ownership.Writes, "receive", target), region(t, from, ownership.Reads, "send", table))
		synctest.Wait()
		unpin(t, from, hold)
		must(t, g.fabric.Kill(receiver, 0))
		g.r.Halt()
		<-g.s.Fatal()
		wantErr(t, ss.Close(), ownership.ErrFatal)
		_, err := from.Blocks().Unpin(other)
		wantErr(t, err, blocks.ErrFrozen)
		_, err = from.Region(ownership.Reads, "late", table)
		wantErr(t, err, ownership.ErrFatal)
		wantFree(t, from, blockCount-2)
		wantErr(t, g.s.region.Deregister(), ownership.ErrFatal)
	})
}

// Many requests at once share a prefix, are cancelled or not, and end before
// or after their transfers. In the end every block is back, each once.
func TestManyRequestsOverOnePool(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		from, to := g.s.pool(), g.r.pool()
		system, prefix := g.s.allocate(from, "system prompt", 2, 'p')
		var answers sync.WaitGroup
		g.s.OnRequest(func(r *transfer.Request) {
			answers.Go(func() {
				source, err := from.Region(ownership.Reads, "send "+r.Session().String(), prefix)
				if err == nil {
					var s *transfer.Session
					if s, err = r.Send(transfer.SendSpec{Region: source}); err == nil {
						err = s.Drain(t.Context())
					} else if errors.Is(err, transfer.ErrAnswered) {
						err = source.Deregister() // cancelled before
					} else {
						err = errors.Join(r.Refuse("cancelled"), source.Deregister())
					}
				}
				if err != nil {
					t.Error(err)
				}
			})
		})
		var requests sync.WaitGroup
		for worker := range 6 {
			requests.Go(func() {
				for round := range 20 {
					if err := g.r.oneRequest(to, fmt.Sprintf("%d.%d", worker, round), round%3 == worker%3); err != nil {
						t.Error(err)
					}
				}
			})
		}
		requests.Wait()
		synctest.Wait() // a request that was cancelled may still be on its way to answers
		answers.Wait()
		wantFree(t, to, blockCount)
		wantFree(t, from, blockCount-2)
		unpin(t, from, system)
	})
}

func (p *party) oneRequest(pool *transfer.Pool, name string, cancel bool) error {
	table := make([]blocks.Block, 2)
	hold, err := pool.Blocks().Allocate(name, table)
	if err != nil {
		return err
	}
	target, err := pool.Region(ownership.Writes, name, table)
	if err != nil {
		return err
	}
	s, err := p.Receive(p.t.Context(), transfer.ReceiveSpec{Region: target, From: transfer.FromPeers(sender)})
	if err != nil {
		return err
	}
	if cancel {
		if _, err := s.Cancel(); err != nil {
			return err
		}
		_, err = pool.Blocks().Unpin(hold)
		return errors.Join(err, s.Drain(p.t.Context()))
	}
	if err := errors.Join(s.Wait(p.t.Context()), s.Drain(p.t.Context())); err != nil {
		return err
	}
	for _, b := range table {
		if p.bytes(pool, b)[0] != 'p' {
			return fmt.Errorf("request %s: block %v has no prefix", name, b)
		}
	}
	_, err = pool.Blocks().Unpin(hold)
	return err
}
