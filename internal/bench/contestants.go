// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kvxfer/kvxfer/nixl"
)

//go:embed testdata
var testdata embed.FS

// tools are what raw contestants are started with.
type tools struct {
	library string
	c       []string // command of raw.c
	self    string   // this program
	python  []string // of raw.py; nil without the package
}

func prepare(dir string, lib *nixl.Library) (*tools, error) {
	if err := os.CopyFS(dir, testdata); err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "testdata")
	program := filepath.Join(dir, "raw")
	build := exec.Command("cc", "-O2", "-Wall", "-I", "internal/nixlc", "-o", program, filepath.Join(dir, "raw.c"), filepath.Join(dir, "loops.c"), "-ldl")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &tools{library: lib.Path(), c: []string{program, lib.Path()}, self: self}
	test := exec.Command("python3", "-c", "import numpy, nixl._api")
	test.Env = append(os.Environ(), "PYTHONPATH="+*python)
	if out, err := test.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: without Python: %v %s\n", err, lastLine(out))
		return t, nil
	}
	t.python = []string{"python3", filepath.Join(dir, "raw.py")}
	return t, nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// tls is UCX_TLS of each transport, the same for all contestants.
var tls = map[string]string{"tcp": "tcp", "cma": "cma,tcp"}

func (t *tools) transport(name string) error {
	if tls[name] == "" {
		return errors.New("unknown transport")
	}
	env := []string{
		"UCX_TLS=" + tls[name], "UCX_NET_DEVICES=lo", "UCX_MEM_EVENTS=n", "UCX_LOG_FILE=stderr",
		"UCX_LOG_LEVEL=fatal", "NIXL_LOG_LEVEL=FATAL", "PYTHONPATH=" + *python,
	}
	all := map[string]contestant{}
	defer func() {
		for _, c := range all {
			c.close()
		}
	}()
	if err := t.contestants(env, name, all); err != nil {
		return err
	}
	if err := compare(name, all); err != nil {
		return err
	}
	shares, err := all[owner].(*owned).idle(*idleTime)
	if err != nil {
		return err
	}
	fmt.Printf("\nidle, %s: initiator %.2f %%, target %.2f %% of a core over %v\n\n", name, 100*shares[0], 100*shares[1], *idleTime)
	return nil
}

// contestants starts their processes.
func (t *tools) contestants(env []string, transport string, all map[string]contestant) error {
	c, err := startRaw("C", env, t.c...)
	if err != nil {
		return err
	}
	all[bare] = c
	if all[bareAsked], err = newAsked(c); err != nil {
		return err
	}
	if all[binding], err = startRaw("Go", env, t.self, roleBare, t.library, transport); err != nil {
		delete(all, binding)
		return err
	}
	ours, err := startOwned(env, t.self, t.library, transport)
	if err != nil {
		return err
	}
	all[owner] = ours
	if t.python != nil {
		p, err := startRaw("Python", env, t.python...)
		if err != nil {
			return err
		}
		all[official] = p
	}
	return nil
}
