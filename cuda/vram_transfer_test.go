// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package cuda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	adapter "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/internal/nixltest"
	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// vramEnd is an endpoint over NIXL with one region of a GPU and one of the host.
type vramEnd struct {
	vramSide // without an agent of its own
	*transfer.Endpoint
	regions map[nixl.MemType]*transfer.Region
}

func newVRAMEnd(ctx *cuda.Context, lib *nixl.Library, name string) (*vramEnd, error) {
	e := &vramEnd{vramSide: vramSide{ctx: ctx}, regions: map[nixl.MemType]*transfer.Region{}}
	var err error
	if e.stream, err = ctx.NewStream(); err != nil {
		return nil, err
	}
	if e.device, err = ctx.Alloc(vramBytes); err != nil {
		return nil, err
	}
	if e.host, err = ctx.AllocHost(vramBytes); err != nil {
		return nil, err
	}
	b, err := adapter.New(adapter.Config{Name: name, Library: lib})
	if err != nil {
		return nil, err
	}
	e.Endpoint, err = transfer.New(transfer.Config{
		Name: name, Backend: b, FirstRequest: 1, RequestTimeout: time.Hour, OperationWait: time.Hour,
		Contain:   func(ownership.Containment) error { return nil },
		OnRequest: func(q *transfer.Request) { e.answer(q) },
	})
	if err != nil {
		return nil, err
	}
	for mem, m := range map[nixl.MemType]*cuda.Memory{nixl.VRAM: e.device, nixl.DRAM: e.host} {
		if e.regions[mem], err = e.RegisterDevice(mem.String(), m); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// answer gives, or takes, what the label names.
func (e *vramEnd) answer(q *transfer.Request) {
	mem := nixl.DRAM
	if q.Label() == nixl.VRAM.String() {
		mem = nixl.VRAM
	}
	var s *transfer.Session
	var err error
	if q.Direction() == backend.Write {
		s, err = q.Send(transfer.SendSpec{Region: e.regions[mem]})
	} else {
		s, err = q.Fetch(transfer.FetchSpec{Region: e.regions[mem]})
	}
	if err != nil {
		_ = q.Refuse(err.Error())
		return
	}
	_ = s.Drain(context.Background())
}

// finish gives everything back, the regions before the memory.
func (e *vramEnd) finish(ctx context.Context) error {
	var errs []error
	for _, m := range []*cuda.Memory{e.device, e.host} {
		if err := m.Free(); !errors.Is(err, cuda.ErrInFlight) {
			errs = append(errs, fmt.Errorf("free of registered memory: %v", err))
		}
	}
	for _, r := range e.regions {
		errs = append(errs, r.Deregister())
	}
	return errors.Join(append(errs, e.Stop(ctx), e.device.Free(), e.host.Free(), e.vramSide.stream.Close())...)
}

// checkVRAMTransfers moves every kind of memory to every kind, both ways.
func checkVRAMTransfers(t *testing.T, e *vramEnd, peerName string, peer vramPeer) {
	t.Helper()
	for _, direction := range []backend.Direction{backend.Write, backend.Read} {
		for _, ours := range []nixl.MemType{nixl.VRAM, nixl.DRAM} {
			for _, theirs := range []nixl.MemType{nixl.VRAM, nixl.DRAM} {
				what := fmt.Sprintf("%v by the peer, between our %v and its %v", direction, ours, theirs)
				ok(t, e.fill(ours, 1))
				got(peer(vramOrder{Fill: 2, Mem: theirs}))(t)
				want := got(peer(vramOrder{Mem: theirs}))(t).Sum
				var s *transfer.Session
				var err error
				if direction == backend.Write {
					s, err = e.Receive(t.Context(), transfer.ReceiveSpec{Region: e.regions[ours], From: transfer.FromPeers(peerName), Label: theirs.String()})
				} else {
					want = got(e.sum(ours))(t)
					s, err = e.Offer(t.Context(), transfer.OfferSpec{Region: e.regions[ours], To: transfer.FromPeers(peerName), Label: theirs.String()})
				}
				ok(t, err)
				ok(t, s.Drain(t.Context()))
				if a := s.Answer(); a.Outcome != outcome.Succeeded {
					t.Fatalf("%s: %v", what, a)
				}
				ok(t, e.regions[ours].Reuse())
				if mine, other := got(e.sum(ours))(t), got(peer(vramOrder{Mem: theirs}))(t).Sum; mine != want || other != want {
					t.Errorf("%s: the bytes differ", what)
				}
			}
		}
	}
}

// Memory of two devices, through endpoints, on the fakes of both libraries: which
// knows the kinds apart. No hardware is shown by it.
func TestVRAMTransferOfTheFakes(t *testing.T) {
	r := newRig(t)
	lib := got(nixl.Open(nixl.Options{Library: nixltest.Wheel(t, "1.5.1")}))(t)
	us, peer := got(newVRAMEnd(r.ctx, lib, "us"))(t), got(newVRAMEnd(r.other, lib, "peer"))(t)
	if at := peer.regions[nixl.VRAM].Memory().Space; at != (backend.Space{Kind: backend.VRAM, Device: 1}) {
		t.Errorf("the region is in %v", at)
	}
	if at := peer.regions[nixl.DRAM].Memory().Space; at != (backend.Space{}) {
		t.Errorf("pinned host memory is in %v", at)
	}
	a, b := transfer.Pipe()
	joined := make(chan error, 1)
	go func() { _, err := peer.Attach(t.Context(), b); joined <- err }()
	_, err := us.Attach(t.Context(), a)
	ok(t, errors.Join(err, <-joined))
	checkVRAMTransfers(t, us, "peer", peer.obey)

	// With a device's memory nothing measured holds: the operator has to look at all of it.
	facts, transport, err := us.FenceDemand(ownership.FenceSpec{Accessor: "peer", Scope: ownership.Passive})
	if err != nil || len(facts) != len(fence.AllFacts()) || transport != "nixl/auto" {
		t.Errorf("a fence demands %v of %s, %v", facts, transport, err)
	}
	ok(t, us.finish(t.Context()))
	ok(t, peer.finish(t.Context()))
	if n := r.InUse(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// A named transport reaches host memory only, and the driver is not asked to hold it.
func TestVRAMIsRefusedByANamedTransport(t *testing.T) {
	r := newRig(t)
	lib := got(nixl.Open(nixl.Options{Library: nixltest.Wheel(t, "1.5.1")}))(t)
	for _, tr := range []nixl.Transport{nixl.TransportTCP, nixl.TransportCMA} {
		b := got(adapter.New(adapter.Config{Name: "us-" + tr.String(), Library: lib, Transport: tr}))(t)
		e := got(transfer.New(transfer.Config{Name: "us", Backend: b, Contain: func(ownership.Containment) error { return nil }}))(t)
		m := got(r.ctx.Alloc(4096))(t)
		if _, err := e.RegisterDevice("vram", m); !errors.Is(err, backend.ErrMemoryKind) {
			t.Errorf("%v: %v", tr, err)
		}
		ok(t, m.Free())
		ok(t, e.Stop(t.Context()))
	}
}

const envVRAMSocket = "KVXFER_CUDA_TEST_SOCKET"

// A GPU and the real NIXL, between the endpoints of two processes.
func TestVRAMTransferOfAGPU(t *testing.T) {
	ctx := cudatest.RequireGPU(t)
	lib, err := nixl.Open(nixl.Options{Folders: []string{nixlFolder}})
	if err != nil {
		t.Skipf("NIXL is not available (make nixl fetches it): %v", err)
	}
	folder := got(os.MkdirTemp("", "kvx"))(t) // a socket's path is short
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	l := got(rpc.Listen("unix:" + folder + "/s"))(t)
	defer func() { _ = l.Close() }()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), envRole+"=vram-transfer", envVRAMSocket+"="+l.Addr())
	child.Stderr = os.Stderr
	in, out := got(child.StdinPipe())(t), got(child.StdoutPipe())(t)
	ok(t, child.Start())
	us := got(newVRAMEnd(ctx, lib, fmt.Sprintf("us-%d", os.Getpid())))(t)
	stream := got(l.Accept(t.Context()))(t)
	link := got(us.Attach(t.Context(), stream))(t)
	answers, orders := json.NewDecoder(out), json.NewEncoder(in)
	checkVRAMTransfers(t, us, link.Peer(), func(o vramOrder) (a vramAnswer, err error) {
		if err := orders.Encode(o); err != nil {
			return a, err
		}
		if err = answers.Decode(&a); err == nil && a.Err != "" {
			err = errors.New(a.Err)
		}
		return a, err
	})
	ok(t, in.Close())
	ok(t, us.finish(t.Context()))
	ok(t, child.Wait())
}

// vramTransferChild is the other process.
func vramTransferChild(in io.Reader, out io.Writer) error {
	driver, err := cuda.Open(cuda.Options{})
	if err != nil {
		return err
	}
	devices := driver.Devices()
	ctx, err := devices[len(devices)-1].Primary() // another one, where there is one
	if err != nil {
		return err
	}
	lib, err := nixl.Open(nixl.Options{Folders: []string{nixlFolder}})
	if err != nil {
		return err
	}
	e, err := newVRAMEnd(ctx, lib, fmt.Sprintf("peer-%d", os.Getpid()))
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	stream, err := rpc.Dial(bounded, os.Getenv(envVRAMSocket))
	if err != nil {
		return err
	}
	if _, err := e.Attach(bounded, stream); err != nil {
		return err
	}
	answers, orders := json.NewEncoder(out), json.NewDecoder(in)
	for {
		var o vramOrder
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return e.finish(bounded)
		} else if err != nil {
			return err
		}
		a, err := e.obey(o)
		if err != nil {
			a.Err = strings.TrimSpace(err.Error())
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}
