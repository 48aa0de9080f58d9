// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package cuda_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
	"github.com/kvxfer/kvxfer/internal/nixltest"
	"github.com/kvxfer/kvxfer/nixl"
)

const (
	vramBytes = 1 << 20
	vramBlock = 16 << 10
	// nixlFolder is where the module keeps an unpacked wheel.
	nixlFolder = "../.nixl"
)

// vramSide is a process's part of a transfer: device and host memory that NIXL
// knows, held as long as it does.
type vramSide struct {
	ctx          *cuda.Context
	stream       *cuda.Stream
	agent        *nixl.Agent
	device, host *cuda.Memory
	regs         []*nixl.Registration
	release      []func()
}

func newVRAMSide(ctx *cuda.Context, lib *nixl.Library, name string) (*vramSide, error) {
	s := &vramSide{ctx: ctx}
	var err error
	if s.agent, err = lib.NewAgent(name, nixl.AgentConfig{}); err != nil {
		return nil, err
	}
	if _, err = s.agent.CreateUCX(nixl.UCXConfig{}); err != nil {
		return nil, err
	}
	if s.stream, err = ctx.NewStream(); err != nil {
		return nil, err
	}
	if s.device, err = ctx.Alloc(vramBytes); err != nil {
		return nil, err
	}
	if s.host, err = ctx.AllocHost(vramBytes); err != nil {
		return nil, err
	}
	for mem, m := range map[nixl.MemType]*cuda.Memory{nixl.VRAM: s.device, nixl.DRAM: s.host} {
		release, err := m.Hold() // as long as it is registered
		if err != nil {
			return nil, err
		}
		s.release = append(s.release, release)
		regs, err := s.agent.RegisterAll(nixl.RegisterConfig{Mem: mem, Segments: []nixl.Segment{s.segment(mem, 0, vramBytes)}})
		if err != nil {
			return nil, fmt.Errorf("register %v: %w", mem, err)
		}
		s.regs = append(s.regs, regs...)
	}
	return s, nil
}

func (s *vramSide) of(mem nixl.MemType) *cuda.Memory {
	if mem == nixl.VRAM {
		return s.device
	}
	return s.host
}

func (s *vramSide) segment(mem nixl.MemType, offset, n int) nixl.Segment {
	seg := nixl.Segment{Addr: uint64(s.of(mem).Addr()) + uint64(offset), Len: uint64(n)}
	if mem == nixl.VRAM {
		seg.Dev = uint64(s.ctx.Device().Ordinal())
	}
	return seg
}

// fill writes a pattern into memory of either kind, through a pinned buffer.
func (s *vramSide) fill(mem nixl.MemType, seed int) error {
	return s.through(func(b *cuda.Memory) error {
		for i, data := 0, b.Bytes(); i < len(data); i++ {
			data[i] = byte(seed + i*7 + i>>9)
		}
		return s.stream.Copy(s.of(mem).All(), b.All())
	})
}

func (s *vramSide) sum(mem nixl.MemType) (sum string, err error) {
	err = s.through(func(b *cuda.Memory) error {
		if err := errors.Join(s.stream.Copy(b.All(), s.of(mem).All()), s.stream.Synchronize()); err != nil {
			return err
		}
		sum = fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
		return nil
	})
	return sum, err
}

func (s *vramSide) through(f func(*cuda.Memory) error) error {
	b, err := s.ctx.AllocHost(vramBytes)
	if err != nil {
		return err
	}
	return errors.Join(f(b), s.stream.Synchronize(), b.Free())
}

// end deregisters, and only then lets the memory go.
func (s *vramSide) end() error {
	var errs []error
	for _, m := range []*cuda.Memory{s.device, s.host} {
		if err := m.Free(); !errors.Is(err, cuda.ErrInFlight) {
			errs = append(errs, fmt.Errorf("free of registered memory: %v", err))
		}
	}
	for _, r := range s.regs {
		errs = append(errs, r.Deregister())
	}
	errs = append(errs, s.agent.Destroy())
	for _, release := range s.release {
		release()
	}
	return errors.Join(append(errs, s.device.Free(), s.host.Free(), s.stream.Close())...)
}

// vramOrder is what a peer is told, and vramAnswer what it says.
type (
	vramOrder struct {
		Fill int // a seed; 0: tell the sum
		Mem  nixl.MemType
	}
	vramAnswer struct {
		Metadata []byte
		At       map[nixl.MemType]nixl.Segment
		Sum, Err string
	}
)

// vramPeer is the other side, in this process or another.
type vramPeer func(vramOrder) (vramAnswer, error)

func (s *vramSide) introduction() (vramAnswer, error) {
	md, err := s.agent.Metadata()
	return vramAnswer{Metadata: md, At: map[nixl.MemType]nixl.Segment{
		nixl.VRAM: s.segment(nixl.VRAM, 0, vramBytes), nixl.DRAM: s.segment(nixl.DRAM, 0, vramBytes),
	}}, err
}

func (s *vramSide) obey(o vramOrder) (a vramAnswer, err error) {
	if o.Fill != 0 {
		return a, s.fill(o.Mem, o.Fill)
	}
	a.Sum, err = s.sum(o.Mem)
	return a, err
}

