// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer"
)

// After a wanted change of output: go test ./cmd/fsmgen -update, then read the diff.
var update = flag.Bool("update", false, "write the output that the scripts get now")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"fsmgen": main,
		"kvxfer": func() { os.Exit(kvxfer.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }, // replays scenarios
	})
}

// TestScripts runs the built command as its users do, one folder a script.
func TestScripts(t *testing.T) {
	params := scriptParams(t)
	params.Dir = "testdata"
	testscript.Run(t, params)
}

func scriptParams(t *testing.T) testscript.Params {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", root)
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
				env.Setenv(name, goEnv(name))
			}
			env.Setenv("GOFLAGS", "-mod=mod")
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOTOOLCHAIN", "local")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"scratch": scratch},
	}
}

// goEnv is where go keeps things, for scripts that run it.
func goEnv(name string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return map[string]string{
		"GOCACHE":    filepath.Join(cacheDir(), "go-build"),
		"GOMODCACHE": filepath.Join(home, "go", "pkg", "mod"),
		"GOPATH":     filepath.Join(home, "go"),
	}[name]
}

func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return dir
}

// scratch makes a module of its own that replaces this one by the tree under test:
//
//	scratch MODULE
//
// The versions of this module's dependencies are copied, so that nothing has to be
// fetched.
func scratch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: scratch MODULE")
	}
	root := ts.Getenv("REPO")
	mod := ts.ReadFile(filepath.Join(root, "go.mod"))
	_, rest, _ := strings.Cut(mod, "\n")
	text := "module " + args[0] + "\n" + rest + "\n" +
		"require github.com/kvxfer/kvxfer v0.0.0\n\n" +
		"replace github.com/kvxfer/kvxfer => " + root + "\n\n" +
		"tool github.com/kvxfer/kvxfer/cmd/fsmgen\n"
	ts.Check(os.WriteFile(ts.MkAbs("go.mod"), []byte(text), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("go.sum"), []byte(ts.ReadFile(filepath.Join(root, "go.sum"))), 0o644))
}
