// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixlc

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"encoding/binary"
	"unsafe"
)

func (l *library) CreateNotifMap() (NotifMap, Code) {
	var m C.uintptr_t
	rc := C.kvx_create_notif_map(l.table, &m)
	return NotifMap(m), Code(rc)
}

func (l *library) DestroyNotifMap(m NotifMap) Code {
	return Code(C.kvx_destroy_notif_map(l.table, C.uintptr_t(m)))
}

func (l *library) TakeNotifs(a Agent, m NotifMap) ([]Notif, Code) {
	var data *C.char
	var n C.size_t
	if rc := C.kvx_take_notifs(l.table, C.uintptr_t(a), C.uintptr_t(m), &data, &n); rc != 0 {
		return nil, Code(rc)
	}
	if n == 0 {
		return nil, CodeSuccess
	}
	defer C.free(unsafe.Pointer(data))
	return splitNotifs(C.GoBytes(unsafe.Pointer(data), C.int(n))), CodeSuccess
}

// splitNotifs undoes what kvx_take_notifs wrote: two lengths, name, message.
func splitNotifs(b []byte) []Notif {
	var out []Notif
	for len(b) >= 8 {
		name, msg := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint32(b[4:])
		b = b[8:]
		out = append(out, Notif{Agent: string(b[:name]), Message: b[name : name+msg : name+msg]})
		b = b[name+msg:]
	}
	return out
}

func (l *library) GenNotif(a Agent, peer string, message []byte) Code {
	c := C.CString(peer)
	defer C.free(unsafe.Pointer(c))
	return Code(C.kvx_gen_notif(l.table, C.uintptr_t(a), c,
		unsafe.Pointer(unsafe.SliceData(message)), C.size_t(len(message))))
}