// checkVRAM moves device memory to device and host memory and back, in blocks
// whose order changes on the way there.
func checkVRAM(t *testing.T, s *vramSide, peerName string, hello vramAnswer, peer vramPeer) {
	t.Helper()
	if _, err := s.agent.LoadMetadata(hello.Metadata, peerName); err != nil {
		t.Fatal(err)
	}
	for _, op := range []nixl.Op{nixl.Write, nixl.Read} {
		for _, remote := range []nixl.MemType{nixl.VRAM, nixl.DRAM} {
			var ours, theirs []nixl.Segment
			for at := 0; at < vramBytes; at += vramBlock {
				ours = append(ours, s.segment(nixl.VRAM, at, vramBlock))
				theirs = append(theirs, nixl.Segment{Addr: hello.At[remote].Addr + uint64(at), Len: vramBlock, Dev: hello.At[remote].Dev})
			}
			ok(t, s.fill(nixl.VRAM, 1))
			got(peer(vramOrder{Fill: 2, Mem: remote}))(t)
			from := got(s.sum(nixl.VRAM))(t)
			if op == nixl.Read {
				from = got(peer(vramOrder{Mem: remote}))(t).Sum
			}
			q := got(s.agent.NewRequest(nixl.RequestConfig{
				Op: op, Peer: peerName, LocalMem: nixl.VRAM, Local: ours, RemoteMem: remote, Remote: theirs,
			}))(t)
			status, err := q.Post()
			for deadline := time.Now().Add(time.Minute); status == nixl.StatusInProgress && time.Now().Before(deadline); {
				status, err = q.Status()
			}
			if err != nil || status != nixl.StatusDone {
				t.Fatalf("%v to %v: %v, %v", op, remote, status, err)
			}
			ok(t, q.Release())
			mine, other := got(s.sum(nixl.VRAM))(t), got(peer(vramOrder{Mem: remote}))(t).Sum
			if mine != from || other != from {
				t.Errorf("%v between VRAM and %v: the bytes differ", op, remote)
			}
		}
	}
}

// The fakes of CUDA and NIXL together: what is registered, held and given back
// is as with a GPU, and bytes move; no hardware is shown by it.
func TestVRAMOfTheFakes(t *testing.T) {
	r := newRig(t)
	lib := got(nixl.Open(nixl.Options{Library: nixltest.Wheel(t, "1.5.1")}))(t)
	us, peer := got(newVRAMSide(r.ctx, lib, "us"))(t), got(newVRAMSide(r.other, lib, "peer"))(t)
	if at := peer.segment(nixl.VRAM, 0, 1); at.Dev != 1 {
		t.Errorf("device %d", at.Dev)
	}
	checkVRAM(t, us, "peer", got(peer.introduction())(t), peer.obey)
	ok(t, us.end())
	ok(t, peer.end())
	if n := r.InUse(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// A GPU and the real NIXL, between two processes of one machine.
func TestVRAMOfAGPU(t *testing.T) {
	ctx := cudatest.RequireGPU(t)
	lib, err := nixl.Open(nixl.Options{Folders: []string{nixlFolder}})
	if err != nil {
		t.Skipf("NIXL is not available (make nixl fetches it): %v", err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), envRole+"=vram")
	child.Stderr = os.Stderr
	in, out := got(child.StdinPipe())(t), got(child.StdoutPipe())(t)
	ok(t, child.Start())
	answers, orders := json.NewDecoder(out), json.NewEncoder(in)
	next := func() (a vramAnswer, err error) {
		if err = answers.Decode(&a); err == nil && a.Err != "" {
			err = errors.New(a.Err)
		}
		return a, err
	}
	us := got(newVRAMSide(ctx, lib, "us"))(t)
	checkVRAM(t, us, "peer", got(next())(t), func(o vramOrder) (vramAnswer, error) {
		if err := orders.Encode(o); err != nil {
			return vramAnswer{}, err
		}
		return next()
	})
	ok(t, us.end())
	ok(t, in.Close())
	ok(t, child.Wait())
}

// vramChild is the other process.
func vramChild(in io.Reader, out io.Writer) error {
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
	s, err := newVRAMSide(ctx, lib, "peer")
	if err != nil {
		return err
	}
	answers, orders := json.NewEncoder(out), json.NewDecoder(in)
	for a, err := s.introduction(); ; {
		if err != nil {
			a.Err = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
		var o vramOrder
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return s.end()
		} else if err != nil {
			return err
		}
		a, err = s.obey(o)
	}
}

// envRole makes the test binary another process of a test.
const envRole = "KVXFER_CUDA_TEST_ROLE"

var roles = map[string]func(io.Reader, io.Writer) error{"vram": vramChild, "vram-transfer": vramTransferChild, "fault": faultChild}

// play is the other process; false where this is the tests' own.
func play() (code int, played bool) {
	role := os.Getenv(envRole)
	if role == "" {
		return 0, false
	}
	if err := roles[role](os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		return 1, true
	}
	return 0, true
}
