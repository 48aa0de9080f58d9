// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kvxfer/kvxfer/nixl"
)

var update = flag.Bool("update", false, "accept the new output")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kvxfer":          main,
		"kvxfer-odd-peer": mainWithOddPeer,
		oddPeer:           oddPeerMain,
	})
}

// projectLibrary is where the project keeps a NIXL of its own.
const projectLibrary = "../../.nixl"

// TestScripts runs testdata/*.txtar: the built command, as a user calls it.
func TestScripts(t *testing.T) {
	lib, libErr := nixl.Open(nixl.Options{Folders: []string{projectLibrary}})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("FREE_PORT", freePort(t))
			if libErr == nil { // the scripts' working directory is no project
				env.Setenv(nixl.EnvLibrary, lib.Path())
				env.Setenv("NIXL_FOLDER", filepath.Dir(lib.Path()))
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "nixl" {
				return libErr == nil, nil
			}
			return false, errors.New("unknown condition " + cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "occupy": occupy, "eventually": eventually, "waitfor": waitfor},
	})
	if libErr != nil {
		t.Log("the parts of the scripts that need the real library were left out: ", libErr)
	}
}

// exits runs a program and checks its exit code: exits 2 kvxfer run --nope.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var code *exec.ExitError
		if !errors.As(err, &code) {
			ts.Fatalf("%v", err)
		}
		got = code.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// occupy listens on a port for the rest of the script and puts it into a
// variable: occupy PORT.
func occupy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: occupy variable")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// freePort returns a port that nobody listens on at the moment.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
