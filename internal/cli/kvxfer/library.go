// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/nixl"
)

// libraryFolder is where the project keeps a NIXL of its own, beside go.mod;
// git ignores it.
const libraryFolder = ".nixl"

const getNIXL = `get it with "kvxfer nixl fetch", or name one with --nixl or ` + nixl.EnvLibrary

func addLibraryFlag(cmd *cobra.Command, library *string) {
	cmd.Flags().StringVar(library, "nixl", "", "`path` of libnixl_capi.so or of an unpacked wheel (default: search; see "+nixl.EnvLibrary+")")
}

// openLibrary finds NIXL: what the user named, what his Python has, what the
// project keeps.
func openLibrary(named string) (*nixl.Library, error) {
	return nixl.Open(nixl.Options{Library: named, Folders: []string{projectFolder()}})
}

// libraryNamed reports whether the user said which library to use; then
// another one, or none, is not what he asked for.
func libraryNamed(named string) bool { return named != "" || os.Getenv(nixl.EnvLibrary) != "" }

// projectFolder is the library folder of the project that the working
// directory is in, or of the working directory itself.
func projectFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return libraryFolder
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Join(at, libraryFolder)
		}
		if at == filepath.Dir(at) {
			return filepath.Join(dir, libraryFolder)
		}
	}
}

// libraryFailure says in one line why no library can be used: what was wrong
// with the one that the user named or that was found, or that there is none.
func libraryFailure(err error) error {
	var none *nixl.NotFoundError
	if !errors.As(err, &none) {
		return envf(getNIXL, "%w", err)
	}
	for _, at := range none.Attempts {
		found := at.Path != "" && at.Path != nixl.LibraryName // the loader's own search always has a name
		if found || len(none.Attempts) == 1 {
			return envf(getNIXL, "nixl: %s: %w", at.Place, at.Reason)
		}
	}
	return envf(getNIXL, "nixl: no %s in %d places", nixl.LibraryName, len(none.Attempts))
}
