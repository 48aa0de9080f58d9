// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/doctor"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/move"
	"github.com/kvxfer/kvxfer/nixl"
)

// storageFlags choose a plugin of NIXL that moves between memory and files.
type storageFlags struct {
	plugin string
	params map[string]string
	file   string
}

func (f *runFlags) addStorage(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.plugin, "plugin", nixl.PluginUCX, "`name` of NIXL's plugin; one for storage offloads to a file and reads it back")
	fl.StringToStringVar(&f.params, "plugin-param", nil, "`key=value` of that plugin for storage, as in use_uring=true; may be repeated")
	fl.StringVar(&f.file, "file", "", "`path` of the file to offload to; it is overwritten (default: a temporary one)")
	completeWords(cmd, "plugin", nixl.PluginUCX, nixl.PluginPOSIX)
}

// storage reports whether the plugin is one for storage.
func (f *storageFlags) storage() bool { return f.plugin != nixl.PluginUCX }

// compared says where the digests were taken.
func (f *storageFlags) compared() string {
	if f.storage() {
		return "in the file and after the way back"
	}
	return "at the receiver"
}

// checkStorage refuses what has no meaning with the plugin.
func (f *runFlags) checkStorage(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	if !f.storage() {
		for _, flag := range []string{"file", "plugin-param"} {
			if given(flag) {
				return usagef("give --plugin POSIX as well", "--%s: plugin %s moves between processes", flag, f.plugin)
			}
		}
		return nil
	}
	for _, flag := range []string{"transport", "control", "admin", "fault"} {
		if given(flag) {
			return usagef("leave one of them out", "--plugin %s and --%s: there is no second process", f.plugin, flag)
		}
	}
	if f.backend == backendLoop {
		return usagef("leave one of them out", "--backend loop and --plugin: the loop backend has no plugins")
	}
	return nil
}

func (a *app) runStorage(ctx context.Context, f *runFlags) error {
	lib, err := openLibrary(f.library)
	if err != nil {
		return libraryFailure(err)
	}
	if f.file == "" {
		tmp, err := os.CreateTemp("", "kvxfer-*")
		if err != nil {
			return envf("name a file with --file", "--file: %w", err)
		}
		f.file = tmp.Name()
		defer func() { _ = os.Remove(f.file) }()
		_ = tmp.Close()
	}
	if f.out != "" {
		if err := os.Truncate(f.out, 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			return envf("give a file that can be written", "--out: %w", err)
		}
	}
	p := &runPrinter{app: a, flags: f}
	config := move.StorageConfig{
		Plan: move.Plan{
			Shape: f.shape(), Seed: f.seed, Library: lib.Path(), Out: f.out,
			RequestTimeout: f.timeout, Grace: f.grace, Wait: f.wait,
		},
		Count: f.count, Plugin: f.plugin, Params: f.params, File: f.file, Event: p.event, Transfer: p.transfer,
	}
	if f.in != "" {
		source, err := os.Open(f.in)
		if err != nil {
			return envf("give a file that can be read", "--in: %w", err)
		}
		defer func() { _ = source.Close() }()
		config.Source = source
	}
	config.Started = func() {
		p.began(firstLine{backend: backendNIXL, library: lib, transport: "nixl/" + f.plugin}, os.Getpid())
	}
	report, err := move.RunStorage(ctx, config)
	if err != nil {
		p.failed()
		return a.storageFailure(ctx, f, lib, err)
	}
	p.ended(report)
	return judgeRun(f, report)
}

// storageFailure says why a plugin cannot be used in NIXL's own words, which it
// writes to a log only.
func (a *app) storageFailure(ctx context.Context, f *runFlags, lib *nixl.Library, err error) error {
	if e := (*nixl.Error)(nil); !errors.Is(err, backend.ErrUnavailable) || !errors.As(err, &e) {
		return runFailure(err)
	}
	found := doctor.Plugin(ctx, a.doctorConfig(f.library), lib.Path(), f.plugin)
	if found.Level == doctor.OK { // it works without these parameters
		return envf("look at --plugin-param", "plugin %s: %w", f.plugin, err)
	}
	return envf(found.Do, "plugin %s: %w", f.plugin, fmt.Errorf("%s", found.Text))
}
