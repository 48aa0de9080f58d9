// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/internal/cli/exit"
)

// setAt reads the specs of a folder as they were at a Git revision.
func setAt(mod *module, dir, rev string) (*load.Set, error) {
	list, err := git(dir, "ls-tree", "--name-only", rev, "./")
	if err != nil {
		return nil, err
	}
	var sources []*load.Source
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSuffix(name, "\n")
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		data, err := git(dir, "show", rev+":./"+name)
		if err != nil {
			return nil, err
		}
		sources = append(sources, load.NewSource(rev+":"+mod.rel(filepath.Join(dir, name)), data))
	}
	return load.NewSet(sources...)
}

// git runs a Git command in a folder and returns what it printed.
func git(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		word, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, &codeError{exit.Env, fmt.Errorf("git %s: %w: %s", args[0], err, word)}
	}
	return out, nil
}
