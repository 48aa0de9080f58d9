// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/transfer/rpc/authority"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// certsFolder is where certificates are looked for, and made, by default.
func certsFolder() string {
	base, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(base, "kvxfer", "certs")
}

func (a *app) certsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "certs",
		Short: "Make certificates for a trial",
		Example: `  kvxfer certs init --name prefill-0 --name decode-0
  kvxfer certs init --dir certs --name prefill-0`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.certsInitCommand())
	return cmd
}

type certsFlags struct {
	dir   string
	names []string
	valid time.Duration
	json  bool
}

func (a *app) certsInitCommand() *cobra.Command {
	var f certsFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make a test authority, and a certificate for each endpoint",
		Long: `init makes a certificate authority in a folder, unless there is one, and signs a
certificate for each --name. The name in a certificate is the endpoint's name: a
peer that says another one is refused.

Copy ca.pem, NAME.pem and NAME-key.pem to where the endpoint NAME runs, and give
the folder with --certs. Nothing that exists is written over. It is for trials:
the authority's own key, ca-key.pem, lies in the same folder; who has it can be
anybody. With certificates of your own use --cert, --key and --ca instead.`,
		Example: `  kvxfer certs init --name prefill-0 --name decode-0
  kvxfer certs init --dir certs --name decode-1 --valid 24h`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(notEmpty(cmd, "dir"), f.check()); err != nil {
				return err
			}
			return a.certsInit(f)
		},
	}
	cmd.Flags().StringVar(&f.dir, "dir", certsFolder(), "`folder` for the files")
	cmd.Flags().StringArrayVar(&f.names, "name", nil, "endpoint's `name`; several times for several")
	cmd.Flags().DurationVar(&f.valid, "valid", 365*24*time.Hour, "how long the certificates are valid")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object for each file")
	return cmd
}

func (f *certsFlags) check() error {
	switch {
	case f.dir == "":
		return usagef("give a folder", "--dir: this user has no folder for configuration")
	case len(f.names) == 0:
		return usagef("give --name NAME for each endpoint", "--name: nobody to make a certificate for")
	case f.valid <= 0:
		return usagef("give a time such as 24h", "--valid: %v is no time", f.valid)
	}
	for i, name := range f.names {
		switch {
		case slices.Contains(f.names[:i], name):
			return usagef("give it once", "--name: %s is given twice", name)
		case wire.CheckEndpoint(name) != nil || name == "ca":
			return usagef(`use letters, digits and . _ - :`, "--name: %q is no name of an endpoint", name)
		}
	}
	return nil
}

// certFile is one file that was made.
type certFile struct {
	Event string `json:"event"` // "certificate"
	Name  string `json:"name,omitempty"`
	Path  string `json:"path"`
	Key   string `json:"key"`
}

func (a *app) certsInit(f certsFlags) error {
	ca, err := authority.Open(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if ca, err = authority.Create(f.dir, f.valid); err == nil {
			err = a.printCert(f, certFile{"certificate", "", filepath.Join(f.dir, authority.File), filepath.Join(f.dir, authority.KeyFile)})
		}
	}
	if err != nil {
		return certsFailure(err)
	}
	for _, name := range f.names {
		if err := ca.Issue(name, f.valid); err != nil {
			return certsFailure(err)
		}
		certificate, key, _ := authority.Files(f.dir, name)
		if err := a.printCert(f, certFile{"certificate", name, certificate, key}); err != nil {
			return err
		}
	}
	return nil
}

func certsFailure(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return usagef("remove it yourself, or give another --dir", "certificate not made: %w", err)
	}
	return envf("give a folder that can be written, with an authority of this command or none", "certificate not made: %w", err)
}

func (a *app) printCert(f certsFlags, c certFile) error {
	if f.json {
		return a.json(c)
	}
	who := c.Name
	if who == "" {
		who = "authority"
	}
	_, err := fmt.Fprintf(a.stdout, "%-12s %s, key %s\n", who, c.Path, c.Key)
	return err
}
