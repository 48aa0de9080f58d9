// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package cudac

/*
#include "shim.h"
*/
import "C"

func (l *library) Synchronize(c Context) Result {
	return Result(C.kvxcu_synchronize(l.table, C.uintptr_t(c)))
}

func (l *library) FlushWrites(c Context) Result {
	return Result(C.kvxcu_flush_writes(l.table, C.uintptr_t(c)))
}

func (l *library) MemInfo(c Context) (unused, total uint64, result Result) {
	var u, t C.uint64_t
	rc := C.kvxcu_mem_info(l.table, C.uintptr_t(c), &u, &t)
	return uint64(u), uint64(t), Result(rc)
}

func (l *library) Alloc(c Context, n uint64) (uint64, Result) {
	var a C.uint64_t
	rc := C.kvxcu_alloc(l.table, C.uintptr_t(c), C.size_t(n), &a)
	return uint64(a), Result(rc)
}

func (l *library) Free(c Context, address uint64) Result {
	return Result(C.kvxcu_free(l.table, C.uintptr_t(c), C.uint64_t(address)))
}

func (l *library) AllocHost(c Context, n uint64, flags uint32) (uint64, Result) {
	var a C.uint64_t
	rc := C.kvxcu_alloc_host(l.table, C.uintptr_t(c), C.size_t(n), C.uint(flags), &a)
	return uint64(a), Result(rc)
}

func (l *library) FreeHost(c Context, address uint64) Result {
	return Result(C.kvxcu_free_host(l.table, C.uintptr_t(c), C.uint64_t(address)))
}

func (l *library) RegisterHost(c Context, address, n uint64, flags uint32) Result {
	return Result(C.kvxcu_register_host(l.table, C.uintptr_t(c), C.uint64_t(address), C.size_t(n), C.uint(flags)))
}

func (l *library) UnregisterHost(c Context, address uint64) Result {
	return Result(C.kvxcu_unregister_host(l.table, C.uintptr_t(c), C.uint64_t(address)))
}

func (l *library) PointerAttribute(c Context, attribute int, address uint64) (uint64, Result) {
	var v C.uint64_t
	rc := C.kvxcu_pointer_attribute(l.table, C.uintptr_t(c), C.int(attribute), C.uint64_t(address), &v)
	return uint64(v), Result(rc)
}
