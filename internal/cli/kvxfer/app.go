// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package kvxfer is the command line of the kvxfer command.
//
// Results go to standard output, words about them to standard error; with
// --json standard output has one JSON object a line and nothing else. Every
// failure is one line that says what is wrong, where, and what to do, with an
// exit code of package exit.
package kvxfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
)

// app is one call of the command: its streams and who its second process is.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	// peer is the second process's argument list: this program under its
	// hidden command.
	peer []string
	// started: there is, or was, a second process.
	started atomic.Bool
}

// Main runs the command line args, args[0] being the program's name, and
// returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return MainWithPeer(args, []string{args[0], peerCommand}, stdin, stdout, stderr)
}

// MainWithPeer is Main with another argument list for the second process, which
// is this same program. Tests make peers that misbehave with it.
func MainWithPeer(args, peer []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: &output{to: stdout}, stderr: stderr, peer: peer}
	return a.main(args[1:])
}

func (a *app) main(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer a.onInterrupt(cancel)()

	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if lost := unprinted(a.stdout); lost != nil && (err == nil || errors.Is(err, lost)) {
		err = envf("what was printed is not complete", "standard output: %w", lost)
	}
	code := codeOf(ctx, err)
	switch {
	case err == nil:
	case code == exit.Interrupted:
		after := ""
		if a.started.Load() {
			after = "; the second process is gone"
		}
		fmt.Fprintf(a.stderr, "%s: interrupted%s\n", cmd.CommandPath(), after)
	default:
		fmt.Fprintf(a.stderr, "%s: %v\n", cmd.CommandPath(), oneLine(err.Error()))
	}
	return code
}

// onInterrupt turns the first Ctrl-C into the end of the command's context; a
// second one ends the program at once, and the kernel ends its child.
func (a *app) onInterrupt(cancel context.CancelCauseFunc) (stop func()) {
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-sig:
			signal.Stop(sig)
			cancel(errInterrupted)
		case <-done:
		}
	}()
	return func() { signal.Stop(sig); close(done) }
}
