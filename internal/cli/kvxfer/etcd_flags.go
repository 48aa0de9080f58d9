// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/ranks"
)

// etcdEmbedded says that etcd is to run inside of a process of ours.
const etcdEmbedded = "embedded"

// passwordVariable holds etcd's password: a flag could be read by every process
// of the machine.
const passwordVariable = "KVXFER_ETCD_PASSWORD"

// etcdFlags say where etcd is and who asks.
type etcdFlags struct {
	where, cert, key, ca, user string
}

func (f *etcdFlags) add(cmd *cobra.Command, def string) {
	fl := cmd.Flags()
	fl.StringVar(&f.where, "etcd", def, `"embedded", or the URLs of a running etcd, separated by commas`)
	fl.StringVar(&f.cert, "etcd-cert", "", "certificate `file` to show to etcd")
	fl.StringVar(&f.key, "etcd-key", "", "key `file` of that certificate")
	fl.StringVar(&f.ca, "etcd-ca", "", "`file` of the CA that etcd's certificate is from; else those of the system")
	fl.StringVar(&f.user, "etcd-user", "", "etcd user; the password is taken from "+passwordVariable)
}

// access returns what the flags say; no endpoints for an embedded etcd.
func (f *etcdFlags) access(cmd *cobra.Command) (ranks.Access, error) {
	if err := notEmpty(cmd, "etcd", "etcd-cert", "etcd-key", "etcd-ca", "etcd-user"); err != nil {
		return ranks.Access{}, err
	}
	a := ranks.Access{CertFile: f.cert, KeyFile: f.key, CAFile: f.ca, Username: f.user, Password: os.Getenv(passwordVariable)}
	switch {
	case (f.cert == "") != (f.key == ""):
		return a, usagef("give both", "--etcd-cert and --etcd-key: one without the other")
	case f.user != "" && a.Password == "":
		return a, usagef("set "+passwordVariable, "--etcd-user: no password for %q", f.user)
	case f.where == etcdEmbedded && (f.cert != "" || f.ca != "" || f.user != ""):
		return a, usagef("give the URLs of an etcd", "--etcd embedded: takes no certificate and no user, it is inside of rank 0")
	case f.where == etcdEmbedded:
		return a, nil
	}
	a.Endpoints = strings.Split(f.where, ",")
	plain := func(u string) bool { return !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") }
	if slices.ContainsFunc(a.Endpoints, plain) {
		return a, usagef("give URLs such as http://127.0.0.1:2379", "--etcd: %q is neither %q nor a list of http or https URLs", f.where, etcdEmbedded)
	}
	if _, err := a.TLS(); err != nil {
		return a, envf("give files that can be read", "etcd's TLS: %w", err)
	}
	return a, nil
}
