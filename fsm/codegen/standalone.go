// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	_ "embed"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// runtimeText is what a package that stands alone has instead of the runtime.
//
//go:embed runtime.txt
var runtimeText string

// sharedText is the runtime that packages share which stand alone with a system: what
// package fsm holds, word for word.
//
//go:embed runtime_shared.txt
var sharedText string

func sharedRuntime() File {
	return File{Path: "fsm/fsm.gen.go", Data: []byte(Marker("its own runtime") + "\n\n" + sharedText)}
}

// standaloneName is the name that something of the runtime has inside a package
// that stands alone: results get a prefix, so that states may have their names.
func standaloneName(name string) string {
	switch name {
	case "Moved", "Duplicate", "Ignored", "Rejected", "Conflict":
		return "Result" + name
	}
	return name
}

// runtime renders the runtime file of a package that stands alone.
func runtime(h *load.Head, specFile string) File {
	text := strings.ReplaceAll(runtimeText, "PACKAGE", h.Name)
	return File{Path: h.Name + "/runtime.gen.go", Data: []byte(Marker(specFile) + "\n\n" + text)}
}
