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
	addr, file, as, op string
	force              bool
}

var ops = []string{string(files.Write), string(files.Read)}

func (f *clientFlags) add(cmd *cobra.Command) {
	f.networkFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.op, "op", string(files.Write), "`"+alternatives(ops)+"`: who moves the bytes; write, the side that has the file, or read, the side that gets it")
	fl.StringVar(&f.peer, "peer", "", "`name` that the other endpoint must have (default: any that is trusted)")
	fl.BoolVar(&f.force, "force", false, "replace a file that exists")
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

func (a *app) sendCommand() *cobra.Command {
	var f clientFlags
	cmd := &cobra.Command{
		Use:   "send FILE",
		Short: "Put a file into the folder of a kvxfer serve",
		Long: `send puts a file where "kvxfer serve" listens, in chunks that NIXL moves, several
at once, each owned on both sides until there is proof. It ends with 0 when the
file is in place there, on the disk, with the digest that it has here.

When the connection breaks, or either side is killed and started again, the same
command goes on with the chunks that are missing. Each process that runs at the
same time needs an endpoint's name of its own.`,
		Example: `  kvxfer send weights.bin --to 127.0.0.1:7300
  kvxfer send weights.bin --to store-0.example:7300 --peer store-0 --certs certs --parallel 8`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.file = args[0]
			f.as = cmp.Or(f.as, filepath.Base(f.file))
			if err := cmp.Or(notEmpty(cmd, "as"), f.check(cmd, "to"), nameFailure("--as", f.as)); err != nil {
				return err
			}
			return a.client(cmd.Context(), &f, client{"send", "--to", files.Send}, f.file)
		},
	}
	cmd.Flags().StringVar(&f.addr, "to", "", "`address` of the other side: HOST:PORT, unix:/path, unix-abstract:name")
	cmd.Flags().StringVar(&f.as, "as", "", "`name` of the file there (default: its own)")
	f.add(cmd)
	return cmd
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return usagef(fmt.Sprintf("see %q", cmd.CommandPath()+" --help"), "%d files named, want one", len(args))
	}
	return nil
}

func nameFailure(flag, name string) error {
	if err := files.CheckName(name); err != nil {
		return usagef("give the name of a file, without its folder", "%s: %w", flag, err)
	}
	return nil
}

// client is what send and recv differ in.
type client struct {
	role string
	flag string // of the address
	run  func(context.Context, files.Config, files.Job) (files.Result, error)
}

// client talks to a serve: path is the file on this side.
func (a *app) client(ctx context.Context, f *clientFlags, c client, path string) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return envf("give a file in a folder that exists", "%w", err)
	}
	defer func() { _ = root.Close() }()
	carrier, err := f.carrier(f.addr, c.role)
	if err != nil {
		return err
	}
	p := &sendPrinter{app: a, flags: f}
	config, _, err := a.node(&f.networkFlags, f.addr, p.event)
	if err != nil {
		return err
	}
	result, err := c.run(ctx, config, files.Job{
		Carrier: carrier, Addr: f.addr, Op: files.Op(f.op), Root: root, Local: filepath.Base(path), Remote: f.as,
		Replace: f.force, Progress: p.progress,
	})
	p.over()
	if err != nil {
		return networkFailure(c.flag, err)
	}
	return p.result(result)
}
