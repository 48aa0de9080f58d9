// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package admin_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/explain"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/admin"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// endpoint makes one with a region, and a peer that never answers.
type endpoint struct {
	*transfer.Endpoint
	t      *testing.T
	region *transfer.Region
	peer   *transfer.Endpoint
}

func newEndpoint(t *testing.T, grace time.Duration) *endpoint {
	t.Helper()
	fabric := loop.New(loop.Config{Auto: true})
	build := func(name string) *transfer.Endpoint {
		agent, err := fabric.Agent(name)
		must(t, err)
		e, err := transfer.New(transfer.Config{
			Name: name, Backend: agent, FirstRequest: 1, Grace: grace,
			Contain: func(ownership.Containment) error { return nil },
		})
		must(t, err)
		t.Cleanup(e.Halt)
		return e
	}
	e := &endpoint{Endpoint: build("decode-0"), peer: build("prefill-0"), t: t}
	arena, err := memory.New(memory.Spec{Len: 4096})
	must(t, err)
	t.Cleanup(func() { _ = arena.Close() })
	e.region, err = e.Register("pool", arena)
	must(t, err)
	one, other := transfer.Pipe()
	attached := async(func() error { _, err := e.peer.Attach(t.Context(), other); return err })
	_, err = e.Attach(t.Context(), one)
	must(t, errors.Join(err, <-attached))
	return e
}

// async runs f on a goroutine of its own.
func async(f func() error) <-chan error {
	c := make(chan error, 1)
	go func() { c <- f() }()
	return c
}

// doubt asks the peer for data and then declares it gone.
func (e *endpoint) doubt() *transfer.Session {
	e.t.Helper()
	s, err := e.Receive(e.t.Context(), transfer.ReceiveSpec{Region: e.region, From: transfer.FromPeers("prefill-0")})
	must(e.t, err)
	must(e.t, e.Gone("prefill-0", e.peer.Incarnation()))
	return s
}

// fence is the proof that frees what doubt has made.
func (e *endpoint) fence(s *transfer.Session) {
	e.t.Helper()
	must(e.t, e.Fence(ownership.FenceSpec{Accessor: "prefill-0", Scope: ownership.All}))
	must(e.t, s.Drain(e.t.Context()))
}

// socket is an address in a folder of its own, short enough for a socket.
func socket(t *testing.T) (addr, path string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "kvx")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path = filepath.Join(folder, "s")
	return "unix:" + path, path
}

func serve(t *testing.T, e *transfer.Endpoint) (client *admin.Client, addr, path string) {
	t.Helper()
	addr, path = socket(t)
	server, err := admin.Serve(addr, e)
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	client, err = admin.NewClient(addr)
	must(t, err)
	return client, addr, path
}

