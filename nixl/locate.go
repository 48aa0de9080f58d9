// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// EnvLibrary names the library file, or a folder that holds a wheel's
	// contents; it goes before every other place but Options.Library.
	EnvLibrary = "KVXFER_NIXL_LIB"
	// LibraryName is the file that holds NIXL's C interface.
	LibraryName = "libnixl_capi.so"
	// wheelLibs are the folders that the wheels, one a CUDA version, put it in.
	wheelLibs = ".nixl_cu1[23].mesonpy.libs"
)

// ErrNoLibrary is matched when no usable NIXL was found.
var ErrNoLibrary = errors.New("nixl: library not found")

// Attempt is one place that was looked at and why it did not serve.
type Attempt struct {
	Place  string // what the place is, as the user knows it
	Path   string // pattern or file; empty when the place does not exist
	Reason error
}

// NotFoundError lists everything that was looked at.
type NotFoundError struct{ Attempts []Attempt }

// Error is one line with every place and its reason.
func (e *NotFoundError) Error() string {
	var b strings.Builder
	b.WriteString("nixl: no usable " + LibraryName + "; looked at")
	for i, a := range e.Attempts {
		sep := ";"
		if i == 0 {
			sep = ""
		}
		fmt.Fprintf(&b, "%s %s: %v", sep, a.Place, a.Reason)
	}
	return b.String()
}

// Is makes every NotFoundError match [ErrNoLibrary].
func (e *NotFoundError) Is(target error) bool { return target == ErrNoLibrary }

// Unwrap gives the reasons, so that a refused version is seen with errors.Is.
func (e *NotFoundError) Unwrap() []error {
	var out []error
	for _, a := range e.Attempts {
		out = append(out, a.Reason)
	}
	return out
}

// place is one entry of the search order.
type place struct {
	name  string
	only  bool            // the user named it: no other place is tried after it
	files func() []string // existing candidates
}

var errAbsent = errors.New("nothing there")

// places is the search order: what the user named, what the user's Python
// has, what the program keeps for itself, what the system has.
func (o *Options) places() []place {
	if o.Library != "" {
		return []place{{"the given path " + o.Library, true, func() []string { return named(o.Library) }}}
	}
	if v := os.Getenv(EnvLibrary); v != "" {
		return []place{{EnvLibrary + "=" + v, true, func() []string { return named(v) }}}
	}
	out := []place{
		{"VIRTUAL_ENV", false, virtualEnv},
		{"python3's sys.path", false, pythonPath},
	}
	for _, dir := range o.Folders {
		out = append(out, place{"folder " + dir, false, func() []string { return inFolder(dir) }})
	}
	return append(out,
		place{"/opt/nvidia/nvda_nixl", false, func() []string {
			return glob("/opt/nvidia/nvda_nixl/lib*/"+LibraryName, "/opt/nvidia/nvda_nixl/lib*/*/"+LibraryName)
		}},
		place{"the loader's own search for " + LibraryName, false, func() []string { return []string{LibraryName} }},
	)
}

// named turns what the user wrote into candidates: a file, or a folder.
func named(path string) []string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return append(glob(filepath.Join(path, LibraryName)), inFolder(path)...)
	}
	return []string{path}
}

// inFolder looks for unpacked wheels in dir and one level below it, the
// newest version first.
func inFolder(dir string) []string {
	found := glob(filepath.Join(dir, wheelLibs, LibraryName), filepath.Join(dir, "*", wheelLibs, LibraryName))
	slices.SortStableFunc(found, func(a, b string) int {
		va, vb := versionOnDisk(a), versionOnDisk(b)
		switch {
		case vb.Less(va):
			return -1
		case va.Less(vb):
			return 1
		}
		return 0
	})
	return found
}

func virtualEnv() []string {
	env := os.Getenv("VIRTUAL_ENV")
	if env == "" {
		return nil
	}
	return glob(filepath.Join(env, "lib", "python*", "site-packages", wheelLibs, LibraryName))
}

// pythonTimeout bounds the question to python3, which may be a slow wrapper.
const pythonTimeout = 5 * time.Second

func pythonPath() []string {
	ctx, cancel := context.WithTimeout(context.Background(), pythonTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "python3", "-c", `import sys; print("\n".join(sys.path))`).Output()
	if err != nil {
		return nil
	}
	var found []string
	for dir := range strings.Lines(string(out)) {
		if dir = strings.TrimSpace(dir); dir != "" {
			found = append(found, glob(filepath.Join(dir, wheelLibs, LibraryName))...)
		}
	}
	return found
}

func glob(patterns ...string) []string {
	var out []string
	for _, p := range patterns {
		m, _ := filepath.Glob(p) // only a malformed pattern fails: it finds nothing
		out = append(out, m...)
	}
	return out
}
