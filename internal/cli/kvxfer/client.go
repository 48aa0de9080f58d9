// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/files"
)

// clientFlags are what send and recv have in common.
type clientFlags struct {
	networkFlags
	addr, op      string
	force, sha256 bool
	moves         []fileMove // the arguments
}

// fileMove is one file: its path on this side, and its name at the peer.
type fileMove struct{ local, remote string }

var ops = []string{string(files.Write), string(files.Read)}

func (f *clientFlags) add(cmd *cobra.Command) {
	f.networkFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.op, "op", string(files.Write), "`"+alternatives(ops)+"`: who moves the bytes; write, the side that has the file, or read, the side that gets it")
	fl.StringVar(&f.peer, "peer", "", "`name` that the other endpoint must have (default: any that is trusted)")
	fl.BoolVar(&f.force, "force", false, "replace a file that exists")
	fl.BoolVar(&f.sha256, "sha256", false, "also print what sha256sum prints of each file; one core more per file")
	completeWords(cmd, "op", ops...)
}

func (f *clientFlags) check(cmd *cobra.Command, address string) error {
	if err := cmp.Or(notEmpty(cmd, append(networkText, address, "peer")...), f.networkFlags.check()); err != nil {
		return err
	}
	switch {
	case f.addr == "":
		return usagef("give where a kvxfer serve listens", "--%s: missing", address)
	case f.op != ops[0] && f.op != ops[1]:
		return usagef("give "+alternatives(ops), "--op: unknown op %q", f.op)
	}
	return nil
}

func someFiles(cmd *cobra.Command, args []string) error {
	do := fmt.Sprintf("see %q", cmd.CommandPath()+" --help")
	if len(args) == 0 {
		return usagef(do, "no file named, want at least one")
	}
	for _, name := range args {
		if name == "" {
			return usagef(do, "FILE: is empty")
		}
	}
	return nil
}

func nameFailure(flag, name string) error {
	if err := files.CheckName(name); err != nil {
		return usagef("give the name of a file, without its folder", "%s: %w", flag, err)
	}
	return nil
}

func notFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef(fmt.Sprintf("name its files, as in %s", filepath.Join(path, "*")), "%s is a folder", path)
	}
	return nil
}

// client is what send and recv differ in.
type client struct {
	role string
	flag string // of the address
	run  func(context.Context, files.Config, files.Job) (files.Summary, error)
}

// roots opens the folders of the files on this side, each once.
func (f *clientFlags) roots() (list []files.File, closeAll func(), err error) {
	open := map[string]*os.Root{}
	closeAll = func() {
		for _, root := range open {
			_ = root.Close()
		}
	}
	remote, local := map[string]bool{}, map[string]bool{}
	for _, m := range f.moves {
		dir := filepath.Dir(m.local)
		if open[dir] == nil {
			root, err := os.OpenRoot(dir)
			if err != nil {
				closeAll()
				return nil, nil, envf("give a file in a folder that exists", "%w", err)
			}
			open[dir] = root
		}
		if remote[m.remote] || local[filepath.Clean(m.local)] {
			closeAll()
			return nil, nil, usagef("give it once", "%s: is the name of two files", m.remote)
		}
		remote[m.remote], local[filepath.Clean(m.local)] = true, true
		list = append(list, files.File{Root: open[dir], Local: filepath.Base(m.local), Remote: m.remote})
	}
	return list, closeAll, nil
}

// client talks to a serve.
func (a *app) client(ctx context.Context, f *clientFlags, c client) error {
	list, closeAll, err := f.roots()
	if err != nil {
		return err
	}
	defer closeAll()
	carrier, err := f.carrier(f.addr, c.role)
	if err != nil {
		return err
	}
	p := &clientPrinter{app: a, flags: f, flag: c.flag}
	config, _, err := a.node(&f.networkFlags, f.addr, p.event)
	if err != nil {
		return err
	}
	sum, err := c.run(ctx, config, files.Job{
		Carrier: carrier, Addr: f.addr, Op: files.Op(f.op), Files: list, Replace: f.force, SHA256: f.sha256,
		Progress: p.progress, Ended: p.ended,
	})
	p.over()
	return p.result(sum, err)
}
