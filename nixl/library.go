// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// Options say where to look for NIXL. The zero value looks everywhere.
type Options struct {
	_ struct{}
	// Library is a path to libnixl_capi.so or to a folder with an unpacked
	// wheel. When it is set nothing else is tried.
	Library string
	// Folders are the program's own places for unpacked wheels, looked at
	// after the user's environment and before the system's folders.
	Folders []string
}

// Library is NIXL, opened. It stays open for the life of the process: its
// threads may still run when the last agent is gone.
type Library struct {
	api     nixlc.API
	path    string
	found   string
	version Version

	// agents are those that were not destroyed.
	agents struct {
		sync.Mutex
		live map[*Agent]struct{}
	}
}

// opened keeps one Library for each file, so that a process never loads the
// same one twice.
var opened struct {
	sync.Mutex
	byPath map[string]*Library
}

// Open finds NIXL, prepares the environment that it needs in a Go process (see
// [Environment]) and loads it. The error is a [NotFoundError] with every place
// that was looked at; it matches [ErrNoLibrary], and [ErrVersion] where a
// version was refused. Safe from many goroutines; opening again is cheap.
func Open(o Options) (*Library, error) {
	opened.Lock()
	defer opened.Unlock()
	failed := &NotFoundError{}
	for _, p := range o.places() {
		files := p.files()
		if len(files) == 0 {
			failed.Attempts = append(failed.Attempts, Attempt{Place: p.name, Reason: errAbsent})
		}
		for _, f := range files {
			lib, err := open(f)
			if err == nil {
				if lib.found == "" {
					lib.found = p.name
				}
				return lib, nil
			}
			failed.Attempts = append(failed.Attempts, Attempt{Place: p.name, Path: f, Reason: err})
		}
	}
	return nil, failed
}

// open loads one candidate. The caller holds opened's lock.
func open(file string) (*Library, error) {
	path := file
	if file != LibraryName {
		// The library finds its dependencies from its real place only.
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return nil, err
		}
		if path, err = filepath.Abs(real); err != nil {
			return nil, err
		}
	}
	if lib := opened.byPath[path]; lib != nil {
		return lib, nil
	}
	if other := loaded(path); other != "" {
		return nil, fmt.Errorf("%w: %s", ErrSecondLibrary, other)
	}
	version := versionOnDisk(path)
	if version != (Version{}) && version.Less(MinVersion) {
		return nil, &VersionError{Path: path, Version: version}
	}
	lib, err := load(path, version)
	if err != nil {
		return nil, err
	}
	if opened.byPath == nil {
		opened.byPath = map[string]*Library{}
	}
	opened.byPath[path] = lib
	return lib, nil
}

// ErrSecondLibrary refuses another NIXL than the one that is loaded: the loader
// takes libraries of one name for the same, and would mix the two.
var ErrSecondLibrary = errors.New("nixl: another NIXL is loaded in this process")

// loaded names the NIXL that a second one at path would be mixed with. The
// caller holds opened's lock.
func loaded(path string) string {
	const core = "libnixl.so"
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), core)); err != nil {
		return ""
	}
	for other := range opened.byPath {
		if _, err := os.Stat(filepath.Join(filepath.Dir(other), core)); err == nil {
			return other
		}
	}
	return ""
}

func load(path string, version Version) (*Library, error) {
	if err := applyEnvironment(); err != nil {
		return nil, fmt.Errorf("nixl: environment: %w", err)
	}
	api, err := nixlc.Load(path)
	if err != nil {
		return nil, err
	}
	if origin := api.Origin(); version == (Version{}) && origin != "" {
		version = versionOnDisk(origin)
		path = origin
	}
	if version == (Version{}) {
		version = versionBySymbols(api)
	}
	if version.Less(MinVersion) {
		return nil, &VersionError{Path: path, Version: version}
	}
	return &Library{api: api, path: path, version: version}, nil
}

// Path is the file that was loaded.
func (l *Library) Path() string { return l.path }

// Found says in the user's words which place of the search order held it.
func (l *Library) Found() string { return l.found }

// Version is the library's version. When nothing on disk tells it, it is the
// oldest version that exports what the library exports.
func (l *Library) Version() Version { return l.version }
