// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package dl

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// checkWhole looks for files that were cut short: the library at path and those
// that it brings along. The loader maps a file by what its header says and does
// not look at its length, so that a missing end is a SIGBUS in the middle of
// dlopen, which no Go code can catch. Everything else is left for the loader to
// say.
func checkWhole(path string) error {
	return checkFiles(path, map[string]bool{})
}

func checkFiles(path string, seen map[string]bool) error {
	if seen[path] {
		return nil
	}
	seen[path] = true
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", path) // opening a pipe waits for ever
	}
	file, err := elf.Open(path)
	if err != nil && isELF(path) {
		return fmt.Errorf("%s: file is cut short or damaged: %w", path, err)
	}
	if err != nil {
		return nil // the loader says it in its own words
	}
	defer func() { _ = file.Close() }()
	if err := checkLength(path, file); err != nil {
		return err
	}
	for _, dependency := range brought(path, file) {
		if err := checkFiles(dependency, seen); err != nil {
			return err
		}
	}
	return nil
}

// isELF looks at the first bytes only: what has them claims to be a library.
func isELF(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	var head [len(elf.ELFMAG)]byte
	_, err = io.ReadFull(file, head[:])
	return err == nil && string(head[:]) == elf.ELFMAG
}

func checkLength(path string, file *elf.File) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	for _, p := range file.Progs {
		if end := p.Off + p.Filesz; p.Type == elf.PT_LOAD && end > uint64(info.Size()) {
			return fmt.Errorf("%s: file is cut short: it has %d bytes and needs %d", path, info.Size(), end)
		}
	}
	return nil
}

// brought lists the dependencies that lie where the library's own search path
// says, relative to itself.
func brought(path string, file *elf.File) []string {
	needed, _ := file.ImportedLibraries()
	var folders, found []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		lists, _ := file.DynString(tag)
		for _, list := range lists {
			folders = append(folders, strings.Split(list, ":")...)
		}
	}
	for _, name := range needed {
		for _, folder := range folders {
			if !strings.HasPrefix(folder, "$ORIGIN") {
				continue
			}
			at := filepath.Join(strings.Replace(folder, "$ORIGIN", filepath.Dir(path), 1), name)
			if _, err := os.Stat(at); err == nil {
				found = append(found, at)
				break
			}
		}
	}
	return found
}