// request makes one HTTP request over the socket and returns status and body.
func request(t *testing.T, path, method, url string) (int, http.Header, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://x"+url, http.NoBody)
	must(t, err)
	answer, err := client.Do(r)
	must(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, answer.Header, string(body)
}

// An operator finds out who is in doubt, lifts the quarantine, and sees that
// this freed nothing; proof does.
func TestExplainAndReopenOverASocket(t *testing.T) {
	e := newEndpoint(t, time.Hour)
	client, _, _ := serve(t, e.Endpoint)
	s := e.doubt()
	r, err := client.Explain(t.Context())
	must(t, err)
	if r.Admission.State != "QUARANTINED" || len(r.Regions) != 1 || r.Regions[0].Holding != explain.Retained {
		t.Fatalf("got %+v", r)
	}
	if reason := r.Regions[0].Owners[0].Reasons[0]; reason.Accessor != "prefill-0" || reason.State != "IN_DOUBT" || !strings.Contains(reason.Frees, "fence") {
		t.Errorf("the reason is %+v", reason)
	}
	did, err := client.Reopen(t.Context())
	must(t, err)
	if did.Before != "QUARANTINED" || did.After != "OPEN" || len(did.Doubted) != 1 || did.Doubted[0] != "prefill-0" {
		t.Errorf("reopen answers %+v", did)
	}
	must(t, e.WaitAdmission(t.Context()))
	if r, err = client.Explain(t.Context()); err != nil || r.Regions[0].Holding != explain.Retained {
		t.Errorf("after reopen: %+v, %v", r, err)
	}
	e.fence(s)
	if r, err = client.Explain(t.Context()); err != nil || r.Regions[0].Holding != explain.Free {
		t.Errorf("after the proof: %+v, %v", r, err)
	}
	if did, err = client.Reopen(t.Context()); err != nil || did.Before != "OPEN" || did.After != "OPEN" {
		t.Errorf("reopen of what is open: %+v, %v", did, err)
	}
}

func TestPaths(t *testing.T) {
	e := newEndpoint(t, time.Hour)
	_, _, path := serve(t, e.Endpoint)
	e.doubt()
	for _, tc := range []struct {
		method, url string
		status      int
		contentType string
		has         string
	}{
		{"GET", "/", 200, "text/plain; charset=utf-8", "POST /reopen"},
		{"GET", "/snapshot", 200, "application/json", `"schema":1,"endpoint":"decode-0"`},
		{"HEAD", "/snapshot", 200, "application/json", ""},
		{"GET", "/explain", 200, "text/plain; charset=utf-8", "prefill-0 may still write into it: IN_DOUBT"},
		{"GET", "/metrics", 200, "text/plain; version=0.0.4; charset=utf-8", `kvxfer_claims_in_doubt{endpoint="decode-0",accessor="prefill-0"} 1`},
		{"GET", "/reopen", 405, "", "Method Not Allowed"},
		{"POST", "/snapshot", 405, "", "Method Not Allowed"},
		{"GET", "/nothing", 404, "", "not found"},
	} {
		status, header, body := request(t, path, tc.method, tc.url)
		if status != tc.status || !strings.Contains(body, tc.has) || tc.contentType != "" && header.Get("Content-Type") != tc.contentType {
			t.Errorf("%s %s: %d, %q, %s", tc.method, tc.url, status, header.Get("Content-Type"), body)
		}
	}
	if a := e.Snapshot().Admission; a != ownership.AdmissionQuarantined {
		t.Errorf("a GET has changed admission to %v", a)
	}
}

// The text format: each name once, described before its samples.
func TestMetricsFormat(t *testing.T) {
	e := newEndpoint(t, time.Hour)
	e.doubt()
	var b strings.Builder
	must(t, admin.WriteMetrics(&b, `a"b\c`, append(e.Metrics(), transfer.Metric{Name: "kvxfer_last", Help: "of all", Kind: transfer.Gauge, Value: 0.25})))
	head := regexp.MustCompile(`^# (HELP|TYPE) (kvxfer_[a-z_]+) (.+)$`)
	sample := regexp.MustCompile(`^(kvxfer_[a-z_]+)\{endpoint="a\\"b\\\\c"(,(state|accessor)="[A-Za-z0-9-]+")?\} [0-9.e+-]+$`)
	described, current := map[string]bool{}, ""
	for _, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if m := head.FindStringSubmatch(line); m != nil {
			if m[1] == "HELP" && described[m[2]] {
				t.Errorf("%s is described twice", m[2])
			}
			described[m[2]], current = true, m[2]
		} else if m := sample.FindStringSubmatch(line); m == nil || m[1] != current {
			t.Errorf("the line %s under %s", line, current)
		}
	}
	if !strings.HasSuffix(b.String(), "# HELP kvxfer_last of all\n# TYPE kvxfer_last gauge\nkvxfer_last{endpoint=\"a\\\"b\\\\c\"} 0.25\n") {
		t.Errorf("got\n%s", b.String())
	}
}

