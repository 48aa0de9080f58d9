// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName leaves room in a folder's names for what is beside the file.
const maxName = 200

// Names beside an unfinished file.
const (
	hidden        = ".kvxfer-"
	partSuffix    = ".part"
	journalSuffix = ".journal"
)

// CheckName returns an error unless a file may have this name at a peer: one
// element of a path, which is not hidden.
func CheckName(name string) error {
	switch {
	case name == "" || name == "." || name == ".." || name != filepath.Base(name) || strings.ContainsAny(name, `/\`):
		return fmt.Errorf("%q is not the name of a file in one folder", name)
	case strings.HasPrefix(name, "."):
		return fmt.Errorf("%q is hidden", name)
	case len(name) > maxName:
		return fmt.Errorf("a name of %d bytes, limit %d", len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%q has characters that do not print", name)
	}
	return nil
}

func partName(name string) string    { return hidden + name + partSuffix }
func journalName(name string) string { return hidden + name + journalSuffix }
