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

import (
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"github.com/kvxfer/kvxfer/internal/dl"
)

// library is the C side: the table of addresses, in C memory for good.
type library struct {
	dl    *dl.Library
	table *C.struct_kvx_api
	first dl.Symbol
	// lacks has for each function that this library cannot serve the symbol
	// that it misses.
	lacks map[string]string
	exact func() dl.Symbol
}

// Load opens the library at path and resolves every symbol this package
// needs. Errors match [dl.ErrNoLibrary] or [dl.ErrNoSymbol]. The library stays
// open for the life of the process, also when a symbol is missing.
func Load(path string) (API, error) {
	lib, err := dl.Open(path)
	if err != nil {
		return nil, err
	}
	l := &library{dl: lib, lacks: map[string]string{}}
	l.table = (*C.struct_kvx_api)(C.calloc(1, C.size_t(C.sizeof_struct_kvx_api)))
	for i, name := range Symbols() {
		found := lib.Maybe(Prefix + name)
		if found == nil && i < requiredCount() {
			_, err := lib.Must(Prefix + name)
			C.free(unsafe.Pointer(l.table))
			return nil, err
		}
		if i == 0 {
			l.first = found
		}
		C.kvx_set_symbol(l.table, C.size_t(i), found)
	}
	for call, symbols := range needs {
		for _, s := range symbols {
			if lib.Maybe(Prefix+s) == nil {
				l.lacks[call] = Prefix + s
				break
			}
		}
	}
	l.exact = sync.OnceValue(l.findExact)
	return l, nil
}

// Symbols lists what this package calls, without [Prefix], those first that it
// cannot do without.
func Symbols() []string {
	out := make([]string, C.kvx_symbol_count())
	for i := range out {
		out[i] = strings.TrimPrefix(C.GoString(C.kvx_symbol_name(C.size_t(i))), Prefix)
	}
	return out
}

func requiredCount() int { return int(C.kvx_required_count()) }

func (l *library) Has(symbol string) bool { return l.dl.Maybe(symbol) != nil }

func (l *library) Lacks(call string) string { return l.lacks[call] }

func (l *library) Origin() string { return l.dl.Origin(l.first) }

// The core of NIXL lies beside its C interface, which folds its codes. This is
// the C++ name of nixlAgent::getXferStatus(nixlXferReqH*) const, the same in
// every version from 1.0.1 to 1.5.1.
const (
	coreLibrary = "libnixl.so"
	coreStatus  = "_ZNK9nixlAgent13getXferStatusEP12nixlXferReqH"
)

// findExact resolves the core's own status function; nil where it is not.
func (l *library) findExact() dl.Symbol {
	core, err := dl.Open(filepath.Join(filepath.Dir(l.Origin()), coreLibrary))
	if err != nil {
		return nil
	}
	return core.Maybe(coreStatus)
}

func (l *library) ExactStatus(a Agent, r Request) (int32, bool) {
	status := l.exact()
	if status == nil {
		return 0, false
	}
	return int32(C.kvx_exact_status(status, C.uintptr_t(a), C.uintptr_t(r))), true
}
