// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/cuda/gather"
)

// side is an engine, and how to look into the memory that it copies.
type side struct {
	engine gather.Engine
	memory func(testing.TB, int) gather.Memory
	read   func(testing.TB, gather.Memory) []byte
	write  func(testing.TB, gather.Memory, []byte)
}

func cpuSide(t testing.TB) side {
	bytesOf := func(_ testing.TB, m gather.Memory) []byte { return m.(gather.Host).Bytes() }
	return side{
		engine: new(gather.CPU),
		memory: func(t testing.TB, n int) gather.Memory { return arena(t, n) },
		read:   bytesOf,
		write:  func(t testing.TB, m gather.Memory, b []byte) { copy(bytesOf(t, m), b) },
	}
}

// gpuSide works on a fake as on a real GPU: device memory is reached by copies.
func gpuSide(t testing.TB, ctx *cuda.Context, engine gather.Engine) side {
	t.Helper()
	stream := got(ctx.NewStream())(t)
	t.Cleanup(func() { ok(t, stream.Close()) })
	through := func(t testing.TB, n int, f func(host *cuda.Memory)) {
		t.Helper()
		host := got(ctx.AllocHost(n))(t)
		f(host)
		ok(t, stream.Synchronize())
		ok(t, host.Free())
	}
	return side{
		engine: engine,
		memory: func(t testing.TB, n int) gather.Memory { return got(ctx.Alloc(n))(t) },
		read: func(t testing.TB, m gather.Memory) (b []byte) {
			host := got(ctx.AllocHost(m.Len()))(t)
			ok(t, stream.Copy(host.All(), m.(*cuda.Memory).All()))
			ok(t, stream.Synchronize())
			b = bytes.Clone(host.Bytes())
			ok(t, host.Free())
			return b
		},
		write: func(t testing.TB, m gather.Memory, b []byte) {
			through(t, len(b), func(host *cuda.Memory) {
				copy(host.Bytes(), b)
				ok(t, stream.Copy(m.(*cuda.Memory).All(), host.All()))
			})
		},
	}
}

// checkCopies gathers and scatters random blocks, aligned and not, and compares
// every byte with what plain Go makes of them, those between the blocks too.
func checkCopies(t *testing.T, s side, rounds int) {
	t.Helper()
	const room = 96 << 10
	m, buffer := s.memory(t, room), s.memory(t, room)
	round := 0 // that passed: a failing one must fail again when rapid makes it smaller
	check := func(rt *rapid.T) {
		if round == rounds {
			return
		}
		unit := rapid.SampledFrom([]int{1, 2, 16, 4096}).Draw(rt, "unit")
		var blocks []gather.Extent
		total, at := 0, 0
		for range rapid.IntRange(1, 12).Draw(rt, "blocks") {
			at += unit * rapid.IntRange(0, 5).Draw(rt, "gap")
			n := unit * rapid.IntRange(1, 5).Draw(rt, "length")
			if at+n > room {
				break
			}
			blocks = append(blocks, part(m, at, n))
			total, at = total+n, at+n
		}
		if len(blocks) == 0 {
			return
		}
		blocks = rapid.Permutation(blocks).Draw(rt, "order")
		offset := rapid.IntRange(0, min(33, room-total)).Draw(rt, "offset")
		spec := gather.Spec{Buffer: part(buffer, offset, total), Blocks: blocks}

		scattered, packed := make([]byte, room), make([]byte, room)
		fill(scattered, round)
		fill(packed, 100+round)
		s.write(t, m, scattered)
		s.write(t, buffer, packed)
		run(t, got(s.engine.Gather(spec))(t))
		to := offset
		for _, b := range blocks {
			to += copy(packed[to:], scattered[b.Offset:b.Offset+b.Len])
		}
		if !bytes.Equal(s.read(t, buffer), packed) || !bytes.Equal(s.read(t, m), scattered) {
			rt.Fatal("gather differs")
		}

		fill(packed, 200+round)
		s.write(t, buffer, packed)
		run(t, got(s.engine.Scatter(spec))(t))
		from := offset
		for _, b := range blocks {
			copy(scattered[b.Offset:b.Offset+b.Len], packed[from:])
			from += b.Len
		}
		if !bytes.Equal(s.read(t, m), scattered) || !bytes.Equal(s.read(t, buffer), packed) {
			rt.Fatal("scatter differs")
		}
		round++
	}
	rapid.Check(t, check)
	for _, m := range []gather.Memory{m, buffer} {
		if f, isCUDA := m.(*cuda.Memory); isCUDA {
			ok(t, f.Free())
		}
	}
	ok(t, s.engine.Close())
	ok(t, s.engine.Close())
	if _, err := s.engine.Gather(gather.Spec{Buffer: all(arena(t, 1)), Blocks: []gather.Extent{all(arena(t, 1))}}); err == nil {
		t.Error("a closed engine builds copies")
	}
}

func TestCopiesOfTheCPU(t *testing.T) { checkCopies(t, cpuSide(t), 100) }

