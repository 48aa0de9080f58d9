// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/files"
	"github.com/kvxfer/kvxfer/nixl"
)

type serveFlags struct {
	networkFlags
	listen, dir string
	readOnly    bool
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Lend the files of a folder, and take files into it",
		Long: `serve is the side that "kvxfer send" and "kvxfer recv" talk to. It lends the
files of a folder to peers, and takes files into it, in chunks that NIXL moves,
each owned on both sides until there is proof.

On loopback and Unix sockets it needs nothing more. On any other address both
sides need certificates, see "kvxfer certs init"; files that change are read
again. NIXL's own data connections are not encrypted: keep them in a network
that you trust.

When a peer dies in the middle, its memory here may still be written to: serve
then ends its NIXL agent, which over TCP is proof that nobody does, and comes up
in a new life; other peers go on by themselves, from the chunks that they have.

Ctrl-C or SIGTERM ends it in good order.`,
		Example: `  kvxfer serve --listen 127.0.0.1:7300 --dir .
  kvxfer serve --listen 0.0.0.0:7300 --dir /data --certs certs --name store-0`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(notEmpty(cmd, append(networkText, "listen", "dir")...), f.check()); err != nil {
				return err
			}
			return a.serve(cmd.Context(), &f)
		},
	}
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:7300", "`address` to listen on: HOST:PORT, unix:/path, unix-abstract:name")
	cmd.Flags().StringVar(&f.dir, "dir", ".", "`folder` of the files")
	cmd.Flags().BoolVar(&f.readOnly, "read-only", false, "take no files in")
	f.add(cmd)
	return cmd
}

func (a *app) serve(ctx context.Context, f *serveFlags) error {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return envf("give a folder", "--dir: %w", err)
	}
	defer func() { _ = root.Close() }()
	carrier, err := f.carrier(f.listen, "serve")
	if err != nil {
		return err
	}
	config, lib, err := a.node(&f.networkFlags, f.listen, func(e files.Event) { a.serveEvent(f, e) })
	if err != nil {
		return err
	}
	listener, err := carrier.Listen(f.listen)
	if err != nil {
		return networkFailure("--listen", err)
	}
	defer func() { _ = listener.Close() }()
	if err := a.serveBegan(f, listener.Addr(), lib); err != nil {
		return err
	}
	err = files.Serve(ctx, config, listener, root, f.readOnly)
	if errors.Is(err, errInterrupted) && !errors.Is(err, files.ErrRetained) {
		return nil // that is how it ends
	}
	return networkFailure("--listen", err)
}

// servedAt is the first line of serve --json.
type servedAt struct {
	Event     string `json:"event"` // "serving"
	Addr      string `json:"addr"`
	Name      string `json:"name"`
	TLS       bool   `json:"tls"`
	Dir       string `json:"dir"`
	Transport string `json:"transport"`
	Version   string `json:"nixl"`
	Pid       int    `json:"pid"`
}

func (a *app) serveBegan(f *serveFlags, addr string, lib *nixl.Library) error {
	at := servedAt{"serving", addr, f.name, f.cert != "", f.dir, f.transport, lib.Version().String(), os.Getpid()}
	if f.json {
		return a.json(at)
	}
	tls := "no TLS"
	if at.TLS {
		tls = "mutual TLS 1.3"
	}
	_, err := fmt.Fprintf(a.stdout, "serving %s at %s as %s, %s, NIXL %s over %s\n", f.dir, addr, f.name, tls, at.Version, f.transport)
	return err
}

func (a *app) serveEvent(f *serveFlags, e files.Event) {
	if f.json {
		_ = a.json(e)
		return
	}
	fmt.Fprintln(a.stdout, eventText(e))
}

// eventText is one event in words.
func eventText(e files.Event) string {
	text := e.Event
	for _, part := range []string{e.Peer, e.File} {
		if part != "" {
			text += " " + part
		}
	}
	if e.Bytes > 0 {
		text += ", " + sizeText(e.Bytes)
	}
	if e.Why != "" {
		text += ": " + oneLine(e.Why)
	}
	return text
}
