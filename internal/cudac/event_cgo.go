// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package cudac

/*
#include "shim.h"

// These ask and return: nothing calls back into Go, nothing is kept.
#cgo noescape kvxcu_event_query
#cgo nocallback kvxcu_event_query
#cgo nocallback kvxcu_event_record
*/
import "C"

import "unsafe"

func (l *library) EventCreate(c Context, flags uint32) (Event, Result) {
	var e C.uintptr_t
	rc := C.kvxcu_event_create(l.table, C.uintptr_t(c), C.uint(flags), &e)
	return Event(e), Result(rc)
}

func (l *library) EventDestroy(c Context, e Event) Result {
	return Result(C.kvxcu_event_destroy(l.table, C.uintptr_t(c), C.uintptr_t(e)))
}

func (l *library) EventRecord(c Context, e Event, s Stream) Result {
	return Result(C.kvxcu_event_record(l.table, C.uintptr_t(c), C.uintptr_t(e), C.uintptr_t(s)))
}

func (l *library) EventSynchronize(c Context, e Event) Result {
	return Result(C.kvxcu_event_synchronize(l.table, C.uintptr_t(c), C.uintptr_t(e)))
}

func (l *library) EventElapsed(c Context, from, to Event) (float32, Result) {
	var ms C.float
	rc := C.kvxcu_event_elapsed(l.table, C.uintptr_t(c), C.uintptr_t(from), C.uintptr_t(to), &ms)
	return float32(ms), Result(rc)
}

func (l *library) EventQuery(c Context, events []Event, results []Result) {
	if len(events) == 0 {
		return
	}
	_ = results[len(events)-1]
	C.kvxcu_event_query(l.table, C.uintptr_t(c), (*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(events))),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(results))), C.size_t(len(events)))
}

func (l *library) NewSignal() (Signal, uintptr) {
	s := C.kvxcu_signal_new()
	if s == nil {
		return 0, 0
	}
	return Signal(uintptr(unsafe.Pointer(s))), uintptr(C.kvxcu_signal_fd(s))
}

func (l *library) SignalCount(s Signal) uint64 { return uint64(C.kvxcu_signal_count(signal(s))) }

func (l *library) FreeSignal(s Signal) { C.kvxcu_signal_free(signal(s)) }

func (l *library) LaunchSignal(c Context, stream Stream, s Signal) Result {
	return Result(C.kvxcu_launch_signal(l.table, C.uintptr_t(c), C.uintptr_t(stream), signal(s)))
}

// signal gives C its address back; it is C memory, which Go does not move.
func signal(s Signal) *C.struct_kvxcu_signal {
	return *(**C.struct_kvxcu_signal)(unsafe.Pointer(&s))
}
