// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/rpc/authority"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// issue makes an authority in a folder, unless there is one, and certificates.
func issue(t *testing.T, dir string, names ...string) {
	t.Helper()
	ca, err := authority.Open(dir)
	if err != nil {
		ca, err = authority.Create(dir, time.Hour)
	}
	for _, name := range names {
		if err == nil {
			err = ca.Issue(name, time.Hour)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func identity(t *testing.T, dir, name string) *rpc.Identity {
	t.Helper()
	i, err := rpc.LoadIdentity(authority.Files(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func secureListener(t *testing.T, c rpc.Config) *rpc.Listener {
	t.Helper()
	l, err := c.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// A whole transfer between two endpoints that know each other by certificate,
// one of which has a name that is no DNS name, on an address that would not be
// allowed without.
func TestEndpointsOverTLS(t *testing.T) {
	dir := t.TempDir()
	issue(t, dir, "prefill-0", "decode_0:b")
	fabric := loop.New(loop.Config{Auto: true})
	prefill, decode := newEndpoint(t, fabric, "prefill-0"), newEndpoint(t, fabric, "decode_0:b")
	l, err := rpc.Config{Identity: identity(t, dir, "prefill-0")}.Listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	attached := make(chan error, 1)
	go func() {
		s, err := l.Accept(t.Context())
		if err == nil {
			if got := s.PeerNames(); len(got) != 1 || got[0] != "decode_0:b" {
				t.Errorf("accepted a stream of %q", got)
			}
			_, err = prefill.Attach(t.Context(), s)
		}
		attached <- err
	}()
	_, port, _ := strings.Cut(l.Addr(), "]:")
	s, err := rpc.Config{Identity: identity(t, dir, "decode_0:b"), Peer: "prefill-0"}.Dial(t.Context(), "localhost:"+port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode.Attach(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := <-attached; err != nil {
		t.Fatal(err)
	}
	prefill.OnRequest(func(r *transfer.Request) {
		s, err := r.Send(transfer.SendSpec{Region: prefill.region})
		if err == nil {
			err = s.Drain(t.Context())
		}
		if err != nil {
			t.Error(err)
		}
	})
	session, err := decode.Receive(t.Context(), transfer.ReceiveSpec{Region: decode.region, From: transfer.FromPeers("prefill-0")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(session.Wait(t.Context()), session.Drain(t.Context())); err != nil {
		t.Error(err)
	}
}

// Who is not trusted, and who is not who he must be.
func TestTrust(t *testing.T) {
	ours, theirs := t.TempDir(), t.TempDir()
	issue(t, ours, "server", "client")
	issue(t, theirs, "server", "client")
	plain := rpc.Config{}
	good := rpc.Config{Identity: identity(t, ours, "client")}
	stranger := rpc.Config{Identity: identity(t, theirs, "client")}
	other := rpc.Config{Identity: identity(t, ours, "client"), Peer: "decode-7"}
	web := raw(t, "HTTP/1.0 400 no\r\n\r\n")
	for _, test := range []struct {
		name   string
		dialer rpc.Config
		server *rpc.Config // nil: no kvxfer at all
		want   error
		text   string
	}{
		{"no certificates to a TLS listener", plain, &rpc.Config{Identity: identity(t, ours, "server")}, rpc.ErrNotPeer, "speaks TLS"},
		{"certificates to a plain listener", good, &plain, rpc.ErrNotPeer, "does not speak TLS"},
		{"certificates to a web server", good, nil, rpc.ErrNotPeer, "does not speak TLS"},
		{"a listener of another authority", good, &rpc.Config{Identity: identity(t, theirs, "server")}, rpc.ErrUntrusted, "unknown authority"},
		{"a dialler of another authority", stranger, &rpc.Config{Identity: identity(t, ours, "server")}, rpc.ErrUntrusted, ""},
		{"a listener of another name", other, &rpc.Config{Identity: identity(t, ours, "server")}, rpc.ErrName, `"server"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			addr := web
			if test.server != nil {
				addr = secureListener(t, *test.server).Addr()
			}
			s, err := test.dialer.Dial(t.Context(), addr)
			if s != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %v with %q, in one line", err, test.want, test.text)
			}
		})
	}
}

// A listener that trusts two authorities counts who has none of them.
func TestUntrustedIsCounted(t *testing.T) {
	ours, theirs := t.TempDir(), t.TempDir()
	issue(t, ours, "server")
	issue(t, theirs, "client")
	// The dialler trusts the listener; the listener does not trust the dialler.
	cert, key, _ := authority.Files(theirs, "client")
	_, _, ca := authority.Files(ours, "server")
	mixed, err := rpc.LoadIdentity(cert, key, ca)
	if err != nil {
		t.Fatal(err)
	}
	counters := &rpc.Counters{}
	l := secureListener(t, rpc.Config{Identity: identity(t, ours, "server"), Counters: counters})
	_, err = rpc.Config{Identity: mixed}.Dial(t.Context(), l.Addr())
	if !errors.Is(err, rpc.ErrUntrusted) || !strings.Contains(err.Error(), "does not accept our certificate") {
		t.Errorf("got %v, want ErrUntrusted", err)
	}
	// Our side may know of the refusal before the listener has counted it.
	for end := time.Now().Add(time.Minute); counters.Untrusted.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not counted")
		}
	}
}

// A Hello that names anyone else than the certificate does ends the handshake
// before it is evidence of anything, in both directions, and is counted; the
// endpoint whose name was taken keeps its link.
func TestHelloOfAnotherNameIsRefused(t *testing.T) {
	dir := t.TempDir()
	issue(t, dir, "decode-0", "prefill-0", "evil")
	counters := &rpc.Counters{}
	l := secureListener(t, rpc.Config{Identity: identity(t, dir, "decode-0"), Counters: counters})
	fabric := loop.New(loop.Config{Auto: true})
	decode := newEndpoint(t, fabric, "decode-0")
	accept := func() error {
		s, err := l.Accept(t.Context())
		if err == nil {
			_, err = decode.Attach(t.Context(), s)
		}
		return err
	}
	result := make(chan error, 1)
	go func() { result <- accept() }()
	honest, err := rpc.Config{Identity: identity(t, dir, "prefill-0")}.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer honest.Close()
	prefill := newEndpoint(t, fabric, "prefill-0")
	link, err := prefill.Attach(t.Context(), honest)
	if err := errors.Join(err, <-result); err != nil {
		t.Fatal(err)
	}
	go func() { result <- accept() }()
	evil, err := rpc.Config{Identity: identity(t, dir, "evil")}.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer evil.Close()
	claim := wire.Hello{Version: wire.Current, Endpoint: "prefill-0", Incarnation: wire.Incarnation{6}}
	if err := evil.Send(t.Context(), claim); !errors.Is(err, rpc.ErrName) {
		t.Fatalf("our own stream let a foreign name out: %v", err)
	}
	if err := evil.SendUnchecked(claim); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, rpc.ErrName) || !errors.Is(err, transfer.ErrHandshake) {
		t.Errorf("got %v, want ErrName", err)
	}
	if n := counters.Misnamed.Load(); n != 1 {
		t.Errorf("%d counted, want 1", n)
	}
	if err := link.Err(); err != nil {
		t.Errorf("the honest link ended: %v", err)
	}
}

// Renewed files count with the next handshake; files that cannot be used leave
// the old ones in place.
func TestIdentityIsReloaded(t *testing.T) {
	dir, renewed := t.TempDir(), t.TempDir()
	issue(t, dir, "server")
	issue(t, renewed, "server", "client")
	server := identity(t, dir, "server")
	l := secureListener(t, rpc.Config{Identity: server})
	client := rpc.Config{Identity: identity(t, renewed, "client")}
	if _, err := client.Dial(t.Context(), l.Addr()); !errors.Is(err, rpc.ErrUntrusted) {
		t.Fatalf("before: %v", err)
	}
	certificate, key, ca := authority.Files(dir, "server")
	newCertificate, newKey, newCA := authority.Files(renewed, "server")
	replace(t, certificate, newCertificate)
	if err := server.Err(); err == nil || !strings.Contains(err.Error(), certificate) {
		t.Errorf("a certificate without its key: %v", err)
	}
	replace(t, key, newKey)
	replace(t, ca, newCA)
	s, err := client.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatalf("after: %v, and the files: %v", err, server.Err())
	}
	s.Close()
	if err := os.WriteFile(certificate, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = client.Dial(t.Context(), l.Addr()); err != nil {
		t.Fatalf("with a broken file the old one was to stay: %v", err)
	}
	s.Close()
	if server.Err() == nil {
		t.Error("a broken file is no error")
	}
}

// replace does as certificate managers do: a new file takes the name.
func replace(t *testing.T, path, with string) {
	t.Helper()
	in, err := os.Open(with)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(path + ".new")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(out.Close(), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

func TestLoadIdentityRefuses(t *testing.T) {
	dir := t.TempDir()
	issue(t, dir, "a", "b")
	ca, err := authority.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := ca.Issue("old", time.Nanosecond); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, test := range []struct{ certificate, key, ca, path, text string }{
		{"none.pem", "a-key.pem", "ca.pem", "none.pem", "no such file"},
		{"a.pem", "b-key.pem", "ca.pem", "a.pem", "private key does not match"},
		{"a.pem", "a-key.pem", "a-key.pem", "a-key.pem", "has no certificate"},
		{"old.pem", "old-key.pem", "ca.pem", "old.pem", "has expired"},
		{"ca.pem", "ca-key.pem", "ca.pem", "ca.pem", "has no endpoint's name"},
	} {
		_, err := rpc.LoadIdentity(file(test.certificate), file(test.key), file(test.ca))
		var typed *rpc.IdentityError
		if !errors.As(err, &typed) || typed.Path != file(test.path) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%+v: got %v", test, err)
		}
	}
}
