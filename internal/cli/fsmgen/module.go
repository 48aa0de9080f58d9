// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/internal/cli/exit"
)

// module is the Go module that the command works in.
type module struct {
	root string // absolute folder of go.mod
	path string // import path of the root
}

// findModule walks up from the current folder to a go.mod.
func findModule() (*module, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, &codeError{exit.Env, err}
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			name := modfile.ModulePath(data)
			if name == "" {
				return nil, &codeError{exit.Env, fmt.Errorf("%s: no module line", filepath.Join(dir, "go.mod"))}
			}
			return &module{root: dir, path: name}, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, &codeError{exit.Env, fmt.Errorf("no go.mod in this folder or above; run go mod init first")}
		}
		dir = parent
	}
}

// knows reports whether go.mod names a module or a tool.
func (m *module) knows(name string) bool {
	data, err := os.ReadFile(filepath.Join(m.root, "go.mod"))
	return err == nil && slices.Contains(strings.Fields(string(data)), name)
}

// resolve makes a folder of a flag absolute: a default lies below the module's
// root, what the user gave below the current folder.
func (m *module) resolve(cmd *cobra.Command, flag string) (string, error) {
	f := cmd.Flags().Lookup(flag)
	if !f.Changed {
		return filepath.Join(m.root, filepath.FromSlash(f.Value.String())), nil
	}
	return filepath.Abs(f.Value.String())
}

// rel names an absolute path from the module's root, with slashes; a path outside
// keeps its last element alone, so that no machine's paths reach an output.
func (m *module) rel(file string) string {
	r, err := filepath.Rel(m.root, file)
	if err != nil || r == ".." || strings.HasPrefix(r, ".."+string(filepath.Separator)) {
		return filepath.Base(file)
	}
	return filepath.ToSlash(r)
}

// importPath is the import path of an absolute folder inside the module.
func (m *module) importPath(dir string) (string, error) {
	r, err := filepath.Rel(m.root, dir)
	if err != nil || r == ".." || strings.HasPrefix(r, ".."+string(filepath.Separator)) {
		return "", usageError("%s lies outside the module %s", dir, m.path)
	}
	return path.Join(m.path, filepath.ToSlash(r)), nil
}

// loadSpecs reads the folder of the flag --spec; files are named as seen from the
// current folder in messages.
func (m *module) loadSpecs(cmd *cobra.Command) (*load.Set, string, error) {
	dir, err := m.resolve(cmd, "spec")
	if err != nil {
		return nil, "", err
	}
	set, err := load.Dir(shown(dir))
	return set, dir, err
}

// shown is a path as seen from the current folder.
func shown(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if r, err := filepath.Rel(wd, path); err == nil {
			return r
		}
	}
	return path
}
