// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package overlay lets the Go tool build the module with other text in the place of
// some of its files (go build -overlay), without a change of the files.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Overlay is the files that are replaced. It is not for several goroutines at once.
type Overlay struct {
	folder  string
	replace map[string]string
}

// New returns one whose files lie in a folder that exists.
func New(folder string) *Overlay { return &Overlay{folder, map[string]string{}} }

// Put takes a file's text in, in the place of any before. A file that does not exist is
// one more of its package.
func (o *Overlay) Put(file string, text []byte) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	to := o.replace[path]
	if to == "" {
		to = filepath.Join(o.folder, fmt.Sprintf("%d-%s", len(o.replace), filepath.Base(path)))
		o.replace[path] = to
	}
	return os.WriteFile(to, text, 0o644)
}

// Edit puts to in the place of from, which has to stand exactly once in the file as it is
// by now.
func (o *Overlay) Edit(file, from, to string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	now := path
	if written := o.replace[path]; written != "" {
		now = written
	}
	text, err := os.ReadFile(now)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), from); n != 1 {
		return fmt.Errorf("overlay: %s has %q %d times, want once", file, from, n)
	}
	return o.Put(path, []byte(strings.Replace(string(text), from, to, 1)))
}

// Write writes the list that the Go tool's flag -overlay names, and returns its path.
func (o *Overlay) Write() (string, error) {
	list, err := json.Marshal(map[string]any{"Replace": o.replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(o.folder, "overlay.json")
	return path, os.WriteFile(path, list, 0o644)
}
