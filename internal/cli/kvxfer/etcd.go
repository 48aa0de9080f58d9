// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/kvxfer/kvxfer/cluster/etcd"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/ranks"
)

type etcdServerFlags struct {
	config  etcd.ServerConfig
	members []string
	quota   sizeFlag
	verbose bool
	json    bool
}

func (a *app) etcdCommand() *cobra.Command {
	f := &etcdServerFlags{quota: etcd.DefaultQuota}
	cmd := &cobra.Command{
		Use:   "etcd --dir DIR",
		Short: "Run an etcd server for ranks",
		Long: `etcd runs a real etcd server inside of this process, until it is interrupted:
what ranks share where no etcd runs yet. Its data stays in the directory; started
again with it, the server goes on where it stopped.

Without certificates it listens on the loopback interface only. With --cert,
--key and --ca clients must show a certificate of that CA.

When its database is larger than the quota, etcd takes no writes: ranks stand
FULL, and nothing retires. "kvxfer etcd room" makes room.`,
		Example: `  kvxfer etcd --dir etcd-data --listen 127.0.0.1:2379
  kvxfer etcd room --etcd http://127.0.0.1:2379`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveEtcd(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.config.Dir, "dir", "", "`directory` of its data (required)")
	fl.StringVar(&f.config.Name, "name", "kvxfer", "`name` of this member")
	fl.StringVar(&f.config.Listen, "listen", "", "`host:port` for clients; a free port on the loopback interface if not given")
	fl.StringVar(&f.config.Peers, "listen-peers", "", "`host:port` for other members")
	fl.StringSliceVar(&f.members, "member", nil, "`name=host:port` of a member, once for each, this one included")
	fl.StringVar(&f.config.CertFile, "cert", "", "certificate `file` for clients")
	fl.StringVar(&f.config.KeyFile, "key", "", "key `file` of that certificate")
	fl.StringVar(&f.config.CAFile, "ca", "", "`file` of the CA whose certificates clients must show")
	fl.StringVar(&f.config.PeerCertFile, "peer-cert", "", "certificate `file` between members")
	fl.StringVar(&f.config.PeerKeyFile, "peer-key", "", "key `file` of that certificate")
	fl.StringVar(&f.config.PeerCAFile, "peer-ca", "", "`file` of the CA of the members' certificates")
	fl.Var(&f.quota, "quota", "most bytes of its database")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print etcd's own log to standard error")
	fl.BoolVar(&f.json, "json", false, "print the address as one JSON object")
	cmd.AddCommand(a.etcdRoomCommand())
	return cmd
}

func (a *app) serveEtcd(ctx context.Context, f *etcdServerFlags) error {
	const do = `see "kvxfer etcd --help"`
	if f.config.Dir == "" {
		return usagef("give a directory", "--dir: is required")
	}
	f.config.Quota = int64(f.quota)
	for _, m := range f.members {
		name, addr, ok := strings.Cut(m, "=")
		if !ok {
			return usagef(do, "--member: %q is not name=host:port", m)
		}
		if f.config.Members == nil {
			f.config.Members = map[string]string{}
		}
		f.config.Members[name] = addr
	}
	if f.verbose {
		logger, err := zap.NewDevelopment()
		if err != nil {
			return err
		}
		f.config.Logger = logger
	}
	server, err := etcd.Start(ctx, f.config)
	switch {
	case errors.Is(err, etcd.ErrConfig):
		return usagef(do, "%w", err)
	case err != nil:
		return envf("is the address free and the directory writable?", "%w", err)
	}
	defer server.Close()
	if f.json {
		err = a.json(map[string]any{"url": server.URL(), "pid": os.Getpid(), "dir": f.config.Dir})
	} else {
		_, err = fmt.Fprintf(a.stdout, "etcd at %s, data in %s\n", server.URL(), f.config.Dir)
	}
	if err != nil {
		return err
	}
	select {
	case err := <-server.Err():
		return envf("", "etcd has ended: %w", err)
	case <-ctx.Done():
		return nil
	}
}

func (a *app) etcdRoomCommand() *cobra.Command {
	var f etcdFlags
	cmd := &cobra.Command{
		Use:   "room --etcd URL,...",
		Short: "Make a full etcd usable again",
		Long: `room does what an operator does for an etcd that has raised NOSPACE: it forgets
old changes, gives their space back on every member, and disarms the alarm. What
the keys are stays. If the keys alone are too large, it will be full again: fence
the ranks that are gone, so that the others can delete what they kept for them,
or give etcd a larger quota.`,
		Example: `  kvxfer etcd room --etcd http://127.0.0.1:2379
  kvxfer etcd room --etcd http://127.0.0.1:2379,http://127.0.0.1:22379`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.where == "" || f.where == etcdEmbedded {
				return usagef("give the URLs of the etcd", "--etcd: is required")
			}
			access, err := f.access(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			store, err := ranks.Dial(ctx, access)
			if err != nil {
				return envf("is etcd running there?", "%w", err)
			}
			defer func() { _ = store.Close() }()
			if err := store.MakeRoom(ctx); err != nil {
				return envf("", "%w", err)
			}
			_, err = fmt.Fprintln(a.stdout, "etcd has room again")
			return err
		},
	}
	f.add(cmd, "")
	return cmd
}