func TestCopiesOfTheFake(t *testing.T) {
	for _, define := range []string{"FAKE_VERSION=12080", "FAKE_BATCH_V2", "FAKE_NO_BATCH"} {
		for _, method := range []gather.Method{gather.Kernel, gather.CopyEngine} {
			t.Run(fmt.Sprint(define, method), func(t *testing.T) {
				r := newRig(t, gather.Config{Method: method}, define)
				r.SetMode(cudatest.ByThread)
				checkCopies(t, gpuSide(t, r.ctx, r.engine), 15)
			})
		}
	}
}

func TestCopiesOfAGPU(t *testing.T) {
	for _, method := range []gather.Method{gather.Kernel, gather.CopyEngine} {
		t.Run(method.String(), func(t *testing.T) {
			ctx := cudatest.RequireGPU(t)
			checkCopies(t, gpuSide(t, ctx, got(gather.NewGPU(ctx, gather.Config{Method: method}))(t)), 100)
		})
	}
}

// The kernel's own source, at every alignment of both sides and every length
// around its units.
func TestKernelAtEveryAlignment(t *testing.T) {
	r := newRig(t, gather.Config{Method: gather.Kernel})
	const room = 8 << 10
	src, dst := r.host(t, room), r.host(t, room)
	want := make([]byte, room)
	fill(src.Bytes(), 1)
	lengths := []int{1, 2, 15, 16, 17, 31, 33, 47, 255, 4095, 4097}
	for a := range 16 {
		for b := range 16 {
			n := lengths[(a*16+b)%len(lengths)]
			fill(want, 2)
			copy(dst.Bytes(), want)
			run(t, got(r.engine.Gather(gather.Spec{Buffer: part(dst, a, n), Blocks: []gather.Extent{part(src, b, n)}}))(t))
			copy(want[a:a+n], src.Bytes()[b:])
			if !bytes.Equal(dst.Bytes(), want) {
				t.Fatalf("%d bytes from alignment %d to %d differ", n, b, a)
			}
		}
	}
}

// A copy is one launch, however many blocks it has.
func TestOneLaunchACopy(t *testing.T) {
	r := newRig(t, gather.Config{Method: gather.Kernel})
	src := r.device(t, 1<<20)
	blocks, total := every(src, 1<<10)
	l := got(r.engine.Gather(gather.Spec{Buffer: all(r.device(t, total)), Blocks: blocks}))(t)
	r.Calls()
	run(t, l)
	if heard := strings.Join(r.Calls(), " "); heard != "cuMemcpyAsync cuLaunchKernel cuEventRecord cuEventQuery" {
		t.Errorf("the driver heard %s", heard)
	}
}

// Blocks of several memories: those that are neighbours are one run, and equal
// offsets of two memories are no neighbours.
func TestBlocksOfSeveralMemories(t *testing.T) {
	r := newRig(t, gather.Config{Method: gather.CopyEngine})
	for name, s := range map[string]side{"CPU": cpuSide(t), "copy engine": gpuSide(t, r.ctx, r.engine)} {
		t.Run(name, func(t *testing.T) {
			a, b, buffer := s.memory(t, 256), s.memory(t, 256), s.memory(t, 256)
			one, two := make([]byte, 256), make([]byte, 256)
			fill(one, 1)
			fill(two, 2)
			s.write(t, a, one)
			s.write(t, b, two)
			spec := gather.Spec{Buffer: all(buffer), Blocks: []gather.Extent{part(a, 0, 64), part(a, 64, 32), part(b, 96, 32), part(a, 128, 128)}}
			run(t, got(s.engine.Gather(spec))(t))
			want := slices.Concat(one[:96], two[96:128], one[128:])
			if !bytes.Equal(s.read(t, buffer), want) {
				t.Error("gather differs")
			}
			s.write(t, buffer, two)
			run(t, got(s.engine.Scatter(spec))(t))
			if !bytes.Equal(s.read(t, a), slices.Concat(two[:96], one[96:128], two[128:])) || !bytes.Equal(s.read(t, b), two) {
				t.Error("scatter differs")
			}
		})
	}
}

// The committed PTX is of the committed source.
func TestPTXIsOfTheSource(t *testing.T) {
	source, ptx := got(os.ReadFile("copy.cu"))(t), string(got(os.ReadFile("copy.ptx"))(t))
	if sum := fmt.Sprintf("// copy.cu sha256 %x\n", sha256.Sum256(source)); !strings.Contains(ptx, sum) {
		t.Error("copy.ptx is of another copy.cu: run make ptx")
	}
	for _, want := range []string{"by NVRTC 12.0 for compute_70", ".version 8.0\n", ".target sm_70\n", ".entry kvx_copy(", "ld.v4.u32"} {
		if !strings.Contains(ptx, want) {
			t.Errorf("copy.ptx has no %q", want)
		}
	}
}

var _ backend.Local = gather.Producer(nil)
