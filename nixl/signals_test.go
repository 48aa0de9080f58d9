// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/nixl"
)

const roleSignals = "signals"

// signals loads NIXL and UCX and then needs of the process what any Go program
// needs, while transfers run: a nil dereference is a panic, a CPU profile can
// be taken, and SIGHUP reaches os/signal.
func signals(_ io.Reader, out io.Writer) error {
	lib, err := nixl.Open(nixl.Options{Folders: []string{folder}})
	if err != nil {
		return err
	}
	a, cfg, err := pair(lib)
	if err != nil {
		return err
	}
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		return err
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- transfersUntil(stop, a, cfg) }()
	for i := range 1000 {
		if err := dereferenceNil(); err == nil {
			return fmt.Errorf("nil dereference %d was not recovered", i)
		}
		runtime.Gosched()
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		return err
	}
	select {
	case <-hup:
	case <-time.After(10 * time.Second):
		return errors.New("SIGHUP did not arrive in 10 s")
	}
	time.Sleep(200 * time.Millisecond) // for the profile's signals: 100 a second of CPU time
	close(stop)
	if err := <-ended; err != nil {
		return err
	}
	pprof.StopCPUProfile()
	if profile.Len() == 0 {
		return errors.New("the CPU profile is empty")
	}
	fmt.Fprintln(out, "survived")
	return a.Destroy()
}

// pair is an agent that can write to another one of this process.
func pair(lib *nixl.Library) (a *nixl.Agent, cfg nixl.RequestConfig, err error) {
	var agents [2]*nixl.Agent
	var segments [2][]nixl.Segment
	for i, name := range []string{"signals-a", "signals-b"} {
		if agents[i], err = lib.NewAgent(name, nixl.AgentConfig{}); err != nil {
			return nil, cfg, err
		}
		if _, err = agents[i].CreateUCX(nixl.UCXConfig{Transport: nixl.TransportTCP, Device: "lo"}); err != nil {
			return nil, cfg, err
		}
		mem, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			return nil, cfg, err
		}
		segments[i] = []nixl.Segment{{Addr: addr(mem), Len: 1 << 20}}
		if _, err := agents[i].Register(segments[i][0], nil); err != nil {
			return nil, cfg, err
		}
	}
	md, err := agents[1].Metadata()
	if err != nil {
		return nil, cfg, err
	}
	_, err = agents[0].LoadMetadata(md, agents[1].Name())
	return agents[0], nixl.RequestConfig{Op: nixl.Write, Peer: agents[1].Name(), Local: segments[0], Remote: segments[1]}, err
}

// transfersUntil moves bytes until stop is closed, and at least once.
func transfersUntil(stop <-chan struct{}, a *nixl.Agent, cfg nixl.RequestConfig) error {
	for {
		if err := oneTransfer(a, cfg); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

func dereferenceNil() (err error) {
	defer func() {
		if e, ok := recover().(runtime.Error); ok {
			err = e
		}
	}()
	var p *struct{ field int }
	p.field++
	return nil
}

// The child runs with UCX talking as much as it can: none of it may reach
// standard output.
func TestSignalsAndStandardOutputStayTheProgramsOwn(t *testing.T) {
	requireNIXL(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(usersEnvironment(), envRole+"="+roleSignals, "UCX_LOG_LEVEL=info", "NIXL_LOG_LEVEL=INFO")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if stdout.String() != "survived\n" {
		t.Errorf("standard output: %q", stdout.String())
	}
	for _, word := range []string{"UCX", "NIXL version"} {
		if !strings.Contains(stderr.String(), word) {
			t.Errorf("standard error has no %q, so the test shows nothing:\n%s", word, stderr.String())
		}
	}
}

// usersEnvironment is the environment without what Open has set in this process.
func usersEnvironment() (env []string) {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "UCX_") && !strings.HasPrefix(name, "NIXL_") {
			env = append(env, kv)
		}
	}
	return env
}
