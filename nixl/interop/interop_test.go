// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package interop

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
)

// Where the project keeps NIXL for its own programs, and for Python.
const (
	library = "../../.nixl"
	python  = "../../.nixl/python/1.5.1"
)

const (
	size     = 4 << 20
	parts    = 16
	patience = 60 * time.Second
)

// TestPythonPackage moves bytes both ways with a process that has nothing of ours.
func TestPythonPackage(t *testing.T) {
	for _, transport := range []nixl.Transport{nixl.TransportTCP, nixl.TransportAuto} {
		t.Run(transport.String(), func(t *testing.T) {
			p := startPython(t, transport)
			a, arena := agent(t, transport)
			meet(t, a, arena, p)
			t.Run("Python writes", func(t *testing.T) {
				want := p.do(t, map[string]any{"do": "fill", "seed": 1}).Sum
				p.move(t, "WRITE", arena, "from Python")
				notice(t, a, "python", "from Python")
				equal(t, sum(arena), want)
			})
			t.Run("Python reads", func(t *testing.T) {
				fill(arena, 2)
				equal(t, p.move(t, "READ", arena, "was read").Sum, sum(arena))
				notice(t, a, "python", "was read")
			})
			t.Run("Go writes", func(t *testing.T) {
				fill(arena, 3)
				move(t, a, nixl.Write, arena, p, "from Go")
				p.notice(t, "from Go")
				equal(t, p.do(t, map[string]any{"do": "sum"}).Sum, sum(arena))
			})
			t.Run("Go reads", func(t *testing.T) {
				want := p.do(t, map[string]any{"do": "fill", "seed": 4}).Sum
				move(t, a, nixl.Read, arena, p, "was read")
				p.notice(t, "was read")
				equal(t, sum(arena), want)
			})
			t.Run("notifications alone", func(t *testing.T) {
				if err := a.Notify("python", []byte("hello")); err != nil {
					t.Fatal(err)
				}
				p.notice(t, "hello")
				p.do(t, map[string]any{"do": "notify", "peer": "go", "notice": "hello back"})
				notice(t, a, "python", "hello back")
			})
		})
	}
}

// agent is an agent of ours, with memory, whose progress thread serves Python.
func agent(t *testing.T, transport nixl.Transport) (*nixl.Agent, *memory.Arena) {
	t.Helper()
	lib, err := nixl.Open(nixl.Options{Folders: []string{library}})
	if err != nil {
		t.Skip("needs NIXL: ", err)
	}
	a, err := lib.NewAgent("go", nixl.AgentConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.CreateUCX(nixl.UCXConfig{Transport: transport, Device: "lo"}); err != nil {
		t.Fatal(err)
	}
	arena, err := memory.New(memory.Spec{Len: size}) // mapped for good: Python has metadata that names it
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Register(nixl.Segment{Addr: uint64(arena.Addr()), Len: size}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Destroy(); err != nil {
			t.Error(err)
		}
	})
	return a, arena
}

// meet exchanges metadata: ours without its envelope, Python's put into one.
func meet(t *testing.T, a *nixl.Agent, arena *memory.Arena, p *peer) {
	t.Helper()
	hello := p.do(t, map[string]any{"do": "init", "name": "python", "size": size})
	p.address = hello.Address
	raw, err := base64.StdEncoding.DecodeString(hello.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := nixl.SealMetadata("python", raw)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.LoadMetadata(sealed, "python"); err != nil {
		t.Fatal(err)
	}
	if sealed, err = a.Metadata(); err != nil {
		t.Fatal(err)
	}
	name, raw, err := nixl.UnsealMetadata(sealed)
	if err != nil || name != "go" {
		t.Fatalf("%q, %v", name, err)
	}
	if got := p.do(t, map[string]any{"do": "load", "metadata": base64.StdEncoding.EncodeToString(raw)}); got.Peer != "go" {
		t.Fatalf("Python calls us %q", got.Peer)
	}
}

// move runs one transfer of ours with Python's memory to its end.
func move(t *testing.T, a *nixl.Agent, op nixl.Op, arena *memory.Arena, p *peer, notice string) {
	t.Helper()
	cfg := nixl.RequestConfig{Op: op, Peer: "python", Extra: nixl.Extra{Notify: []byte(notice)}}
	for i := range uint64(parts) {
		const n = size / parts
		cfg.Local = append(cfg.Local, nixl.Segment{Addr: uint64(arena.Addr()) + i*n, Len: n})
		cfg.Remote = append(cfg.Remote, nixl.Segment{Addr: p.address + i*n, Len: n})
	}
	q, err := a.NewRequest(cfg)
	if err != nil {
		t.Fatal(err)
	}
	status, err := q.Post()
	for end := time.Now().Add(patience); status == nixl.StatusInProgress && time.Now().Before(end); {
		status, err = q.Status()
	}
	if status != nixl.StatusDone {
		t.Fatalf("%v, %v", status, err)
	}
	if err := q.Release(); err != nil {
		t.Error(err)
	}
}

func notice(t *testing.T, a *nixl.Agent, from, want string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		got, err := a.Notifications()
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > 0 {
			if len(got) != 1 || got[0].Peer != from || string(got[0].Message) != want {
				t.Errorf("got %+v", got)
			}
			return
		}
	}
	t.Fatalf("%q of %s does not come", want, from)
}

