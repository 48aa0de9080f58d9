// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/memory"
)

// What the other tests show on the fake, on a GPU: one pass over all calls.
func TestCallsOfAGPU(t *testing.T) {
	ctx := cudatest.RequireGPU(t)
	g := ctx.Device()
	t.Logf("%v, %v, %d bytes, CUDA %v, batch %v", g, g.UUID(), g.Memory(), g.Driver().Version(), g.Driver().HasBatch())
	const n = 1 << 20
	arena := got(memory.New(memory.Spec{Len: n}))(t)
	host := got(ctx.RegisterHost(arena))(t)
	for i, b := 0, host.Bytes(); i < n; i++ {
		b[i] = byte(i*7 + i>>8)
	}
	device, back := got(ctx.Alloc(n))(t), got(ctx.AllocHost(n))(t)
	view := got(ctx.Foreign(uint64(device.Addr()), n))(t)
	stream, signal := got(ctx.NewStream())(t), got(ctx.NewSignal())(t)
	from, to := got(ctx.NewTimingEvent())(t), got(ctx.NewTimingEvent())(t)
	list := got(ctx.NewCopyList(64))(t)
	ok(t, list.Begin(64))
	for i := range 64 {
		ok(t, list.Append(got(back.Range((63-i)*n/64, n/64))(t), got(view.Range(i*n/64, n/64))(t)))
	}
	ok(t, from.Record(stream))
	ok(t, stream.Set(device.All(), 0xaa))
	ok(t, stream.Copy(device.All(), host.All()))
	ok(t, stream.CopyBatch(list))
	ok(t, stream.Signal(signal))
	ok(t, to.Record(stream))
	if err := device.Free(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("free: %v", err)
	}
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ok(t, signal.Wait(limit))
	ok(t, to.Synchronize())
	for i := range 64 {
		if !slices.Equal(back.Bytes()[(63-i)*n/64:(64-i)*n/64], host.Bytes()[i*n/64:(i+1)*n/64]) {
			t.Fatalf("block %d differs", i)
		}
	}
	t.Logf("elapsed %v", got(cuda.Elapsed(from, to))(t))
	if err := ctx.FlushRemoteWrites(); err != nil && !errors.Is(err, cuda.ErrorNotSupported) {
		t.Error(err)
	}
	for _, m := range []*cuda.Memory{view, device, back, host} {
		ok(t, m.Free())
	}
	for signal.Close() != nil && limit.Err() == nil {
	}
	for _, err := range []error{list.Free(), from.Close(), to.Close(), signal.Close(), stream.Close(), arena.Close()} {
		ok(t, err)
	}
}

// pokePTX is a kernel that writes 32 bits to the address that it is given.
const pokePTX = `
.version 8.0
.target sm_70
.address_size 64
.visible .entry poke(
	.param .u64 poke_param_0
)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [poke_param_0];
	mov.u32 %r1, 7;
	st.u32 [%rd1], %r1;
	ret;
}
`

// A kernel that faults spoils its context for good: that needs a process of its own.
func TestFaultOfAGPU(t *testing.T) {
	cudatest.RequireGPU(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), envRole+"=fault")
	out, err := child.CombinedOutput()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "in doubt as it should be") {
		t.Errorf("%v\n%s", err, out)
	}
}

func faultChild(_ io.Reader, out io.Writer) error {
	driver, err := cuda.Open(cuda.Options{})
	if err != nil {
		return err
	}
	ctx, err := driver.Devices()[0].Primary()
	if err != nil {
		return err
	}
	stream, err1 := ctx.NewStream()
	before, err2 := ctx.NewEvent()
	event, err3 := ctx.NewEvent()
	m, err4 := ctx.Alloc(4096)
	module, err5 := ctx.LoadModule(pokePTX)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	poke, err := module.Function("poke")
	if err != nil {
		return err
	}
	var good, bad cuda.Params
	launch := func(p *cuda.Params) error {
		return stream.Launch(cuda.Launch{Function: poke, Params: p, Uses: []*cuda.Memory{m}})
	}
	if err := errors.Join(launch(good.Range(m.All())), before.Record(stream), before.Synchronize()); err != nil {
		return err
	}
	if err := errors.Join(launch(bad.Uint64(64)), event.Record(stream)); err != nil {
		return err
	}
	state, err := cuda.EventPending, error(nil)
	for deadline := time.Now().Add(time.Minute); state == cuda.EventPending && time.Now().Before(deadline); {
		state, err = event.Query()
	}
	free := m.Free()
	earlier, _ := before.Query()
	if state != cuda.EventInDoubt || !errors.Is(err, cuda.ErrInDoubt) || !errors.Is(free, cuda.ErrInDoubt) || earlier != cuda.EventDone {
		return fmt.Errorf("event %v (%v), free %v, an earlier event %v", state, err, free, earlier)
	}
	fmt.Fprintf(out, "%v\nin doubt as it should be\n", err)
	return nil
}
