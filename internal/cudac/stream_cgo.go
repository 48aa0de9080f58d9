// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package cudac

/*
#include <stdlib.h>
#include "shim.h"

// None of these calls back into Go, and none keeps what it is given.
#cgo noescape kvxcu_launch
#cgo nocallback kvxcu_launch
#cgo nocallback kvxcu_copy
#cgo nocallback kvxcu_copy_batch
*/
import "C"

import "unsafe"

func (l *library) StreamCreate(c Context, flags uint32) (Stream, Result) {
	var s C.uintptr_t
	rc := C.kvxcu_stream_create(l.table, C.uintptr_t(c), C.uint(flags), &s)
	return Stream(s), Result(rc)
}

func (l *library) StreamDestroy(c Context, s Stream) Result {
	return Result(C.kvxcu_stream_destroy(l.table, C.uintptr_t(c), C.uintptr_t(s)))
}

func (l *library) StreamSynchronize(c Context, s Stream) Result {
	return Result(C.kvxcu_stream_synchronize(l.table, C.uintptr_t(c), C.uintptr_t(s)))
}

func (l *library) StreamWait(c Context, s Stream, e Event) Result {
	return Result(C.kvxcu_stream_wait(l.table, C.uintptr_t(c), C.uintptr_t(s), C.uintptr_t(e)))
}

func (l *library) Copy(c Context, dst, src, n uint64, s Stream) Result {
	return Result(C.kvxcu_copy(l.table, C.uintptr_t(c), C.uint64_t(dst), C.uint64_t(src), C.size_t(n), C.uintptr_t(s)))
}

func (l *library) CopyBatch(c Context, dst, src, len uint64, count int, s Stream) Result {
	return Result(C.kvxcu_copy_batch(l.table, C.uintptr_t(c), C.uint64_t(dst), C.uint64_t(src), C.uint64_t(len),
		C.size_t(count), C.uintptr_t(s)))
}

func (l *library) Set(c Context, dst uint64, value byte, n uint64, s Stream) Result {
	return Result(C.kvxcu_set(l.table, C.uintptr_t(c), C.uint64_t(dst), C.uchar(value), C.size_t(n), C.uintptr_t(s)))
}

func (l *library) LoadModule(c Context, image string) (Module, string, Result) {
	text := C.CString(image)
	defer C.free(unsafe.Pointer(text))
	const room = 8 << 10
	log := (*C.char)(C.calloc(1, room))
	defer C.free(unsafe.Pointer(log))
	var m C.uintptr_t
	rc := C.kvxcu_module_load(l.table, C.uintptr_t(c), text, log, room-1, &m)
	return Module(m), C.GoString(log), Result(rc)
}

func (l *library) UnloadModule(c Context, m Module) Result {
	return Result(C.kvxcu_module_unload(l.table, C.uintptr_t(c), C.uintptr_t(m)))
}

func (l *library) Function(c Context, m Module, name string) (Function, Result) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var f C.uintptr_t
	rc := C.kvxcu_function(l.table, C.uintptr_t(c), C.uintptr_t(m), text, &f)
	return Function(f), Result(rc)
}

func (l *library) Launch(c Context, f Function, grid, block Dim, shared uint32, s Stream, params []byte) Result {
	return Result(C.kvxcu_launch(l.table, C.uintptr_t(c), C.uintptr_t(f), (*C.uint)(unsafe.Pointer(&grid)),
		(*C.uint)(unsafe.Pointer(&block)), C.uint(shared), C.uintptr_t(s),
		unsafe.Pointer(unsafe.SliceData(params)), C.size_t(len(params))))
}
