// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package cudac

/*
#cgo CFLAGS: -O2 -Wall
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import "github.com/kvxfer/kvxfer/internal/dl"

// library is the C side: the table of addresses, in C memory for good.
type library struct {
	dl      *dl.Library
	table   *C.struct_kvxcu_driver
	version int
	first   dl.Symbol
}

// Load opens the driver at path and resolves every symbol that this package
// needs. Errors match [dl.ErrNoLibrary]; a missing symbol is an
// *[OldDriverError] that matches [dl.ErrNoSymbol]. The library stays open for
// the life of the process, also when a symbol is missing: its threads may run.
func Load(path string) (API, error) {
	lib, err := dl.Open(path)
	if err != nil {
		return nil, err
	}
	l := &library{dl: lib}
	if l.first, err = lib.Must("cuDriverGetVersion"); err != nil {
		return nil, &OldDriverError{Err: err}
	}
	var version C.int
	if C.kvxcu_driver_version(l.first, &version) == 0 {
		l.version = int(version)
	}
	required, all := int(C.kvxcu_symbol_count()), int(C.kvxcu_symbol_count()+C.kvxcu_optional_count())
	found := make([]dl.Symbol, all)
	for i := range found {
		name := C.GoString(C.kvxcu_symbol_name(C.size_t(i)))
		if i >= required {
			found[i] = lib.Maybe(name)
		} else if found[i], err = lib.Must(name); err != nil {
			return nil, &OldDriverError{Version: l.version, Err: err}
		}
	}
	l.table = (*C.struct_kvxcu_driver)(C.calloc(1, C.size_t(C.sizeof_struct_kvxcu_driver)))
	for i, s := range found {
		C.kvxcu_set_symbol(l.table, C.size_t(i), s)
	}
	return l, nil
}

func (l *library) Version() int { return l.version }

func (l *library) Has(symbol string) bool { return l.dl.Maybe(symbol) != nil }

func (l *library) Origin() string { return l.dl.Origin(l.first) }

func (l *library) ErrorName(r Result) string {
	return C.GoString(C.kvxcu_error_name(l.table, C.int(r)))
}

func (l *library) ErrorText(r Result) string {
	return C.GoString(C.kvxcu_error_text(l.table, C.int(r)))
}
