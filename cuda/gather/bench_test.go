// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"fmt"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/cuda/gather"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
)

// benchBytes is what each iteration copies: 64 MiB, out of twice as much.
const benchBytes = 64 << 20

var benchBlocks = []int{16 << 10, 256 << 10}

// BenchmarkCPU gathers on the CPU: plain copies, and the same as a claim of a
// registry from admission to close.
func BenchmarkCPU(b *testing.B) {
	for _, c := range []struct{ bytes, block int }{ // the first one shows what a claim costs
		{4 << 10, 4 << 10}, {benchBytes, 16 << 10}, {benchBytes, 256 << 10},
	} {
		size := c.block
		src, dst := arena(b, 2*c.bytes), arena(b, c.bytes)
		fill(src.Bytes(), 1)
		fill(dst.Bytes(), 2)
		blocks, total := every(src, size)
		spec := gather.Spec{Buffer: all(dst), Blocks: blocks}
		name := fmt.Sprintf("bytes=%dKiB/block=%dKiB/side=", c.bytes>>10, size>>10)
		b.Run(name+"raw", func(b *testing.B) {
			b.SetBytes(int64(total))
			for b.Loop() {
				at := 0
				for _, e := range blocks {
					at += copy(dst.Bytes()[at:], src.Bytes()[e.Offset:e.Offset+e.Len])
				}
			}
		})
		b.Run(name+"owned", func(b *testing.B) {
			engine := new(gather.CPU)
			owned(b, total, func() backend.Local { return got(engine.Gather(spec))(b) })
		})
		ok(b, src.Close())
		ok(b, dst.Close())
	}
}

// BenchmarkGPU gathers in the memory of a GPU: the same list given to the driver
// by hand, then as an owned copy, beside one contiguous copy of as many bytes,
// which is the device's own measure.
func BenchmarkGPU(b *testing.B) {
	ctx := cudatest.RequireGPU(b)
	src, dst := got(ctx.Alloc(2*benchBytes))(b), got(ctx.Alloc(benchBytes))(b)
	stream, done := got(ctx.NewStream())(b), got(ctx.NewEvent())(b)
	whole := got(src.Range(0, benchBytes))(b)
	b.Run("block=all/by=device copy/side=raw", func(b *testing.B) {
		raw(b, done, stream, func() error { return stream.Copy(dst.All(), whole) })
	})
	for _, size := range benchBlocks {
		blocks, total := every(src, size)
		spec := gather.Spec{Buffer: all(dst), Blocks: blocks}
		for _, method := range []gather.Method{gather.Kernel, gather.CopyEngine} {
			name := fmt.Sprintf("block=%dKiB/by=%v/side=", size>>10, method)
			b.Run(name+"raw", func(b *testing.B) {
				submit, end := byHand(b, ctx, stream, method, spec)
				raw(b, done, stream, submit)
				end()
			})
			b.Run(name+"owned", func(b *testing.B) {
				engine := got(gather.NewGPU(ctx, gather.Config{Method: method}))(b)
				owned(b, total, func() backend.Local { return got(engine.Gather(spec))(b) })
				ok(b, engine.Close())
			})
		}
	}
	for _, c := range []interface{ Close() error }{stream, done} {
		ok(b, c.Close())
	}
	ok(b, src.Free())
	ok(b, dst.Free())
}

// raw submits and waits for the event, as a program without ownership does.
func raw(b *testing.B, done *cuda.Event, s *cuda.Stream, submit func() error) {
	b.SetBytes(benchBytes)
	for b.Loop() {
		ok(b, submit())
		ok(b, done.Record(s))
		for state := cuda.EventPending; state == cuda.EventPending; {
			state, _ = done.Query()
		}
	}
}

