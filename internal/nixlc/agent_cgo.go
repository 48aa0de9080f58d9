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
	"strings"
	"unsafe"
)

func (l *library) CreateAgent(name string, cfg AgentConfig) (Agent, Code) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	conf := C.struct_kvx_agent_config{
		progress_thread:   C.bool(cfg.ProgressThread),
		progress_delay_us: C.uint64_t(cfg.ProgressDelayUS),
		sync:              C.int(cfg.Sync),
		telemetry:         C.bool(cfg.Telemetry),
	}
	var a C.uintptr_t
	rc := C.kvx_create_agent(l.table, c, &conf, &a)
	return Agent(a), Code(rc)
}

func (l *library) DestroyAgent(a Agent) Code {
	return Code(C.kvx_destroy_agent(l.table, C.uintptr_t(a)))
}

func (l *library) Plugins(a Agent) ([]string, Code) {
	var joined *C.char
	if rc := C.kvx_plugins(l.table, C.uintptr_t(a), &joined); rc != 0 {
		return nil, Code(rc)
	}
	defer C.free(unsafe.Pointer(joined))
	return strings.Fields(C.GoString(joined)), CodeSuccess
}

func (l *library) CreateBackend(a Agent, plugin string, params []string) (Backend, Code) {
	name := C.CString(plugin)
	defer C.free(unsafe.Pointer(name))
	pairs := make([]*C.char, len(params))
	for i, p := range params {
		pairs[i] = C.CString(p)
		defer C.free(unsafe.Pointer(pairs[i]))
	}
	var b C.uintptr_t
	rc := C.kvx_create_backend(l.table, C.uintptr_t(a), name,
		unsafe.SliceData(pairs), C.size_t(len(pairs)/2), &b)
	return Backend(b), Code(rc)
}

func (l *library) DestroyBackend(b Backend) Code {
	return Code(C.kvx_destroy_backend(l.table, C.uintptr_t(b)))
}

func (l *library) RegisterMem(a Agent, list List, b Backend) Code {
	return l.register(a, list, b, false)
}

func (l *library) DeregisterMem(a Agent, list List, b Backend) Code {
	return l.register(a, list, b, true)
}

func (l *library) register(a Agent, list List, b Backend, remove bool) Code {
	return Code(C.kvx_register(l.table, C.uintptr_t(a), C.int(list.Mem), descs(list.Descs),
		C.size_t(len(list.Descs)), C.uintptr_t(b), C.bool(remove)))
}

// descs hands the array itself to C, which reads it during the call only.
func descs(d []Desc) *C.struct_kvx_desc {
	return (*C.struct_kvx_desc)(unsafe.Pointer(unsafe.SliceData(d)))
}

// The two layouts must agree, or descriptors would be read wrongly.
var _ [unsafe.Sizeof(Desc{})]byte = [C.sizeof_struct_kvx_desc]byte{}
