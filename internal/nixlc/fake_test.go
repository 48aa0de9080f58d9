// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixlc

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/internal/dl"
	"github.com/kvxfer/kvxfer/internal/nixltest"
)

// loadFake builds the fake library and loads it.
func loadFake(t testing.TB, defines ...string) (API, error) {
	t.Helper()
	return Load(nixltest.Library(nixltest.Wheel(t, "", defines...)))
}

func mustLoadFake(t testing.TB) API {
	t.Helper()
	api, err := loadFake(t)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func newAgent(t testing.TB, api API) Agent {
	t.Helper()
	a, code := api.CreateAgent("a", AgentConfig{Sync: SyncStrict})
	if code != CodeSuccess {
		t.Fatal(code)
	}
	return a
}

// request makes a request of n descriptors whose answers the script gives.
func request(t testing.TB, api API, a Agent, script string, n int) Request {
	t.Helper()
	list := List{Descs: make([]Desc, n)}
	if _, code := api.LoadRemoteMD(a, []byte(script)); code != CodeSuccess {
		t.Fatal(code)
	}
	r, code := api.CreateRequest(a, &RequestSpec{Op: OpWrite, Local: list, Remote: list, Peer: script, Extra: Extra{Notify: []byte("n")}})
	if code != CodeSuccess || r == 0 {
		t.Fatalf("create: %v, %v", r, code)
	}
	return r
}

func TestMissingSymbolIsNamed(t *testing.T) {
	_, err := loadFake(t, "FAKE_PARTIAL")
	var se *dl.SymbolError
	if !errors.As(err, &se) || se.Symbol != "nixl_capi_gen_notif" {
		t.Errorf("got %v, want a SymbolError of gen_notif", err)
	}
	if _, err := Load("/nonexistent/" + "lib.so"); !errors.Is(err, dl.ErrNoLibrary) {
		t.Errorf("got %v, want ErrNoLibrary", err)
	}
}

func TestOptionalSymbols(t *testing.T) {
	for _, defines := range [][]string{nil, {"FAKE_OLD"}} {
		api, err := loadFake(t, defines...)
		if err != nil {
			t.Fatal(err)
		}
		if got := api.Has("nixl_capi_prep_mem_view_local"); got != (defines == nil) {
			t.Errorf("%v: Has = %v", defines, got)
		}
		if !strings.HasSuffix(api.Origin(), "libnixl_capi.so") {
			t.Errorf("origin %q", api.Origin())
		}
	}
}

func TestPollPutsEachCodeInItsPlace(t *testing.T) {
	api := mustLoadFake(t)
	a := newAgent(t, api)
	scripts := []string{"status=0", "status=1", "status=-2", "status=-6", "status=99"}
	var requests []Request
	for _, s := range scripts {
		requests = append(requests, request(t, api, a, s, 1))
	}
	codes := make([]Code, len(requests)+1)
	codes[len(requests)] = 77
	api.Poll(a, requests, codes)
	if want := []Code{0, 1, -2, -6, 99, 77}; !slices.Equal(codes, want) {
		t.Errorf("got %v, want %v", codes, want)
	}
	api.Poll(a, nil, nil)
}

func TestListsAndStringsCrossWhole(t *testing.T) {
	api := mustLoadFake(t)
	a := newAgent(t, api)
	request(t, api, a, "status=0", 100_000)
	if names, code := api.Plugins(a); code != CodeSuccess || !slices.Equal(names, []string{"UCX", "POSIX"}) {
		t.Errorf("plugins: %v, %v", names, code)
	}
	if md, code := api.LocalMD(a); code != CodeSuccess || !strings.HasPrefix(string(md), "FAKEMD") {
		t.Errorf("metadata: %q, %v", md, code)
	}
	if name, code := api.LoadRemoteMD(a, []byte("peer")); code != CodeSuccess || name != "peer" {
		t.Errorf("load: %q, %v", name, code)
	}
	if b, code := api.CreateBackend(a, "NONE", []string{"k", "v"}); code != CodeBackend || b != 0 {
		t.Errorf("backend: %v, %v", b, code)
	}
	if code := api.GenNotif(a, "nobody", []byte("x")); code != CodeNotFound {
		t.Errorf("gen_notif: %v", code)
	}
	if _, code := api.CreateRequest(a, &RequestSpec{Peer: "create=-2"}); code != CodeBackend {
		t.Errorf("create: %v", code)
	}
}

func TestNotificationsComeOnce(t *testing.T) {
	api := mustLoadFake(t)
	a := newAgent(t, api)
	m, code := api.CreateNotifMap()
	if code != CodeSuccess {
		t.Fatal(code)
	}
	r := request(t, api, a, "post=1", 1)
	if code := api.Post(a, r); code != CodeInProgress {
		t.Fatal(code)
	}
	api.Status(a, r)
	got, code := api.TakeNotifs(a, m)
	if code != CodeSuccess || len(got) != 2 || got[0].Agent != "fake" ||
		string(got[0].Message) != "post" || string(got[1].Message) != "status" {
		t.Errorf("got %v, %v", got, code)
	}
	if got, code := api.TakeNotifs(a, m); code != CodeSuccess || got != nil {
		t.Errorf("again: %v, %v", got, code)
	}
}

func BenchmarkPoll10000(b *testing.B) {
	api := mustLoadFake(b)
	a := newAgent(b, api)
	requests := make([]Request, 10_000)
	for i := range requests {
		requests[i] = request(b, api, a, "status=1", 1)
	}
	codes := make([]Code, len(requests))
	b.ReportAllocs()
	for b.Loop() {
		api.Poll(a, requests, codes)
	}
}
