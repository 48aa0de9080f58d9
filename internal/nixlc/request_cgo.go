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
	if !l.carries(&s.Extra) {
		return 0, CodeMissing
	}
	peer := C.CString(s.Peer)
	defer C.free(unsafe.Pointer(peer))
	var r C.uintptr_t
	rc := C.kvx_create_request(l.table, C.uintptr_t(a), C.int(s.Op),
		C.int(s.Local.Mem), descs(s.Local.Descs), C.size_t(len(s.Local.Descs)),
		C.int(s.Remote.Mem), descs(s.Remote.Descs), C.size_t(len(s.Remote.Descs)),
		peer, C.uintptr_t(s.Backend), data(s.Notify), C.size_t(len(s.Notify)),
		data(s.Custom), C.size_t(len(s.Custom)), C.bool(s.SkipMerge), &r)
	return Request(r), Code(rc)
}

func (l *library) MakeRequest(a Agent, s *MakeSpec) (Request, Code) {
	if !l.carries(&s.Extra) {
		return 0, CodeMissing
	}
	var r C.uintptr_t
	rc := C.kvx_make_request(l.table, C.uintptr_t(a), C.int(s.Op),
		C.uintptr_t(s.Local), indices(s.LocalIndex), C.size_t(len(s.LocalIndex)),
		C.uintptr_t(s.Remote), indices(s.RemoteIndex), C.size_t(len(s.RemoteIndex)),
		C.uintptr_t(s.Backend), data(s.Notify), C.size_t(len(s.Notify)),
		data(s.Custom), C.size_t(len(s.Custom)), C.bool(s.SkipMerge), &r)
	return Request(r), Code(rc)
}

// carries reports whether the library has what the extras need.
func (l *library) carries(e *Extra) bool {
	return (len(e.Custom) == 0 || l.lacks["opt_args_set_custom_param"] == "") &&
		(!e.SkipMerge || l.lacks["opt_args_set_skip_desc_merge"] == "")
}

// data hands bytes to C, which reads them during the call only.
func data(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

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

func (l *library) EstimateCost(a Agent, r Request) (Cost, Code) {
	if l.lacks["estimate_xfer_cost"] != "" {
		return Cost{}, CodeMissing
	}
	var duration, margin C.int64_t
	var method C.int
	rc := C.kvx_estimate_cost(l.table, C.uintptr_t(a), C.uintptr_t(r), &duration, &margin, &method)
	return Cost{DurationUS: int64(duration), MarginUS: int64(margin), Method: int32(method)}, Code(rc)
}

func (l *library) Telemetry(a Agent, r Request) (Telemetry, Code) {
	if l.lacks["get_xfer_telemetry"] != "" {
		return Telemetry{}, CodeMissing
	}
	var t C.struct_kvx_telemetry
	rc := C.kvx_telemetry(l.table, C.uintptr_t(a), C.uintptr_t(r), &t)
	return Telemetry{
		StartUS: uint64(t.start_us), PostUS: uint64(t.post_us), TransferUS: uint64(t.transfer_us),
		Bytes: uint64(t.bytes), Descriptors: uint64(t.descriptors),
	}, Code(rc)
}

func (l *library) RequestBackend(a Agent, r Request, backends []Backend) (int, Code) {
	if l.lacks["query_xfer_backend"] != "" {
		return 0, CodeMissing
	}
	var which C.size_t
	rc := C.kvx_request_backend(l.table, C.uintptr_t(a), C.uintptr_t(r),
		(*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(backends))), C.size_t(len(backends)), &which)
	return int(which), Code(rc)
}

// BarePoll is kvx_bare_poll of the same library: passes over the same handles
// in one crossing. Only benchmarks call it.
func BarePoll(api API, a Agent, requests []Request, codes []Code, passes int) {
	l := api.(*library)
	_ = codes[len(requests)-1]
	C.kvx_bare_poll(l.table, C.uintptr_t(a),
		(*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(requests))),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(codes))), C.size_t(len(requests)), C.size_t(passes))
}