// What cannot be reopened says why, and which.
func TestReopenIsRefused(t *testing.T) {
	fatal, stopped := newEndpoint(t, time.Millisecond), newEndpoint(t, time.Hour)
	fatal.doubt()
	<-fatal.Fatal()
	stopped.doubt()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stopped.Stop(ctx); !errors.Is(err, ownership.ErrRefused) {
		t.Fatalf("stop: %v", err)
	}
	sentinels := map[string]error{"fatal": ownership.ErrFatal, "closed": ownership.ErrClosed}
	for e, kind := range map[*endpoint]string{fatal: "fatal", stopped: "closed"} {
		client, _, path := serve(t, e.Endpoint)
		status, _, body := request(t, path, "POST", "/reopen")
		if status != http.StatusConflict || !strings.Contains(body, `"kind":"`+kind+`"`) {
			t.Errorf("%s: %d %s", kind, status, body)
		}
		if _, err := client.Reopen(t.Context()); !errors.Is(err, admin.ErrRefused) || !errors.Is(err, sentinels[kind]) || !strings.Contains(err.Error(), "registry: "+kind) {
			t.Errorf("%s: %v", kind, err)
		}
		if r, err := client.Explain(t.Context()); err != nil || (r.Fatal != nil) != (kind == "fatal") {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
	}
}

// The socket is private while it is there and gone afterwards; what a dead
// process left is replaced, what is alive or no socket is not.
func TestSocket(t *testing.T) {
	e := newEndpoint(t, time.Hour)
	addr, path := socket(t)
	server, err := admin.Serve(addr, e.Endpoint)
	must(t, err)
	if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	if _, err := admin.Serve(addr, e.Endpoint); !errors.Is(err, admin.ErrInUse) {
		t.Errorf("a second server: %v", err)
	}
	if server.Addr() != addr {
		t.Errorf("address %s", server.Addr())
	}
	must(t, errors.Join(server.Close(), server.Close()))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after close the socket is there: %v", err)
	}

	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	dead.SetUnlinkOnClose(false)
	must(t, dead.Close())
	server, err = admin.Serve(addr, e.Endpoint)
	must(t, err)
	must(t, server.Close())

	must(t, os.WriteFile(path, []byte("mine"), 0o644))
	if _, err := admin.Serve(addr, e.Endpoint); !errors.Is(err, admin.ErrInUse) {
		t.Errorf("over a file: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("the file is %q, %v", data, err)
	}
}

func TestAddresses(t *testing.T) {
	e := newEndpoint(t, time.Hour)
	for _, addr := range []string{"", "/run/x", "127.0.0.1:0", "unix-abstract:x", "unix:", "unix:@x", "unix:a\x00b", "unix:/" + strings.Repeat("x", 107), "unix:/nowhere/at/all"} {
		if _, err := admin.Serve(addr, e.Endpoint); !errors.Is(err, admin.ErrAddress) {
			t.Errorf("serve %q: %v", addr, err)
		}
		if _, err := admin.NewClient(addr); addr != "unix:/nowhere/at/all" && !errors.Is(err, admin.ErrAddress) {
			t.Errorf("client of %q: %v", addr, err)
		}
	}
}

// Whatever answers, or does not, is named.
func TestClientErrors(t *testing.T) {
	addr, path := socket(t)
	client, err := admin.NewClient(addr)
	must(t, err)
	if _, err := client.Explain(t.Context()); !errors.Is(err, admin.ErrUnreachable) || !errors.Is(err, syscall.ENOENT) || strings.Contains(err.Error(), "http://") {
		t.Errorf("nobody there: %v", err)
	}
	for _, tc := range []struct{ answer, want string }{
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "unexpected answer: explain: 1:1: invalid character 'h'"},
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "unexpected answer: GET /snapshot gave 404 Not Found"},
		{"SSH-2.0-x\r\n", "cannot connect: "},
	} {
		l, err := net.Listen("unix", path)
		must(t, err)
		answered := async(func() error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			_, _ = c.Read(make([]byte, 4096))
			_, err = c.Write([]byte(tc.answer))
			return errors.Join(err, c.Close())
		})
		_, err = client.Explain(t.Context())
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %s", err, tc.want)
		}
		must(t, errors.Join(<-answered, l.Close()))
	}
	if _, err := client.Reopen(t.Context()); !errors.Is(err, admin.ErrUnreachable) {
		t.Errorf("reopen: %v", err)
	}
}
