// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
)

// failure is an error with its exit code and with what the user can do.
type failure struct {
	code int
	err  error
	do   string // an order to the user; empty when there is none to give
}

// Error is one line: what, where, and what to do.
func (f *failure) Error() string {
	msg := oneLine(f.err.Error())
	if f.do != "" {
		msg += "; " + f.do
	}
	return msg
}

// Unwrap gives the cause.
func (f *failure) Unwrap() error { return f.err }

// usagef is a mistake in the command line.
func usagef(do, format string, args ...any) error {
	return &failure{exit.Usage, fmt.Errorf(format, args...), do}
}

// notEmpty refuses flags that are given and have no value, as where a shell
// variable is not set: without them the command would do something else.
func notEmpty(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usagef("give a value, or leave it out", "--%s: is given, but empty", name)
		}
	}
	return nil
}

// envf is something that this machine lacks.
func envf(do, format string, args ...any) error {
	return &failure{exit.Env, fmt.Errorf(format, args...), do}
}

// errInterrupted is the cause of a context that Ctrl-C has ended.
var errInterrupted = errors.New("interrupted")

// codeOf is the exit code of what a command returned.
func codeOf(ctx context.Context, err error) int {
	var f *failure
	switch {
	case err == nil:
		return exit.OK
	case errors.As(err, &f) && (f.code == exit.Fatal || f.code == exit.Retained): // graver than how it came about
		return f.code
	case errors.Is(context.Cause(ctx), errInterrupted):
		return exit.Interrupted
	case errors.As(err, &f):
		return f.code
	}
	return exit.Peer
}

// oneLine keeps an error of many lines (errors.Join) on one.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
