// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixlc

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import "unsafe"

func (l *library) PrepView(a Agent, list List, names []string, b Backend) (View, Code) {
	call := "prep_mem_view_local"
	var peers []*C.char
	if names != nil {
		call, peers = "prep_mem_view_remote", make([]*C.char, len(names))
	}
	if l.lacks[call] != "" {
		return 0, CodeMissing
	}
	for i, n := range names {
		peers[i] = C.CString(n)
		defer C.free(unsafe.Pointer(peers[i]))
	}
	var v C.uintptr_t
	rc := C.kvx_view(l.table, C.uintptr_t(a), C.int(list.Mem), descs(list.Descs),
		unsafe.SliceData(peers), C.size_t(len(list.Descs)), C.uintptr_t(b), &v)
	return View(v), Code(rc)
}

func (l *library) ReleaseView(a Agent, v View) Code {
	return Code(C.kvx_release_view(l.table, C.uintptr_t(a), C.uintptr_t(v)))
}
