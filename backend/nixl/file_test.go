// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package nixl_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	adapter "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
)

var uring = map[string]string{"use_uring": "true", "use_aio": "false"}

// storage is a POSIX agent with a registered arena of n bytes.
func storage(t *testing.T, name string, n int, params map[string]string) (*adapter.Backend, []byte, backend.Registration) {
	t.Helper()
	b, err := adapter.New(adapter.Config{
		Name: name, Library: requireNIXL(t), Plugin: nixl.PluginPOSIX, Params: params, NoProgressThread: true,
	})
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	arena, err := memory.New(memory.Spec{Len: n}) // mapped for good
	if err != nil {
		t.Fatal(err)
	}
	reg, err := b.Register(backend.Memory{Addr: arena.Addr(), Len: uint64(n)})
	if err != nil {
		t.Fatal(err)
	}
	return b, arena.Bytes(), reg
}

// pipe is a file that holds a read back until it is fed.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// ends polls until the operation is no longer in progress.
func ends(t *testing.T, b backend.Backend, op backend.Operation, o backend.Observation) backend.Observation {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); o.Status == backend.Submitted || o.Status == backend.InProgress; {
		if time.Now().After(end) {
			t.Fatal("in progress for 30 s")
		}
		out := []backend.Observation{{}}
		b.Poll([]backend.Operation{op}, out)
		o = out[0]
	}
	return o
}

func TestBlocksGoToAFileAndBack(t *testing.T) {
	const n, size = 8, 4096
	for name, params := range map[string]map[string]string{"default": nil, "uring": uring} {
		t.Run(name, func(t *testing.T) {
			b, mem, reg := storage(t, "files-"+name, n*size, params)
			f, err := os.Create(filepath.Join(t.TempDir(), "kv"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			file, err := b.RegisterFile(f, 2*n*size)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Connect("files-"+name, nil); err != nil {
				t.Fatal(err)
			}
			for i := range mem {
				mem[i] = byte(i * 7 >> 3)
			}
			want := bytes.Clone(mem)
			r := backend.Request{Direction: backend.Write, Peer: "files-" + name}
			for i := range n {
				at := reg.Memory().Addr + uintptr(i*size)
				r.Local = append(r.Local, backend.Segment{Addr: uint64(at), Len: size})
				r.Remote = append(r.Remote, file.Segment(uint64(2*(n-1-i)*size), size))
			}
			for _, direction := range []backend.Direction{backend.Write, backend.Read} {
				r.Direction = direction
				op, err := b.Prepare(r)
				if err != nil {
					t.Fatal(err)
				}
				if o := ends(t, b, op, op.Post()); o.Status != backend.Done {
					t.Fatalf("%v: %v, %v", direction, o.Status, o.Err)
				}
				if err := op.Release(); err != nil {
					t.Error(err)
				}
				if direction == backend.Write {
					clear(mem)
				}
			}
			if !bytes.Equal(mem, want) {
				t.Error("what came back is not what went out")
			}
			for what, spoil := range map[string]func(*backend.Request){
				"past the end":  func(r *backend.Request) { r.Remote[0] = file.Segment(2*n*size-100, size) },
				"in no file":    func(r *backend.Request) { r.Remote[0].Addr = r.Local[0].Addr },
				"with a notice": func(r *backend.Request) { r.Notify = []byte("x") },
			} {
				bad := r
				bad.Remote = append([]backend.Segment(nil), r.Remote...)
				spoil(&bad)
				if _, err := b.Prepare(bad); !errors.Is(err, backend.ErrInvalid) {
					t.Errorf("%s: %v", what, err)
				}
			}
			for _, err := range []error{b.Deregister(file), b.Deregister(reg), b.Close()} {
				if err != nil {
					t.Error(err)
				}
			}
			if err := b.Deregister(file); err == nil {
				t.Error("deregistered twice")
			}
		})
	}
}

// A read that waits is owned like any other: nothing of it is let go, and when
// it ends its bytes are there.
func TestAFileReadInFlightIsOwned(t *testing.T) {
	b, mem, reg, op, w := pending(t, "waits")
	for what, err := range map[string]error{
		"release": op.Release(), "deregister": b.Deregister(reg), "close": b.Close(),
	} {
		if !errors.Is(err, backend.ErrInFlight) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := w.Write(bytes.Repeat([]byte{7}, len(mem))); err != nil {
		t.Fatal(err)
	}
	if o := ends(t, b, op, backend.Observation{Status: backend.InProgress}); o.Status != backend.Done || mem[len(mem)-1] != 7 {
		t.Errorf("%v, %v", o.Status, o.Err)
	}
	for _, err := range []error{op.Release(), b.Deregister(reg), b.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
}

// What Limits.OwnFence claims of the queue.
func TestTheEndOfAnAgentFencesItsFileReads(t *testing.T) {
	b, mem, _, _, w := pending(t, "fenced")
	if !b.Limits().OwnFence {
		t.Fatal("not claimed")
	}
	if err := b.Fence(); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte{0xcd}, len(mem))
	copy(mem, want)
	if _, err := w.Write(bytes.Repeat([]byte{7}, len(mem))); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // for what must not happen
	if !bytes.Equal(mem, want) {
		t.Error("bytes landed after the fence")
	}
}

// pending posts a read from an empty pipe and makes sure that it waits.
func pending(t *testing.T, name string) (*adapter.Backend, []byte, backend.Registration, backend.Operation, *os.File) {
	t.Helper()
	const size = 4096
	b, mem, reg := storage(t, name, size, uring)
	r, w := pipe(t)
	file, err := b.RegisterFile(r, size)
	if err != nil {
		t.Fatal(err)
	}
	op, err := b.Prepare(backend.Request{
		Direction: backend.Read, Peer: name,
		Local: []backend.Segment{{Addr: uint64(reg.Memory().Addr), Len: size}}, Remote: []backend.Segment{file.Segment(0, size)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := op.Post(); o.Status != backend.Submitted {
		t.Fatalf("post: %v, %v", o.Status, o.Err)
	}
	out := []backend.Observation{{}}
	for range 200 {
		if b.Poll([]backend.Operation{op}, out); out[0].Status != backend.InProgress {
			t.Fatalf("a read from an empty pipe: %v, %v", out[0].Status, out[0].Err)
		}
	}
	return b, mem, reg, op, w
}

// Plugins without their hardware are reachable by name and say why not.
func TestOtherPlugins(t *testing.T) {
	lib := requireNIXL(t)
	for _, plugin := range []string{"GDS", "OBJ", "GUSLI", "NOSUCHPLUGIN"} {
		b, err := adapter.New(adapter.Config{Name: "other-" + plugin, Library: lib, Plugin: plugin})
		if err == nil {
			t.Logf("%s is there: %+v", plugin, b.Limits())
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("%s: %v", plugin, err)
		}
		t.Log(err)
	}
	if _, err := adapter.New(adapter.Config{Name: "x", Library: lib, Plugin: nixl.PluginPOSIX, Device: "lo"}); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("a device for files: %v", err)
	}
}
