// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package nixl_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
)

// The far side registers exactly what is a file of the near side, and operations
// reach it under its own name.
func TestStoreIsTheFarSideUnderItsOwnName(t *testing.T) {
	const size = 4096
	b, mem, reg := storage(t, "near", size, nil)
	f, err := os.Create(filepath.Join(t.TempDir(), "kv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := b.RegisterFile(f, size)
	if err != nil {
		t.Fatal(err)
	}
	far := b.Store("far")
	got, err := far.Register(file.Memory())
	if err != nil || got.Memory() != file.Memory() {
		t.Fatalf("%v, %v", got, err)
	}
	shorter := file.Memory()
	shorter.Len--
	for what, m := range map[string]backend.Memory{"a part": shorter, "other memory": reg.Memory()} {
		if _, err := far.Register(m); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("register %s: %v", what, err)
		}
	}
	if err := errors.Join(b.Connect("far", nil), far.Connect("near", nil)); err != nil {
		t.Fatal(err)
	}
	for i := range mem {
		mem[i] = byte(i)
	}
	r := backend.Request{
		Direction: backend.Write, Peer: "far",
		Local: []backend.Segment{{Addr: uint64(reg.Memory().Addr), Len: size}}, Remote: []backend.Segment{file.Segment(0, size)},
	}
	op, err := b.Prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	if o := ends(t, b, op, op.Post()); o.Status != backend.Done {
		t.Fatalf("%v, %v", o.Status, o.Err)
	}
	if b, err := os.ReadFile(f.Name()); err != nil || string(b) != string(mem) {
		t.Errorf("the file has other bytes: %v", err)
	}
	if _, err := far.Prepare(r); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("storage posts: %v", err)
	}
	out := []backend.Observation{{}}
	if far.Poll([]backend.Operation{op}, out); out[0].Status != backend.NotFound {
		t.Errorf("storage knows an operation: %v", out[0])
	}
	r.Peer = "elsewhere"
	if _, err := b.Prepare(r); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("another peer: %v", err)
	}
	if err := far.Deregister(reg); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("the store let go of memory: %v", err)
	}
	for _, err := range []error{op.Release(), far.Disconnect("near"), b.Disconnect("far"), far.Deregister(got), far.Close(), b.Deregister(reg), b.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Metadata(); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("metadata after close: %v", err)
	}
}