func fill(arena *memory.Arena, seed byte) {
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(arena.Bytes()) // never fails
}

func sum(arena *memory.Arena) string {
	s := sha256.Sum256(arena.Bytes())
	return hex.EncodeToString(s[:])
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want || want == "" {
		t.Errorf("checksum %s, want %s", got, want)
	}
}

// peer is the Python process.
type peer struct {
	in      io.WriteCloser
	out     *bufio.Scanner
	address uint64
}

// answer is what it says.
type answer struct {
	Error    string   `json:"error"`
	Address  uint64   `json:"address"`
	Metadata string   `json:"metadata"`
	Peer     string   `json:"peer"`
	State    string   `json:"state"`
	Sum      string   `json:"sha256"`
	From     string   `json:"from"`
	Notices  []string `json:"notices"`
}

func startPython(t *testing.T, transport nixl.Transport) *peer {
	t.Helper()
	program, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3: ", err)
	}
	folder, err := filepath.Abs(python)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skip(`needs the official Python package, which "make nixl" installs: `, err)
	}
	cmd := exec.Command(program, "peer.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+folder, "UCX_NET_DEVICES=lo", "UCX_MEM_EVENTS=n", "NIXL_LOG_LEVEL=ERROR")
	if transport == nixl.TransportTCP {
		cmd.Env = append(cmd.Env, "UCX_TLS=tcp")
	}
	if out, err := pythonCan(program, cmd.Env); err != nil {
		t.Skipf("this python3 cannot use the package: %v\n%s", err, out)
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &peer{}
	if p.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	t.Cleanup(func() {
		_ = p.in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return p
}

// pythonCan tries to import the package: it is made for some versions of Python.
func pythonCan(program string, env []string) ([]byte, error) {
	cmd := exec.Command(program, "-c", "import numpy, nixl._api")
	cmd.Env = env
	return cmd.CombinedOutput()
}

func (p *peer) do(t *testing.T, order map[string]any) answer {
	t.Helper()
	b, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(p.in, "%s\n", b); err != nil {
		t.Fatal(err)
	}
	if !p.out.Scan() {
		t.Fatalf("Python ended: %v", p.out.Err())
	}
	var a answer
	if err := json.Unmarshal(p.out.Bytes(), &a); err != nil {
		t.Fatalf("%s: %v", p.out.Text(), err)
	}
	if a.Error != "" {
		t.Fatalf("%v: %s", order["do"], a.Error)
	}
	return a
}

func (p *peer) move(t *testing.T, op string, arena *memory.Arena, notice string) answer {
	t.Helper()
	a := p.do(t, map[string]any{"do": "move", "op": op, "peer": "go", "address": arena.Addr(), "parts": parts, "notice": notice})
	if a.State != "DONE" {
		t.Fatalf("Python's %s: %s", op, a.State)
	}
	return a
}

func (p *peer) notice(t *testing.T, want string) {
	t.Helper()
	if a := p.do(t, map[string]any{"do": "notices"}); a.From != "go" || len(a.Notices) != 1 || a.Notices[0] != want {
		t.Errorf("Python got %v of %q, want %q", a.Notices, a.From, want)
	}
}
