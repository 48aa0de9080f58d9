// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/internal/nixltest"
)

// fakeAgent is an agent of the fake in dir, with a UCX backend and registered
// memory. The fake's notes start empty.
func fakeAgent(t testing.TB, dir string) *Agent {
	t.Helper()
	lib, err := Open(Options{Library: dir})
	if err != nil {
		t.Fatal(err)
	}
	a, err := lib.NewAgent("a", AgentConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.CreateBackend(PluginUCX, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Register(Segment{Addr: 0x10000, Len: 0x1000}, nil); err != nil {
		t.Fatal(err)
	}
	calls(t, a)
	return a
}

// scripted builds a request whose answers the script gives.
func scripted(t testing.TB, a *Agent, script string) *Request {
	t.Helper()
	envelope, err := seal(script, []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.LoadMetadata(envelope, script); err != nil {
		t.Fatal(err)
	}
	r, err := a.NewRequest(fakeConfig(script))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fakeConfig(peer string) RequestConfig {
	return RequestConfig{
		Op: Write, Peer: peer,
		Local: []Segment{{Addr: 0x10000, Len: 64}}, Remote: []Segment{{Addr: 0x20000, Len: 64}},
	}
}

// calls returns which calls about requests have reached the library.
func calls(t testing.TB, a *Agent) []string {
	t.Helper()
	notes, err := a.Notifications()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, n := range notes {
		out = append(out, string(n.Message))
	}
	return out
}

// What is refused must never reach the library.
func TestRefusalsComeBeforeTheLibrary(t *testing.T) {
	a := fakeAgent(t, nixltest.Wheel(t, "1.5.1"))
	r := scripted(t, a, "post=1;status=1")
	if _, err := r.Post(); err != nil {
		t.Fatal(err)
	}
	calls(t, a)
	_, again := r.Post()
	for what, err := range map[string]error{
		"post": again, "release": r.Release(), "deregister": r.regions[0].Deregister(),
		"invalidate": a.Invalidate(r.peer.name), "destroy": a.Destroy(),
	} {
		if !errors.Is(err, ErrInFlight) {
			t.Errorf("%s: %v, want ErrInFlight", what, err)
		}
	}
	if got := calls(t, a); len(got) != 0 {
		t.Errorf("the library heard %v", got)
	}
}

// NIXL has crashed in a post whose memory was deregistered or whose peer was
// replaced after the request was built.
func TestStaleRequestIsNotPosted(t *testing.T) {
	dir := nixltest.Wheel(t, "1.5.1")
	for name, take := range map[string]struct {
		away func(*Request) error
		want error
	}{
		"peer":   {func(r *Request) error { return r.agent.Invalidate(r.peer.name) }, ErrUnknownPeer},
		"memory": {func(r *Request) error { return r.regions[0].Deregister() }, ErrNotRegistered},
	} {
		t.Run(name, func(t *testing.T) {
			a := fakeAgent(t, dir)
			r := scripted(t, a, "post=0")
			if s, err := r.Post(); s != StatusDone || err != nil {
				t.Fatalf("%v, %v", s, err)
			}
			if err := take.away(r); err != nil {
				t.Fatal(err)
			}
			calls(t, a)
			if s, err := r.Post(); s != StatusNotSubmitted || !errors.Is(err, take.want) {
				t.Errorf("post: %v, %v, want %v", s, err, take.want)
			}
			if got := calls(t, a); len(got) != 0 {
				t.Errorf("the library heard %v", got)
			}
			if err := r.Release(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReleaseThatFailsKeepsTheRequest(t *testing.T) {
	a := fakeAgent(t, nixltest.Wheel(t, "1.5.1"))
	r := scripted(t, a, "post=0;release=-2,0")
	if _, err := r.Post(); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(); !errors.Is(err, ErrBackend) {
		t.Fatalf("release: %v", err)
	}
	if s, err := r.Status(); s != StatusDone || err != nil {
		t.Errorf("status after it: %v, %v", s, err)
	}
	for range 2 {
		if err := r.Release(); err != nil {
			t.Errorf("release again: %v", err)
		}
	}
	if got, want := calls(t, a), []string{"post", "release", "release"}; !slices.Equal(got, want) {
		t.Errorf("the library heard %v, want %v", got, want)
	}
	if _, err := r.Post(); !errors.Is(err, ErrClosed) {
		t.Errorf("post after release: %v", err)
	}
}

// A second post of a handle is no first: the first may have queued something.
func TestNotFoundOfARepostProvesNothing(t *testing.T) {
	a := fakeAgent(t, nixltest.Wheel(t, "1.5.1"))
	r := scripted(t, a, "post=0,-6")
	if s, _ := r.Post(); s != StatusDone {
		t.Fatal(s)
	}
	if s, err := r.Post(); s != StatusFailed || !errors.Is(err, ErrNotFound) {
		t.Errorf("repost: %v, %v", s, err)
	}
}

func TestRefusedLibraries(t *testing.T) {
	empty := t.TempDir()
	cut := filepath.Join(t.TempDir(), LibraryName)
	if err := os.WriteFile(cut, []byte("\x7fELF"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		want error
		says string
	}{
		"1.0.1":           {nixltest.Wheel(t, "1.0.1"), ErrVersion, "1.0.1"},
		"1.3.2":           {nixltest.Wheel(t, "1.3.2"), ErrVersion, "stale handle"},
		"no version":      {nixltest.Wheel(t, "", "FAKE_OLD"), ErrVersion, "unknown"},
		"a symbol lacks":  {nixltest.Wheel(t, "1.5.1", "FAKE_PARTIAL"), ErrNoLibrary, "nixl_capi_gen_notif"},
		"an empty folder": {empty, ErrNoLibrary, "nothing there"},
		"no such file":    {filepath.Join(empty, "lib.so"), ErrNoLibrary, "no such file"},
		"cut short":       {cut, ErrNoLibrary, cut},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(Options{Library: c.path})
			if !errors.Is(err, c.want) || !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}

func TestAcceptedLibraries(t *testing.T) {
	for version, want := range map[string]Version{
		"1.4.1": {1, 4, 1}, "1.5.1": {1, 5, 1}, "1.10.0": {1, 10, 0}, "": {1, 5, 0},
	} {
		dir := nixltest.Wheel(t, version)
		t.Setenv(EnvLibrary, dir)
		lib, err := Open(Options{})
		if err != nil || lib.Version() != want || !strings.Contains(lib.Found(), EnvLibrary) {
			t.Errorf("%s: %v, %v", version, lib, err)
			continue
		}
		// A link to the file alone must work: the library needs its neighbours.
		link := filepath.Join(t.TempDir(), "link.so")
		if err := os.Symlink(lib.Path(), link); err != nil {
			t.Fatal(err)
		}
		same, err := Open(Options{Library: link})
		if err != nil || same != lib {
			t.Errorf("%s: through a link: %v, %v", version, same, err)
		}
	}
}

// What a version lacks is said by its name, and only by the call that needs it.
func TestMissingFunctionIsNamed(t *testing.T) {
	a := fakeAgent(t, nixltest.Wheel(t, "1.4.1", "FAKE_OLD"))
	meet(t, a, "post=0")
	cfg := fakeConfig("post=0")
	if _, err := a.NewRequest(cfg); err != nil {
		t.Fatal(err)
	}
	cfg.Custom = []byte("c")
	_, custom := a.NewRequest(cfg)
	_, local := a.ViewLocal(DRAM, cfg.Local, nil)
	_, remote := a.ViewRemote(DRAM, []RemoteSegment{{Peer: "post=0", Segment: cfg.Remote[0]}}, nil)
	for symbol, err := range map[string]error{
		"nixl_capi_opt_args_set_custom_param": custom,
		"nixl_capi_prep_mem_view_local":       local,
		"nixl_capi_prep_mem_view_remote":      remote,
	} {
		var missing *MissingError
		if !errors.Is(err, ErrUnsupported) || !errors.As(err, &missing) || missing.Symbol != symbol || missing.Version.Minor != 4 {
			t.Errorf("%s: %v", symbol, err)
		}
	}
}

// A view holds what it reaches until the caller says that no kernel uses it.
func TestViewHoldsItsMemoryAndPeers(t *testing.T) {
	a := fakeAgent(t, nixltest.Wheel(t, "1.5.1"))
	meet(t, a, "post=0")
	reg := a.regions[0]
	local, err1 := a.ViewLocal(DRAM, []Segment{{Addr: 0x10000, Len: 64}}, nil)
	remote, err2 := a.ViewRemote(DRAM, []RemoteSegment{{Peer: "post=0", Segment: Segment{Addr: 1, Len: 1}}}, nil)
	if err := errors.Join(err1, err2); err != nil || local.Handle() == 0 {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"deregister": reg.Deregister(), "invalidate": a.Invalidate("post=0"), "destroy": a.Destroy(),
	} {
		if !errors.Is(err, ErrInFlight) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, err := range []error{local.Release(), local.Release(), remote.Release(), reg.Deregister(), a.Invalidate("post=0"), a.Destroy()} {
		if err != nil {
			t.Error(err)
		}
	}
}