// byHand is a copy without ownership: the list, which every copy needs anew, and
// the bare calls.
func byHand(b *testing.B, ctx *cuda.Context, s *cuda.Stream, m gather.Method, spec gather.Spec) (submit func() error, end func()) {
	size := spec.Blocks[0].Len
	if m == gather.Kernel {
		size = 16 << 10
	}
	n := spec.Buffer.Len / size
	list := got(ctx.NewCopyList(n))(b)
	fillList := func() {
		ok(b, list.Begin(n))
		at := 0
		for _, e := range spec.Blocks {
			to, err := spec.Buffer.Memory.(*cuda.Memory).Range(at, e.Len)
			ok(b, err)
			from, err := e.Memory.(*cuda.Memory).Range(e.Offset, e.Len)
			ok(b, err)
			ok(b, list.AppendPieces(to, from, size))
			at += e.Len
		}
	}
	if m == gather.CopyEngine {
		return func() error { fillList(); return s.CopyBatch(list) }, func() { ok(b, list.Free()) }
	}
	table := got(ctx.Alloc(n * cuda.CopySize))(b)
	module := got(ctx.LoadModule(gather.KernelPTX))(b)
	kernel := got(module.Function("kvx_copy"))(b)
	grid := uint32(8 * got(ctx.Device().Attribute(cuda.AttrMultiprocessors))(b))
	submit = func() error {
		fillList()
		if err := s.Copy(table.All(), list.Table()); err != nil {
			return err
		}
		var params cuda.Params
		return s.Launch(cuda.Launch{
			Function: kernel, Grid: cuda.Dim{X: min(grid, uint32(n))}, Block: cuda.Dim{X: 256},
			Params: params.Range(table.All()).Uint32(uint32(n)), Uses: list.Uses(),
		})
	}
	return submit, func() {
		ok(b, list.Free())
		ok(b, table.Free())
		ok(b, module.Close())
	}
}

// owned drives a copy as the local claim of a send, from admission to close.
func owned(b *testing.B, bytes int, build func() backend.Local) {
	reg := got(ownership.New(ownership.Config{
		Name: "self", Incarnation: ownership.Incarnation{1}, Contain: func(ownership.Containment) error { return nil },
	}))(b)
	ok(b, reg.AddRegion(ownership.RegionSpec{ID: "slot", Addr: 1 << 40, Len: benchBytes}))
	done := func(_ ownership.Effects, err error) { ok(b, err) }
	b.SetBytes(int64(bytes))
	number := uint64(0)
	for b.Loop() {
		number++
		session := ownership.SessionName{Request: ownership.RequestID{Endpoint: "self", Number: number}, Attempt: 1}
		piece := ownership.PieceName{Session: session, Piece: "kv"}
		local := build()
		done(reg.Admit(0, ownership.SessionSpec{Name: session, Side: ownership.Send}))
		claims, _, err := reg.AddPiece(0, ownership.PieceSpec{
			Name: piece, Region: "slot", Local: true, Access: ownership.Writes,
			Cohort: []ownership.Member{{Accessor: "peer", Incarnation: ownership.Incarnation{2}, Sequence: 1}},
		})
		ok(b, err)
		done(reg.Local(0, claims[1], ownership.LocalStart))
		o := local.Start()
		for o.Status != backend.Done {
			if o = local.Poll(); o.Status == backend.Error {
				b.Fatal(o.Err)
			}
		}
		done(reg.Local(0, claims[1], ownership.LocalDone))
		ok(b, local.Release())
		done(reg.Seal(0, piece))
		for _, s := range []operation.Status{operation.StatusSubmitting, operation.StatusSubmitted, operation.StatusDone} {
			done(reg.Operation(0, ownership.OperationReport{Claim: claims[0], Status: s}))
		}
		done(reg.Finish(0, piece))
		done(reg.Complete(0, session))
		done(reg.Close(0, session))
		for {
			m, waits := reg.Peek("peer")
			if !waits {
				break
			}
			reg.Delivered("peer", m.Number)
		}
		done(reg.Watermark(0, "self", number+1))
	}
}

// BenchmarkBuild is what a copy of 4096 blocks costs the CPU before anything is
// submitted: checks, holds and the list for the device. It needs no GPU.
func BenchmarkBuild(b *testing.B) {
	for _, method := range []gather.Method{gather.Kernel, gather.CopyEngine} {
		b.Run("by="+method.String(), func(b *testing.B) {
			r := newRig(b, gather.Config{Method: method})
			src := r.device(b, 2*benchBytes)
			blocks, total := every(src, 16<<10)
			spec := gather.Spec{Buffer: all(r.device(b, total)), Blocks: blocks}
			b.ReportAllocs()
			for b.Loop() {
				ok(b, got(r.engine.Gather(spec))(b).Release())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(blocks)), "ns/block")
		})
	}
}
