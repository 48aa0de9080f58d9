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
	"bytes"
	"unsafe"
)

func (l *library) CreateAgent(name string, cfg AgentConfig) (Agent, Code) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	conf := C.struct_kvx_agent_config{
		progress_thread:   C.bool(cfg.ProgressThread),
		progress_delay_us: C.uint64_t(cfg.ProgressDelayUS),
		listen_thread:     C.bool(cfg.ListenPort != 0),
		listen_port:       C.int(cfg.ListenPort),
		listen_delay_us:   C.uint64_t(cfg.ListenDelayUS),
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
	var data *C.char
	var n C.size_t
	if rc := C.kvx_plugins(l.table, C.uintptr_t(a), &data, &n); rc != 0 {
		return nil, Code(rc)
	}
	var names []string
	for rest := take(data, n); len(rest) != 0; {
		var name string
		name, rest = cut(rest)
		names = append(names, name)
	}
	return names, CodeSuccess
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

func (l *library) PluginParams(a Agent, plugin string, b Backend) (PluginParams, Code) {
	if l.lacks["get_plugin_params"]+l.lacks["get_backend_params"] != "" {
		return PluginParams{}, CodeMissing
	}
	name := C.CString(plugin)
	defer C.free(unsafe.Pointer(name))
	var mems C.uint32_t
	var data *C.char
	var n C.size_t
	if rc := C.kvx_plugin_params(l.table, C.uintptr_t(a), name, C.uintptr_t(b), &mems, &data, &n); rc != 0 {
		return PluginParams{}, Code(rc)
	}
	var p PluginParams
	p.Params, _ = cutParams(take(data, n))
	for m := range MemType(32) {
		if mems>>m&1 != 0 {
			p.Mems = append(p.Mems, m)
		}
	}
	return p, CodeSuccess
}

func (l *library) RegisterMem(a Agent, list List, b Backend) Code {
	return l.register(a, list, b, false)
}

func (l *library) DeregisterMem(a Agent, list List, b Backend) Code {
	return l.register(a, list, b, true)
}

func (l *library) register(a Agent, list List, b Backend, remove bool) Code {
	blobs, lens := list.blobs()
	return Code(C.kvx_register(l.table, C.uintptr_t(a), C.int(list.Mem), descs(list.Descs),
		C.size_t(len(list.Descs)), unsafe.Pointer(unsafe.SliceData(blobs)),
		(*C.uint32_t)(unsafe.SliceData(lens)), C.uintptr_t(b), C.bool(remove)))
}

func (l *library) QueryMem(a Agent, list List, b Backend) ([]Found, Code) {
	if l.lacks["query_mem"] != "" {
		return nil, CodeMissing
	}
	blobs, lens := list.blobs()
	var data *C.char
	var n C.size_t
	rc := C.kvx_query_mem(l.table, C.uintptr_t(a), C.int(list.Mem), descs(list.Descs),
		C.size_t(len(list.Descs)), unsafe.Pointer(unsafe.SliceData(blobs)),
		(*C.uint32_t)(unsafe.SliceData(lens)), C.uintptr_t(b), &data, &n)
	if rc != 0 {
		return nil, Code(rc)
	}
	var out []Found
	for rest := take(data, n); len(rest) != 0; {
		f := Found{Exists: rest[0] == 1}
		f.Params, rest = cutParams(rest[1:])
		out = append(out, f)
	}
	return out, CodeSuccess
}

// descs hands the array itself to C, which reads it during the call only.
func descs(d []Desc) *C.struct_kvx_desc {
	return (*C.struct_kvx_desc)(unsafe.Pointer(unsafe.SliceData(d)))
}

// The two layouts must agree, or descriptors would be read wrongly.
var _ [unsafe.Sizeof(Desc{})]byte = [C.sizeof_struct_kvx_desc]byte{}

// blobs joins the list's blobs; nil when it has none.
func (l *List) blobs() ([]byte, []C.uint32_t) {
	if l.Blobs == nil {
		return nil, nil
	}
	lens := make([]C.uint32_t, len(l.Descs))
	for i, b := range l.Blobs {
		lens[i] = C.uint32_t(len(b))
	}
	return bytes.Join(l.Blobs, nil), lens
}

// take copies what C allocated, and frees it.
func take(data *C.char, n C.size_t) []byte {
	defer C.free(unsafe.Pointer(data))
	return C.GoBytes(unsafe.Pointer(data), C.int(n))
}

// cut reads one string that ends with a zero byte.
func cut(b []byte) (word string, rest []byte) {
	w, rest, _ := bytes.Cut(b, []byte{0})
	return string(w), rest
}

// cutParams reads key, value, key, value, up to an empty key or the end.
func cutParams(b []byte) (params map[string]string, rest []byte) {
	params = map[string]string{}
	for len(b) != 0 {
		var key, value string
		if key, b = cut(b); key == "" {
			break
		}
		value, b = cut(b)
		params[key] = value
	}
	return params, b
}
