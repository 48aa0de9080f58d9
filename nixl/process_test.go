// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/nixl"
)

// The test binary plays its own peer process: it runs itself again with a
// role in the environment and speaks one line at a time with it.
const (
	envRole      = "KVXFER_TEST_ROLE"
	envTransport = "KVXFER_TEST_TRANSPORT"
	roleTarget   = "target"
	targetSize   = 64 << 20
)

// roles are what the child can be.
var roles = map[string]func(io.Reader, io.Writer) error{roleTarget: target, roleSignals: signals}

// runRole is the child.
func runRole(role string) int {
	play := roles[role]
	if play == nil {
		fmt.Fprintf(os.Stderr, "no role %q\n", role)
		return 2
	}
	if err := play(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		return 1
	}
	return 0
}

// target offers memory, then answers every line with the checksum of it, until
// its standard input ends.
func target(in io.Reader, out io.Writer) error {
	lib, err := nixl.Open(nixl.Options{Folders: []string{folder}})
	if err != nil {
		return err
	}
	tr, err := nixl.ParseTransport(os.Getenv(envTransport))
	if err != nil {
		return err
	}
	a, err := lib.NewAgent("target", nixl.AgentConfig{})
	if err != nil {
		return err
	}
	if _, err := a.CreateUCX(nixl.UCXConfig{Transport: tr, Device: "lo"}); err != nil {
		return err
	}
	mem, err := syscall.Mmap(-1, 0, targetSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return err
	}
	if _, err := a.Register(nixl.Segment{Addr: addr(mem), Len: targetSize}, nil); err != nil {
		return err
	}
	md, err := a.Metadata()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, addr(mem), base64.StdEncoding.EncodeToString(md))
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fmt.Fprintln(out, sum(mem))
	}
	return a.Destroy()
}

// child is the peer process as the test sees it.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	addr uint64
	md   []byte
}

func startTarget(t testing.TB, tr nixl.Transport) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"="+roleTarget, envTransport+"="+tr.String())
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended, or be stopped
		_ = cmd.Wait()
	})
	fields := strings.Fields(c.read(t))
	if len(fields) != 2 {
		t.Fatalf("target said %q", fields)
	}
	if c.addr, err = strconv.ParseUint(fields[0], 10, 64); err != nil {
		t.Fatal(err)
	}
	if c.md, err = base64.StdEncoding.DecodeString(fields[1]); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *child) read(t testing.TB) string {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("target: %v", err)
	}
	return strings.TrimSpace(line)
}

func (c *child) ask(t testing.TB, question string) string {
	t.Helper()
	fmt.Fprintln(c.in, question)
	return c.read(t)
}

// stop stops the child and returns when the kernel says that it is stopped.
func (c *child) stop(t testing.TB) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(c.cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("stop: %v, %v", ws, err)
	}
}

