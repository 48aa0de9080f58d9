// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/nixl/wheel"
)

func (a *app) nixlCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nixl",
		Short: "Get the NIXL library",
		Example: `  kvxfer nixl fetch
  kvxfer nixl fetch --force`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.fetchCommand())
	return cmd
}

// fetched is what the fetch command did.
type fetched struct {
	Event   string `json:"event"` // "nixl"
	Fetched bool   `json:"fetched"`
	Version string `json:"version"`
	Path    string `json:"path"`
	Found   string `json:"found"`
}

type fetchFlags struct {
	dir, python, lock string
	force, json       bool
}

func (a *app) fetchCommand() *cobra.Command {
	var f fetchFlags
	cmd := &cobra.Command{
		Use:   "fetch",
		Short: "Get NIXL with pip, unless one is installed",
		Long: `fetch asks the pip of your Python for the wheel with NIXL's C library (68 MB)
and unpacks it into a folder of the project that git ignores. Its hash is built
into this program. Nothing is installed and no other package is touched.

When NIXL is found already, in your Python environment or where ` + nixl.EnvLibrary + `
points to, nothing is done.`,
		Example: `  kvxfer nixl fetch
  kvxfer nixl fetch --force --dir .nixl`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.fetch(cmd, f) },
	}
	cmd.Flags().StringVar(&f.dir, "dir", "", "`folder` to unpack into (default: .nixl beside go.mod)")
	cmd.Flags().StringVar(&f.python, "python", "", "Python `interpreter` whose pip is asked (default: python3)")
	cmd.Flags().StringVar(&f.lock, "lock", "", "requirements `file` with another wheel's hashes (default: built in)")
	cmd.Flags().BoolVar(&f.force, "force", false, "fetch although NIXL is installed elsewhere")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (a *app) fetch(cmd *cobra.Command, f fetchFlags) error {
	if lib, err := openLibrary(""); err == nil && !f.force {
		return a.printFetched(f, fetched{"nixl", false, lib.Version().String(), lib.Path(), lib.Found()})
	} else if libraryNamed("") && !f.force {
		return libraryFailure(err) // fetching another one would not make it work
	}
	dir := f.dir
	if dir == "" {
		dir = projectFolder()
	}
	progress, done := a.fetchProgress(f.json)
	folder, err := wheel.Fetch(cmd.Context(), dir, wheel.Options{Lock: f.lock, Python: f.python, Progress: progress})
	done()
	if err != nil {
		return fetchFailure(err)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	lib, err := nixl.Open(nixl.Options{Library: folder})
	if err != nil {
		return libraryFailure(err)
	}
	return a.printFetched(f, fetched{"nixl", true, lib.Version().String(), lib.Path(), "folder " + dir})
}

func (a *app) printFetched(f fetchFlags, got fetched) error {
	if f.json {
		return a.json(got)
	}
	_, err := fmt.Fprintf(a.stdout, "NIXL %s, found in %s: %s\n", got.Version, got.Found, got.Path)
	return err
}

// fetchProgress shows how much has arrived: redrawn on a terminal, a line now
// and then elsewhere.
func (a *app) fetchProgress(quiet bool) (tell func(int64), done func()) {
	if quiet {
		return func(int64) {}, func() {}
	}
	if !isTerminal(a.stderr) {
		last, shown := time.Now(), int64(0)
		fmt.Fprintf(a.stderr, "fetching NIXL %s with pip\n", wheel.Version())
		return func(n int64) {
			if time.Since(last) > 3*time.Second && n-shown >= 1<<20 { // pip may wait for long, and there is nothing to tell
				last, shown = time.Now(), n
				fmt.Fprintf(a.stderr, "fetching NIXL %s: %s\n", wheel.Version(), humanize.Bytes(uint64(n)))
			}
		}, func() {}
	}
	bar := progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(a.stderr), progressbar.OptionShowBytes(true), progressbar.OptionShowCount(), progressbar.OptionSpinnerType(14),
		progressbar.OptionSetDescription("fetching NIXL "+wheel.Version()), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())
	return func(n int64) { _ = bar.Set64(n) }, func() { _ = bar.Finish() }
}

// fetchFailure says what to do about each way in which a fetch can fail.
func fetchFailure(err error) error {
	for _, c := range []struct {
		kind error
		code int
		do   string
	}{
		{wheel.ErrHash, exit.Env, "it was not unpacked: check the package index that pip is configured for"},
		{wheel.ErrNetwork, exit.Env, `check the network, or install nixl-cu12 yourself; "kvxfer run" works without, in one process`},
		{wheel.ErrNoPython, exit.Env, ""},
		{wheel.ErrNoPip, exit.Env, ""},
		{wheel.ErrPlatform, exit.Env, `build NIXL yourself and name it with ` + nixl.EnvLibrary},
		{wheel.ErrCorrupt, exit.Env, "clear pip's cache (pip cache purge) and try again"},
	} {
		if errors.Is(err, c.kind) {
			return &failure{c.code, err, c.do}
		}
	}
	return &failure{exit.Env, err, "see pip's words above, or install nixl-cu12 yourself"}
}
