// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package nixl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/kvxfer/kvxfer/backend"
	adapter "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// The test binary plays the writer: a process of its own, which is killed.
const (
	envWriter  = "KVXFER_TEST_WRITER" // the transport
	envSocket  = "KVXFER_TEST_SOCKET" // where to dial
	writtenLen = 96 << 20
	unanswered = "unanswered" // the label of a request that is left alone
)

func init() {
	if transport := os.Getenv(envWriter); transport != "" {
		if err := write(transport, os.Getenv(envSocket)); err != nil {
			fmt.Fprintln(os.Stderr, "writer:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// write answers requests until it is killed, or its stream ends.
func write(transport, socket string) error {
	lib, err := nixl.Open(nixl.Options{Folders: []string{folder}})
	if err != nil {
		return err
	}
	e, err := newParty(lib, transport, "writer", nil)
	if err != nil {
		return err
	}
	copy(e.bytes, bytes.Repeat([]byte{0xbb}, writtenLen))
	e.OnRequest(func(r *transfer.Request) {
		if r.Label() != unanswered {
			_, _ = r.Send(transfer.SendSpec{Region: e.region})
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stream, err := rpc.Dial(ctx, socket)
	if err != nil {
		return err
	}
	link, err := e.Attach(ctx, stream)
	if err != nil {
		return err
	}
	<-link.Done()
	return nil
}

// party is an endpoint over NIXL with one region.
type party struct {
	*transfer.Endpoint
	lib    *nixl.Library
	config adapter.Config
	bytes  []byte
	region *transfer.Region
}

func newParty(lib *nixl.Library, transport, name string, change func(*transfer.Config)) (*party, error) {
	tr, err := nixl.ParseTransport(transport)
	if err != nil {
		return nil, err
	}
	p := &party{lib: lib}
	p.config.Library, p.config.Transport, p.config.Device = lib, tr, "lo"
	if tr == nixl.TransportCMA {
		p.config.Device = ""
	}
	p.config.Name = fmt.Sprintf("%s-%d", name, os.Getpid())
	b, err := adapter.New(p.config)
	if err != nil {
		return nil, err
	}
	config := transfer.Config{
		Name: name, Agent: p.config.Name, Backend: b, RequestTimeout: time.Hour, Grace: time.Hour,
		Contain: func(ownership.Containment) error { return nil },
	}
	if change != nil {
		change(&config)
	}
	if p.Endpoint, err = transfer.New(config); err != nil {
		return nil, err
	}
	arena, err := memory.New(memory.Spec{Len: writtenLen})
	if err != nil {
		return nil, err
	}
	p.bytes = arena.Bytes()
	p.region, err = p.Register("pool", arena)
	return p, err
}

// writer starts one and attaches it.
func writer(t *testing.T, r *party, transport string, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	l, err := rpc.Listen("unix:" + filepath.Join(socketFolder(t), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	cmd.Env = append(os.Environ(), envWriter+"="+transport, envSocket+"="+l.Addr())
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); errors.Is(err, syscall.EPERM) {
		t.Skip("may not be done here: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	stream, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Attach(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// killed starts a writer, asks it for data, and kills it once the first byte has
// landed. The last one has not landed then, or it is done again.
func killed(t *testing.T, r *party, transport string) (*transfer.Session, *exec.Cmd) {
	t.Helper()
	writer := writer(t, r, transport, exec.Command(os.Args[0], "-test.run=^$"))
	clear(r.bytes)
	s, err := r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers("writer")})
	if err != nil {
		t.Fatal(err)
	}
	landed := func(at int) bool { return atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.bytes[at]))) != 0 }
	for deadline := time.Now().Add(2 * time.Minute); !landed(0); {
		if time.Now().After(deadline) {
			t.Fatal("the writer writes nothing")
		}
	}
	if err := writer.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Wait()
	t.Logf("killed after its first byte; its last one has landed: %v", landed(writtenLen-4))
	return s, writer
}

func socketFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "kvx") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// killedInFlight does it until it was in time.
func killedInFlight(t *testing.T, r *party, transport string) *transfer.Session {
	t.Helper()
	for range 20 {
		s, _ := killed(t, r, transport)
		if r.bytes[writtenLen-1] == 0 {
			return s
		}
		_, _ = r.FenceGone("writer") // it was too fast: once more
		if err := s.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Skip("the writer always ended before it was killed")
	return nil
}

// unchanged: whoever has the memory back may put anything there, and it stays.
func (p *party) unchanged(t *testing.T) {
	t.Helper()
	want := bytes.Repeat([]byte{0x5a}, writtenLen)
	copy(p.bytes, want)
	for range 5 { // all of them take longer than what was in flight would
		if !bytes.Equal(p.bytes, want) {
			t.Fatal("bytes were written after the proof")
		}
	}
}

// A process that copied with its own system calls and is dead writes no more: its end,
// which the kernel tells apart from any other process's, frees the memory, by itself or
// when asked. Nothing is FATAL, and admission is open.
func TestEndOfAWriterFreesOnCMA(t *testing.T) {
	lib := requireNIXL(t)
	for name, byItself := range map[string]bool{"by itself": true, "when asked": false} {
		t.Run(name, func(t *testing.T) {
			r, err := newParty(lib, "cma", "reader", func(c *transfer.Config) { c.FenceGone = byItself })
			if errors.Is(err, backend.ErrUnavailable) {
				t.Skip("no CMA here: ", err)
			} else if err != nil {
				t.Fatal(err)
			}
			defer r.Halt()
			s := killedInFlight(t, r, "cma")
			if !byItself {
				if err := r.region.Reuse(); !errors.Is(err, ownership.ErrRefused) {
					t.Fatalf("before the proof: %v", err)
				}
				done, err := r.FenceGone("writer")
				if err != nil || len(done) != 1 || done[0].Freed != 1 || done[0].Scope != ownership.Passive || len(done[0].Retained) != 0 {
					t.Fatalf("got %+v, %v", done, err)
				}
			}
			if err := s.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := r.region.Reuse(); err != nil {
				t.Fatal(err)
			}
			r.unchanged(t)
			fences := r.Explain().Fences
			if len(fences) == 0 || !strings.Contains(fences[len(fences)-1].Evidence, "has ended") || fences[len(fences)-1].Incarnation == "" {
				t.Errorf("fences: %+v", fences)
			}
			if again, err := r.FenceGone("writer"); err != nil || len(again) != 0 {
				t.Errorf("with nothing held: %v, %v", again, err)
			}
			if a, _ := r.Admission(); a != ownership.AdmissionOpen {
				t.Errorf("admission is %v", a)
			}
			_, err = r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers("writer")})
			if !errors.Is(err, transfer.ErrNoPeer) {
				t.Errorf("of a life that is over: %v", err)
			}
			if err := r.Stop(t.Context()); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
}

// Over TCP the same end is no proof, asked or not: what the writer left in the socket is
// on its way. With the end of our own agent it is one.
func TestEndOfAWriterIsNoProofOnTCP(t *testing.T) {
	lib := requireNIXL(t)
	r, err := newParty(lib, "tcp", "reader", func(c *transfer.Config) { c.FenceGone = true })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Halt()
	s, _ := killed(t, r, "tcp")
	for range 50 { // the automatic one would have come by now
		done, err := r.FenceGone("writer")
		if !errors.Is(err, fence.ErrNotProven) || len(done) != 0 || !strings.Contains(err.Error(), "our own agent is destroyed") {
			t.Fatalf("got %v, %v", done, err)
		}
		if err := r.region.Reuse(); !errors.Is(err, ownership.ErrRefused) {
			t.Fatalf("reuse: %v", err)
		}
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); !errors.Is(err, ownership.ErrRefused) {
		t.Errorf("close: %v", err)
	}
	lives, err := r.Reincarnate(t.Context(), func(agent string) (backend.Backend, error) {
		config := r.config
		config.Name = agent
		return adapter.New(config)
	})
	if err != nil || lives.Fenced != 1 || len(lives.Retained) != 0 {
		t.Fatalf("got %+v, %v", lives, err)
	}
	if err := errors.Join(s.Drain(t.Context()), r.region.Reuse()); err != nil {
		t.Fatal(err)
	}
	r.unchanged(t)
}

// A process whose number means nothing here is not looked for, whether or not it knows
// that it is somewhere else, and the same number here is none of its business.
func TestWriterOfAnotherProcessNamespace(t *testing.T) {
	lib := requireNIXL(t)
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("no unshare on this machine")
	}
	if out, err := exec.Command(unshare, "--pid", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("may not be done here: %s", out)
	}
	own := exec.Command(unshare, "--pid", "--fork", "--mount-proc", "--kill-child", os.Args[0], "-test.run=^$")
	foreign := exec.Command(os.Args[0], "-test.run=^$") // with the /proc of this namespace
	foreign.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	for _, tc := range []struct {
		name string
		cmd  *exec.Cmd
		want string
		is   error
	}{
		{"with a proc of its own", own, "not of this host and its process numbers", fence.ErrElsewhere},
		{"with another's proc", foreign, "did not say which process it is", fence.ErrNotProven},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := newParty(lib, "cma", "reader", func(c *transfer.Config) { c.FenceGone = true })
			if errors.Is(err, backend.ErrUnavailable) {
				t.Skip("no CMA here: ", err)
			} else if err != nil {
				t.Fatal(err)
			}
			defer r.Halt()
			cmd := writer(t, r, "cma", tc.cmd)
			s, err := r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers("writer"), Label: unanswered})
			if err != nil {
				t.Fatal(err)
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if done, err := r.FenceGone("writer"); !errors.Is(err, fence.ErrNotProven) || !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.want) || len(done) != 0 {
				t.Errorf("got %v, %v", done, err)
			}
			if err := r.region.Reuse(); !errors.Is(err, ownership.ErrRefused) {
				t.Errorf("reuse: %v", err)
			}
			_, err = r.FenceBy(ownership.FenceSpec{Accessor: "writer", Scope: ownership.Passive},
				fence.Statement{Who: "test", Checked: map[fence.Fact]string{fence.ProcessGone: "waited for it"}, Passive: true})
			if err := errors.Join(err, s.Drain(t.Context()), r.region.Reuse()); err != nil {
				t.Error(err)
			}
		})
	}
}
