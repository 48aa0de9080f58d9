// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

// standaloneName is the name that something of the runtime has inside a package
// that stands alone: results get a prefix, so that states may have their names.
func standaloneName(name string) string {
	switch name {
	case "Moved", "Duplicate", "Ignored", "Rejected", "Conflict":
		return "Result" + name
	}
	return name
}

// runtime emits the runtime into a package that stands alone.
func (e *emitter) runtime() {}