func (c *child) cont(t testing.TB) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// source is an agent in this process with memory as large as the target's.
func source(t testing.TB, tr nixl.Transport, c *child) (*nixl.Agent, []byte) {
	t.Helper()
	a, err := requireNIXL(t).NewAgent("source", nixl.AgentConfig{NoProgressThread: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.CreateUCX(nixl.UCXConfig{Transport: tr, Device: "lo"}); err != nil {
		t.Fatal(err)
	}
	mem := mapped(t, targetSize)
	register(t, a, mem)
	if name, err := a.LoadMetadata(c.md, "target"); err != nil || name != "target" {
		t.Fatalf("load: %q, %v", name, err)
	}
	return a, mem
}

func whole(base uint64) (s []nixl.Segment) {
	for off := uint64(0); off < targetSize; off += 1 << 20 {
		s = append(s, nixl.Segment{Addr: base + off, Len: 1 << 20})
	}
	return s
}

// untilEnd polls a request until it is no longer in progress, at most 30 s.
func untilEnd(q *nixl.Request) (nixl.Status, error) {
	s, err := q.Status()
	for deadline := time.Now().Add(30 * time.Second); s == nixl.StatusInProgress && time.Now().Before(deadline); {
		s, err = q.Status()
	}
	return s, err
}

func TestMovesBytesBetweenProcesses(t *testing.T) {
	requireNIXL(t)
	for _, tr := range []nixl.Transport{nixl.TransportTCP, nixl.TransportCMA} {
		t.Run(tr.String(), func(t *testing.T) {
			c := startTarget(t, tr)
			a, mem := source(t, tr, c)
			fill(mem, 11)
			q, err := a.NewRequest(nixl.RequestConfig{Op: nixl.Write, Peer: "target", Local: whole(addr(mem)), Remote: whole(c.addr)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := q.Post(); err != nil {
				t.Fatal(err)
			}
			finish(t, q)
			if got, want := c.ask(t, "sum"), sum(mem); got != want {
				t.Errorf("target has checksum %s, want %s", got, want)
			}
			if err := q.Release(); err != nil {
				t.Error(err)
			}
			if err := a.Destroy(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A stopped peer is the case that the package exists for: whatever we are
// asked to let go of is refused until the very request has answered done.
func TestNothingIsLetGoInFlight(t *testing.T) {
	requireNIXL(t)
	c := startTarget(t, nixl.TransportTCP)
	a, mem := source(t, nixl.TransportTCP, c)
	prime(t, a, mem, c)
	fill(mem, 5)
	c.stop(t)
	q, err := a.NewRequest(nixl.RequestConfig{Op: nixl.Write, Peer: "target", Local: whole(addr(mem)), Remote: whole(c.addr)})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := q.Post(); s != nixl.StatusInProgress || err != nil {
		t.Fatalf("post to a stopped peer: %v, %v", s, err)
	}
	reg, err := a.Register(nixl.Segment{Addr: addr(mem), Len: 1}, nil)
	if err == nil {
		t.Errorf("registered %v over registered memory", reg.Segment())
	}
	for name, refuse := range map[string]func() error{
		"release":    q.Release,
		"invalidate": func() error { return a.Invalidate("target") },
		"destroy":    a.Destroy,
		"post":       func() error { _, err := q.Post(); return err },
	} {
		if err := refuse(); !isInFlight(err) {
			t.Errorf("%s of a transfer in flight: %v, want ErrInFlight", name, err)
		}
	}
	if s, err := q.Status(); s != nixl.StatusInProgress || err != nil {
		t.Errorf("status while the peer is stopped: %v, %v", s, err)
	}
	c.cont(t)
	finish(t, q)
	if got, want := c.ask(t, "sum"), sum(mem); got != want {
		t.Errorf("target has checksum %s, want %s", got, want)
	}
	for _, err := range []error{q.Release(), a.Invalidate("target"), a.Destroy()} {
		if err != nil {
			t.Error(err)
		}
	}
}

// prime moves a few bytes, so that the connection is there.
func prime(t testing.TB, a *nixl.Agent, mem []byte, c *child) {
	t.Helper()
	q, err := a.NewRequest(nixl.RequestConfig{
		Op: nixl.Write, Peer: "target",
		Local:  []nixl.Segment{{Addr: addr(mem), Len: 4096}},
		Remote: []nixl.Segment{{Addr: c.addr, Len: 4096}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Post(); err != nil {
		t.Fatal(err)
	}
	finish(t, q)
	if err := q.Release(); err != nil {
		t.Fatal(err)
	}
}

// A dead peer answers with an error, which proves nothing: the request stays
// retained, and only the agent's own end lets go of it.
func TestDeadPeerIsNoProof(t *testing.T) {
	requireNIXL(t)
	c := startTarget(t, nixl.TransportTCP)
	a, mem := source(t, nixl.TransportTCP, c)
	prime(t, a, mem, c)
	c.stop(t)
	q, err := a.NewRequest(nixl.RequestConfig{Op: nixl.Write, Peer: "target", Local: whole(addr(mem)), Remote: whole(c.addr)})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := q.Post(); s != nixl.StatusInProgress || err != nil {
		t.Fatalf("post: %v, %v", s, err)
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s, err := untilEnd(q)
	if s != nixl.StatusFailed || !isBackend(err) {
		t.Fatalf("status after the peer's death: %v, %v", s, err)
	}
	if again, err2 := q.Status(); again != nixl.StatusFailed || err2 != err {
		t.Errorf("asked again: %v, %v", again, err2)
	}
	t.Log(err)
	if e := (*nixl.Error)(nil); !errors.As(err, &e) || e.Cause != nixl.CauseRemoteDisconnect {
		t.Errorf("the cause behind it is not there: %v", err)
	}
	if err := q.Release(); !isInFlight(err) || !isFailed(err) {
		t.Errorf("release after an error: %v", err)
	}
	if err := a.Destroy(); !isInFlight(err) {
		t.Errorf("destroy after an error: %v", err)
	}
	if err := a.Fence(); err != nil {
		t.Errorf("fence: %v", err)
	}
	if err := q.Release(); err != nil || a.InFlight() != 0 {
		t.Errorf("after the fence: release %v, %d in flight", err, a.InFlight())
	}
	if _, err := q.Status(); !isClosed(err) {
		t.Errorf("status after the fence: %v", err)
	}
}
