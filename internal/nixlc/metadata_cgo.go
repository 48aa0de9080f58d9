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

func (l *library) LocalMD(a Agent) ([]byte, Code) {
	var data unsafe.Pointer
	var n C.size_t
	if rc := C.kvx_local_md(l.table, C.uintptr_t(a), &data, &n); rc != 0 {
		return nil, Code(rc)
	}
	defer C.free(data)
	return C.GoBytes(data, C.int(n)), CodeSuccess
}

func (l *library) LoadRemoteMD(a Agent, md []byte) (string, Code) {
	var name *C.char
	rc := C.kvx_load_remote_md(l.table, C.uintptr_t(a), unsafe.Pointer(unsafe.SliceData(md)),
		C.size_t(len(md)), &name)
	if rc != 0 {
		return "", Code(rc)
	}
	defer C.free(unsafe.Pointer(name))
	return C.GoString(name), CodeSuccess
}

func (l *library) InvalidateRemoteMD(a Agent, peer string) Code {
	c := C.CString(peer)
	defer C.free(unsafe.Pointer(c))
	return Code(C.kvx_invalidate_remote_md(l.table, C.uintptr_t(a), c))
}

func (l *library) CheckRemoteMD(a Agent, peer string, list List) Code {
	c := C.CString(peer)
	defer C.free(unsafe.Pointer(c))
	return Code(C.kvx_check_remote_md(l.table, C.uintptr_t(a), c, C.int(list.Mem),
		descs(list.Descs), C.size_t(len(list.Descs))))
}

func (l *library) MakeConnection(a Agent, peer string) Code {
	c := C.CString(peer)
	defer C.free(unsafe.Pointer(c))
	return Code(C.kvx_make_connection(l.table, C.uintptr_t(a), c))
}

func (l *library) LocalPartialMD(a Agent, list List, b Backend) ([]byte, Code) {
	if l.lacks["get_local_partial_md"] != "" {
		return nil, CodeMissing
	}
	var data unsafe.Pointer
	var n C.size_t
	rc := C.kvx_local_partial_md(l.table, C.uintptr_t(a), C.int(list.Mem), descs(list.Descs),
		C.size_t(len(list.Descs)), C.uintptr_t(b), &data, &n)
	if rc != 0 {
		return nil, Code(rc)
	}
	defer C.free(data)
	return C.GoBytes(data, C.int(n)), CodeSuccess
}

func (l *library) SendLocalMD(a Agent, w Where) Code {
	return l.exchange("send_local_md", w, func(ip *C.char) C.int {
		return C.kvx_send_local_md(l.table, C.uintptr_t(a), ip, C.uint16_t(w.Port))
	})
}

func (l *library) SendLocalPartialMD(a Agent, list List, w Where) Code {
	return l.exchange("send_local_partial_md", w, func(ip *C.char) C.int {
		return C.kvx_send_local_partial_md(l.table, C.uintptr_t(a), C.int(list.Mem),
			descs(list.Descs), C.size_t(len(list.Descs)), ip, C.uint16_t(w.Port))
	})
}

func (l *library) FetchRemoteMD(a Agent, peer string, w Where) Code {
	return l.exchange("fetch_remote_md", w, func(ip *C.char) C.int {
		c := C.CString(peer)
		defer C.free(unsafe.Pointer(c))
		return C.kvx_fetch_remote_md(l.table, C.uintptr_t(a), c, ip, C.uint16_t(w.Port))
	})
}

func (l *library) InvalidateLocalMD(a Agent, w Where) Code {
	return l.exchange("invalidate_local_md", w, func(ip *C.char) C.int {
		return C.kvx_invalidate_local_md(l.table, C.uintptr_t(a), ip, C.uint16_t(w.Port))
	})
}

// exchange makes one of the calls that exchange metadata.
func (l *library) exchange(call string, w Where, do func(ip *C.char) C.int) Code {
	if l.lacks[call] != "" {
		return CodeMissing
	}
	ip := C.CString(w.IP)
	defer C.free(unsafe.Pointer(ip))
	return Code(do(ip))
}
