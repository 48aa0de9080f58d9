// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixlc

/*
#cgo CFLAGS: -O2 -Wall
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import "github.com/kvxfer/kvxfer/internal/dl"

// library is the C side: the table of addresses, in C memory for good.
type library struct {
	dl    *dl.Library
	table *C.struct_kvx_api
	first dl.Symbol
}

// Load opens the library at path and resolves every symbol this package
// needs. Errors match [dl.ErrNoLibrary] or [dl.ErrNoSymbol]. The library stays
// open for the life of the process, also when a symbol is missing.
func Load(path string) (API, error) {
	lib, err := dl.Open(path)
	if err != nil {
		return nil, err
	}
	l := &library{dl: lib}
	n := C.kvx_symbol_count()
	found := make([]dl.Symbol, n)
	for i := range found {
		if found[i], err = lib.Must(C.GoString(C.kvx_symbol_name(C.size_t(i)))); err != nil {
			return nil, err
		}
	}
	l.first = found[0]
	l.table = (*C.struct_kvx_api)(C.calloc(1, C.size_t(C.sizeof_struct_kvx_api)))
	for i, s := range found {
		C.kvx_set_symbol(l.table, C.size_t(i), s)
	}
	return l, nil
}

func (l *library) Has(symbol string) bool { return l.dl.Maybe(symbol) != nil }

func (l *library) Origin() string { return l.dl.Origin(l.first) }
