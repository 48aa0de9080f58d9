// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/kvxfer/kvxfer/internal/nixltest"
)

// live is the number of the fake's objects that were not given back.
func live(t *testing.T, a *Agent) int {
	t.Helper()
	var e *Error
	if err := a.Notify(nixltest.Control, []byte(nixltest.Live)); !errors.As(err, &e) {
		t.Fatal(err)
	}
	return int(e.Code)
}

// Every way to make something, and to be refused it, gives all back: 10,000
// times on the fake, which counts its objects.
func TestNothingLeaks(t *testing.T) {
	a := fakeAgent(t, nixltest.Wheel(t, "1.5.1"))
	name := "post=0;release=0"
	meet(t, a, name)
	meet(t, a, "create=-2")
	meet(t, a, "prep=-6")
	for what, round := range rounds(a, name) {
		if err := round(); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		before, held := live(t, a), a.lib.Handles()
		for range 10_000 {
			if err := round(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if after := live(t, a); after != before {
			t.Errorf("%s: %d objects before, %d after 10,000 rounds", what, before, after)
		}
		if after := a.lib.Handles(); after != held {
			t.Errorf("%s: %v before, %v after", what, held, after)
		}
	}
}

// rounds are ways to use an agent that give back all that they made.
func rounds(a *Agent, name string) map[string]func() error {
	b := a.backends[0]
	return map[string]func() error{
		"request": func() error {
			q, err := a.NewRequest(fakeConfig(name))
			if err != nil {
				return err
			}
			_, err = q.Post()
			_, err2 := q.Backend()
			return errors.Join(err, err2, q.Release())
		},
		"refused request": func() error {
			cfg := fakeConfig("create=-2")
			cfg.Extra = Extra{Notify: []byte("n"), Custom: []byte("c"), SkipMerge: true}
			_, err := a.NewRequest(cfg)
			return unless(err, ErrBackend)
		},
		"prepared": func() error {
			l, err := a.Prepare(PrepareConfig{Segments: []Segment{{Addr: 0x10000, Len: 64}}})
			if err != nil {
				return err
			}
			return l.Release()
		},
		"refused list": func() error {
			_, err := a.Prepare(PrepareConfig{Peer: "prep=-6", Segments: []Segment{{Addr: 0x10000, Len: 64}}})
			return unless(err, ErrNotFound)
		},
		"registration": func() error {
			r, err := a.RegisterAll(RegisterConfig{Mem: File, Segments: []Segment{{Len: 9, Dev: 3}}, Blobs: [][]byte{[]byte("k")}})
			if err != nil {
				return err
			}
			return r[0].Deregister()
		},
		"view": func() error {
			v, err := a.ViewLocal(DRAM, []Segment{{Addr: 0x10000, Len: 64}}, b)
			w, err2 := a.ViewRemote(DRAM, []RemoteSegment{{Peer: name, Segment: Segment{Addr: 0x10000, Len: 64}}}, b)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			return errors.Join(v.Release(), w.Release())
		},
		"questions": func() error {
			_, err1 := a.Plugins()
			_, err2 := a.PluginInfo(PluginUCX)
			_, err3 := b.Info()
			_, err4 := a.PluginInfo("NONE")
			found, err5 := b.QueryMemory(File, nil, [][]byte{[]byte("here"), []byte("x")})
			if len(found) != 2 || !found[0].Exists || found[0].Params["depth"] != "7" || found[1].Exists {
				return fmt.Errorf("query: %+v", found)
			}
			return errors.Join(err1, err2, err3, unless(err4, ErrBackend), err5)
		},
		"metadata": func() error {
			md, err1 := a.Metadata()
			_, err2 := a.PartialMetadata(nil)
			_, err3 := a.CheckMetadata(name, DRAM, Segment{Addr: 1, Len: 1})
			_, err4 := a.LoadMetadata(md, "")
			_, err5 := a.Notifications()
			return errors.Join(err1, err2, err3, unless(err4, ErrInvalidParam), err5)
		},
	}
}

// unless is nil when err is the one that belongs there.
func unless(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("got %v, want %w", err, want)
}

// The real library's memory does not grow with requests that were released.
func TestNothingLeaksInTheRealLibrary(t *testing.T) {
	lib, err := Open(Options{Folders: []string{"../.nixl"}})
	if err != nil {
		t.Skip(err)
	}
	a, err := lib.NewAgent("leak", AgentConfig{NoProgressThread: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.CreateUCX(UCXConfig{Transport: TransportTCP, Device: "lo"}); err != nil {
		t.Fatal(err)
	}
	mem := mapping(t, 1<<16)
	if _, err := a.Register(mem, nil); err != nil {
		t.Fatal(err)
	}
	half := []Segment{{Addr: mem.Addr, Len: 4096}}
	other := []Segment{{Addr: mem.Addr + 8192, Len: 4096}}
	round := func() {
		q, err := a.NewRequest(RequestConfig{Op: Write, Peer: "leak", Local: half, Remote: other})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.EstimateCost(); err != nil {
			t.Fatal(err)
		}
		l, err := a.Prepare(PrepareConfig{Segments: half})
		if err != nil {
			t.Fatal(err)
		}
		_, err1 := q.Backend()
		_, err2 := a.Metadata()
		if err := errors.Join(err1, err2, l.Release(), q.Release()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2000 {
		round()
	}
	before := resident(t)
	for range 10_000 {
		round()
	}
	after := resident(t)
	t.Logf("resident %d KiB, then %d KiB", before>>10, after>>10)
	// The smallest leak of one allocation a round is 32 bytes; Go's own heap
	// may grow a little meanwhile.
	if grown := after - before; grown > 4<<20 {
		t.Errorf("grew by %d bytes in 10,000 rounds", grown)
	}
	if err := a.Destroy(); err != nil {
		t.Error(err)
	}
}

// mapping is memory that Go does not manage, mapped for good.
func mapping(t testing.TB, n int) Segment {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	return Segment{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), Len: uint64(n)}
}

func resident(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return n * os.Getpagesize()
}
