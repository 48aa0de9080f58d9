// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/nixl"
)

// versionInfo is what the version command prints.
type versionInfo struct {
	Version string      `json:"version"`
	Commit  string      `json:"commit"`
	Changed bool        `json:"changed"` // built from a tree with uncommitted changes
	Go      string      `json:"go"`
	OS      string      `json:"os"`
	Arch    string      `json:"arch"`
	NIXL    libraryInfo `json:"nixl"`
}

// libraryInfo is the NIXL that would be used, or why there is none.
type libraryInfo struct {
	Version string   `json:"version,omitempty"`
	Path    string   `json:"path,omitempty"`
	Found   string   `json:"found,omitempty"` // which place of the search order
	Why     string   `json:"why,omitempty"`   // why there is none
	Looked  []string `json:"looked,omitempty"`
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	var library string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of kvxfer, Go and the NIXL library that it found",
		Example: `  kvxfer version
  kvxfer version --json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := versionOf(library)
			if asJSON {
				return a.json(v)
			}
			return a.printVersion(v)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	addLibraryFlag(cmd, &library)
	return cmd
}

// version and commit are set by the linker where the Go tool cannot know them
// (a build without version control).
var version, commit string

func versionOf(library string) versionInfo {
	v := versionInfo{Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v.Version == "" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && v.Commit == "":
				v.Commit = s.Value
			case s.Key == "vcs.modified":
				v.Changed = s.Value == "true"
			}
		}
	}
	v.NIXL = libraryOf(openLibrary(library))
	return v
}

func libraryOf(lib *nixl.Library, err error) libraryInfo {
	if err == nil {
		return libraryInfo{Version: lib.Version().String(), Path: lib.Path(), Found: lib.Found()}
	}
	info := libraryInfo{Why: err.Error()}
	var none *nixl.NotFoundError
	if errors.As(err, &none) {
		info.Why = "no usable " + nixl.LibraryName
		for _, at := range none.Attempts {
			info.Looked = append(info.Looked, fmt.Sprintf("%s: %v", at.Place, at.Reason))
		}
	}
	return info
}

func (a *app) printVersion(v versionInfo) error {
	commit := v.Commit
	if commit == "" {
		commit = "unknown"
	} else if v.Changed {
		commit += " (changed)"
	}
	fmt.Fprintf(a.stdout, "kvxfer  %s\ncommit  %s\ngo      %s %s/%s\n", orUnknown(v.Version), commit, v.Go, v.OS, v.Arch)
	if v.NIXL.Path != "" {
		fmt.Fprintf(a.stdout, "nixl    %s  %s\n        found in %s\n", v.NIXL.Version, v.NIXL.Path, v.NIXL.Found)
		return nil
	}
	fmt.Fprintf(a.stdout, "nixl    none: %s\n", v.NIXL.Why)
	for _, l := range v.NIXL.Looked {
		fmt.Fprintf(a.stdout, "        %s\n", l)
	}
	fmt.Fprintf(a.stdout, "        get it with: kvxfer nixl fetch\n")
	return nil
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
