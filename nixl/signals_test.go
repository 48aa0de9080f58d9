// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/nixl"
)

const roleSignals = "signals"

// signals loads NIXL and UCX and then needs of the process what any Go program
// needs: a nil dereference is a panic, and SIGHUP reaches os/signal.
func signals(_ io.Reader, out io.Writer) error {
	lib, err := nixl.Open(nixl.Options{Folders: []string{folder}})
	if err != nil {
		return err
	}
	a, err := lib.NewAgent("signals", nixl.AgentConfig{})
	if err != nil {
		return err
	}
	if _, err := a.CreateUCX(nixl.UCXConfig{Device: "lo"}); err != nil {
		return err
	}
	for i := range 1000 {
		if err := dereferenceNil(); err == nil {
			return fmt.Errorf("nil dereference %d was not recovered", i)
		}
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
	fmt.Fprintln(out, "survived")
	return a.Destroy()
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
	for _, kv := range os.Environ() { // what Open has set in this process is not the user's
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "UCX_") && !strings.HasPrefix(name, "NIXL_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, envRole+"="+roleSignals, "UCX_LOG_LEVEL=info", "NIXL_LOG_LEVEL=INFO")
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
