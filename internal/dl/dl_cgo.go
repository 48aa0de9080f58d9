// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package dl

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static const char *kvx_origin(void *symbol) {
	Dl_info info;
	if (dladdr(symbol, &info) == 0 || info.dli_fname == NULL)
		return "";
	return info.dli_fname;
}
*/
import "C"

import (
	"runtime"
	"strings"
	"unsafe"
)

// Supported says whether this build can open libraries at all.
const Supported = true

// Library is one open shared library.
type Library struct {
	name   string
	handle unsafe.Pointer
}

// Open loads the library called name: a path, or a bare file name that the
// loader looks up by its own rules. All its undefined symbols are resolved
// now, so that a missing dependency shows here and not in the first call. The
// caller closes the result, or keeps it for the life of the process.
func Open(name string) (*Library, error) {
	if strings.Contains(name, "/") { // a bare name's file is the loader's to find
		if err := checkWhole(name); err != nil {
			return nil, &OpenError{Name: name, Reason: err.Error()}
		}
	}
	// dlerror is per thread: the call and its error must share one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	h := C.dlopen(c, C.RTLD_NOW|C.RTLD_LOCAL)
	if h == nil {
		return nil, &OpenError{Name: name, Reason: C.GoString(C.dlerror())}
	}
	return &Library{name: name, handle: h}, nil
}

// Name is what the library was opened by.
func (l *Library) Name() string { return l.name }

// Must resolves a symbol that the caller cannot work without.
func (l *Library) Must(symbol string) (Symbol, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	c := C.CString(symbol)
	defer C.free(unsafe.Pointer(c))
	C.dlerror() // forget an older error
	p := C.dlsym(l.handle, c)
	if p != nil {
		return p, nil
	}
	reason := "its address is zero"
	if e := C.dlerror(); e != nil {
		reason = C.GoString(e)
	}
	return nil, &SymbolError{Library: l.name, Symbol: symbol, Reason: reason}
}

// Maybe resolves a symbol that only some versions export. Nil means absent.
func (l *Library) Maybe(symbol string) Symbol {
	p, err := l.Must(symbol)
	if err != nil {
		return nil
	}
	return p
}

// Origin is the path of the file that s was loaded from, as the loader knows
// it; empty when it does not say. It tells which file a bare name found.
func (l *Library) Origin(s Symbol) string { return C.GoString(C.kvx_origin(s)) }

// Close gives the library back to the loader. No symbol of it may be used
// afterwards. Closing twice is fine.
func (l *Library) Close() error {
	if l.handle == nil {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	if C.dlclose(l.handle) != 0 {
		return &OpenError{Name: l.name, Reason: C.GoString(C.dlerror())}
	}
	l.handle = nil
	return nil
}
