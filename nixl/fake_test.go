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
	r, err := a.NewRequest(RequestConfig{
		Op: Write, Peer: script,
		Local: []Segment{{Addr: 0x10000, Len: 64}}, Remote: []Segment{{Addr: 0x20000, Len: 64}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
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

// codes are all that the library knows, and some that it does not.
var codes = []Code{
	CodeSuccess, CodeInProgress, CodeInvalidParam, CodeBackend, CodeInvalidState,
	CodeException, CodeNoTelemetry, CodeNotFound, 2, -7, -99,
}

// Every code of a first post, for UCX and for another plugin.
func TestEveryCodeOfPost(t *testing.T) {
	dir := nixltest.Wheel(t, "1.5.1")
	for _, code := range codes {
		for _, ucx := range []bool{true, false} {
			a := fakeAgent(t, dir)
			r := scripted(t, a, "post="+itoa(code))
			r.ucx = ucx
			status, err := r.Post()
			want := StatusFailed
			switch {
			case code == CodeSuccess:
				want = StatusDone
			case code == CodeInProgress:
				want = StatusInProgress
			case code == CodeNotFound && ucx:
				want = StatusNotSubmitted
			}
			if status != want || (err != nil) != (want == StatusFailed || want == StatusNotSubmitted) {
				t.Errorf("post answers %v (ucx %v): %v, %v, want %v", code, ucx, status, err, want)
			}
			if e := (*Error)(nil); err != nil && (!errors.As(err, &e) || e.Code != code || e.Call != callPost.String()) {
				t.Errorf("post answers %v: the error lost it: %v", code, err)
			}
			retained := want == StatusFailed || want == StatusInProgress
			if got := a.InFlight() == 1; got != retained {
				t.Errorf("post answers %v: in flight %v, want %v", code, got, retained)
			}
		}
	}
}

// Every code of a status: success alone ends, and after any error the handle
// never says done again, whatever the library would answer.
func TestEveryCodeOfStatus(t *testing.T) {
	dir := nixltest.Wheel(t, "1.5.1")
	for _, code := range codes {
		a := fakeAgent(t, dir)
		r := scripted(t, a, "post=1;status="+itoa(code)+",0")
		if s, err := r.Post(); s != StatusInProgress || err != nil {
			t.Fatalf("post: %v, %v", s, err)
		}
		out := make([]Observation, 1)
		if err := a.Poll([]*Request{r}, out); err != nil {
			t.Fatal(err)
		}
		second, _ := r.Status()
		switch code {
		case CodeSuccess:
			if out[0].Status != StatusDone || second != StatusDone {
				t.Errorf("status answers %v: %v then %v", code, out[0].Status, second)
			}
		case CodeInProgress:
			if out[0].Status != StatusInProgress || second != StatusDone {
				t.Errorf("status answers %v: %v then %v", code, out[0].Status, second)
			}
		default:
			if out[0].Status != StatusFailed || out[0].Err == nil || second != StatusFailed {
				t.Errorf("status answers %v: %v (%v) then %v", code, out[0].Status, out[0].Err, second)
			}
			if got, want := calls(t, a), []string{"post", "status"}; !slices.Equal(got, want) {
				t.Errorf("status answers %v: the library heard %v, want %v", code, got, want)
			}
			if err := r.Release(); !errors.Is(err, ErrInFlight) {
				t.Errorf("status answers %v: release: %v", code, err)
			}
		}
	}
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
