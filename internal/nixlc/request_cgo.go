// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixlc

/*
#include <stdlib.h>
#include "shim.h"

// None of these calls back into Go, and none keeps what it is given.
#cgo noescape kvx_poll
#cgo nocallback kvx_poll
#cgo noescape kvx_status
#cgo nocallback kvx_status
#cgo noescape kvx_post
#cgo nocallback kvx_post
*/
import "C"

import "unsafe"

func (l *library) PrepXferDlist(a Agent, peer string, list List, b Backend) (Prepared, Code) {
	name := C.CString(peer)
	defer C.free(unsafe.Pointer(name))
	var p C.uintptr_t
	rc := C.kvx_prepare(l.table, C.uintptr_t(a), name, C.int(list.Mem), descs(list.Descs),
		C.size_t(len(list.Descs)), C.uintptr_t(b), &p)
	return Prepared(p), Code(rc)
}

func (l *library) ReleaseXferDlist(a Agent, p Prepared) Code {
	return Code(C.kvx_release_prepared(l.table, C.uintptr_t(a), C.uintptr_t(p)))
}

func (l *library) CreateRequest(a Agent, s *RequestSpec) (Request, Code) {
	peer := C.CString(s.Peer)
	defer C.free(unsafe.Pointer(peer))
	var r C.uintptr_t
	rc := C.kvx_create_request(l.table, C.uintptr_t(a), C.int(s.Op),
		C.int(s.Local.Mem), descs(s.Local.Descs), C.size_t(len(s.Local.Descs)),
		C.int(s.Remote.Mem), descs(s.Remote.Descs), C.size_t(len(s.Remote.Descs)),
		peer, C.uintptr_t(s.Backend),
		unsafe.Pointer(unsafe.SliceData(s.Notify)), C.size_t(len(s.Notify)), &r)
	return Request(r), Code(rc)
}

func (l *library) MakeRequest(a Agent, s *MakeSpec) (Request, Code) {
	var r C.uintptr_t
	rc := C.kvx_make_request(l.table, C.uintptr_t(a), C.int(s.Op),
		C.uintptr_t(s.Local), indices(s.LocalIndex), C.size_t(len(s.LocalIndex)),
		C.uintptr_t(s.Remote), indices(s.RemoteIndex), C.size_t(len(s.RemoteIndex)),
		unsafe.Pointer(unsafe.SliceData(s.Notify)), C.size_t(len(s.Notify)), &r)
	return Request(r), Code(rc)
}

func indices(i []int32) *C.int { return (*C.int)(unsafe.Pointer(unsafe.SliceData(i))) }

func (l *library) Post(a Agent, r Request) Code {
	return Code(C.kvx_post(l.table, C.uintptr_t(a), C.uintptr_t(r)))
}

func (l *library) Status(a Agent, r Request) Code {
	return Code(C.kvx_status(l.table, C.uintptr_t(a), C.uintptr_t(r)))
}

func (l *library) Poll(a Agent, requests []Request, codes []Code) {
	if len(requests) == 0 {
		return
	}
	_ = codes[len(requests)-1]
	C.kvx_poll(l.table, C.uintptr_t(a),
		(*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(requests))),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(codes))), C.size_t(len(requests)))
}

func (l *library) ReleaseRequest(a Agent, r Request) Code {
	return Code(C.kvx_release_request(l.table, C.uintptr_t(a), C.uintptr_t(r)))
}

func (l *library) DestroyRequest(r Request) Code {
	return Code(C.kvx_destroy_request(l.table, C.uintptr_t(r)))
}
