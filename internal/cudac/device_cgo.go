// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package cudac

/*
#include "shim.h"
*/
import "C"

func (l *library) Init() Result { return Result(C.kvxcu_init(l.table)) }

func (l *library) DeviceCount() (int, Result) {
	var n C.int
	rc := C.kvxcu_device_count(l.table, &n)
	return int(n), Result(rc)
}

func (l *library) DeviceGet(ordinal int) (Device, Result) {
	var d C.int
	rc := C.kvxcu_device(l.table, C.int(ordinal), &d)
	return Device(d), Result(rc)
}

func (l *library) DeviceName(d Device) (string, Result) {
	var text [256]C.char
	rc := C.kvxcu_device_name(l.table, C.int(d), &text[0], C.int(len(text)-1))
	return C.GoString(&text[0]), Result(rc)
}

func (l *library) DevicePCI(d Device) (string, Result) {
	var text [64]C.char
	rc := C.kvxcu_device_pci(l.table, C.int(d), &text[0], C.int(len(text)-1))
	return C.GoString(&text[0]), Result(rc)
}

func (l *library) DeviceUUID(d Device) ([16]byte, Result) {
	var c [16]C.uchar
	rc := C.kvxcu_device_uuid(l.table, C.int(d), &c[0])
	var uuid [16]byte
	for i := range uuid {
		uuid[i] = byte(c[i])
	}
	return uuid, Result(rc)
}

func (l *library) DeviceMemory(d Device) (uint64, Result) {
	var n C.uint64_t
	rc := C.kvxcu_device_memory(l.table, C.int(d), &n)
	return uint64(n), Result(rc)
}

func (l *library) DeviceAttribute(d Device, attribute int) (int, Result) {
	var v C.int
	rc := C.kvxcu_device_attribute(l.table, C.int(d), C.int(attribute), &v)
	return int(v), Result(rc)
}

func (l *library) DevicePeer(d, peer Device) (bool, Result) {
	var can C.int
	rc := C.kvxcu_device_peer(l.table, C.int(d), C.int(peer), &can)
	return can != 0, Result(rc)
}

func (l *library) Retain(d Device) (Context, Result) {
	var c C.uintptr_t
	rc := C.kvxcu_retain(l.table, C.int(d), &c)
	return Context(c), Result(rc)
}

func (l *library) Release(d Device) Result { return Result(C.kvxcu_release(l.table, C.int(d))) }
