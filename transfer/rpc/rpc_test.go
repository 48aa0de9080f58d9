// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

func listen(t *testing.T, addr string) *rpc.Listener {
	t.Helper()
	l, err := rpc.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// pair returns both ends of one stream.
func pair(t *testing.T, addr string) (dialled, accepted *rpc.Stream) {
	t.Helper()
	l := listen(t, addr)
	dialled, err := rpc.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close() })
	if accepted, err = l.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dialled, accepted
}

func TestStreamsKeepOrder(t *testing.T) {
	for name, addr := range map[string]string{
		"tcp4": "127.0.0.1:0", "localhost": "localhost:0",
		"unix":          "unix:" + filepath.Join(t.TempDir(), "s"),
		"unix-abstract": "unix-abstract:kvxfer-test-" + rand.Text(),
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t, addr)
			for _, way := range []struct{ from, to transfer.Stream }{{a, b}, {b, a}} {
				for i := range uint64(100) {
					if err := way.from.Send(t.Context(), wire.Receipt{Received: i}); err != nil {
						t.Fatal(err)
					}
				}
				for i := range uint64(100) {
					if m, err := way.to.Recv(t.Context()); err != nil || m != (wire.Receipt{Received: i}) {
						t.Fatalf("message %d: got %v, %v", i, m, err)
					}
				}
			}
		})
	}
}

// What was sent before Close arrives, and then the other side sees the end.
func TestCloseLetsOutWhatWasSent(t *testing.T) {
	for _, closer := range []string{"dialled", "accepted"} {
		t.Run(closer, func(t *testing.T) {
			a, b := pair(t, "127.0.0.1:0")
			if closer == "accepted" {
				a, b = b, a
			}
			if err := a.Send(t.Context(), wire.Receipt{Received: 7}); err != nil {
				t.Fatal(err)
			}
			go a.Close()
			if m, err := b.Recv(t.Context()); err != nil || m != (wire.Receipt{Received: 7}) {
				t.Fatalf("got %v, %v", m, err)
			}
			if _, err := b.Recv(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("after the last message: %v, want io.EOF", err)
			}
			b.Close()
			if err := a.Send(t.Context(), wire.Receipt{}); !errors.Is(err, rpc.ErrClosed) {
				t.Errorf("send on a closed stream: %v, want ErrClosed", err)
			}
		})
	}
}

func TestRecvEndsWithContext(t *testing.T) {
	a, b := pair(t, "127.0.0.1:0")
	for _, s := range []*rpc.Stream{a, b} {
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() { _, err := s.Recv(ctx); result <- err }()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	}
}

// A message that passed here but not there would be a breach; one that the
// sender should never have sent ends the receiver's stream with a typed error.
func TestRecvRefusesInvalidMessages(t *testing.T) {
	a, b := pair(t, "127.0.0.1:0")
	if err := a.Send(t.Context(), wire.SessionQuiesced{}); err != nil {
		t.Fatal(err)
	}
	if m, err := b.Recv(t.Context()); !errors.Is(err, wire.ErrInvalid) {
		t.Errorf("got %v, %v; want ErrInvalid", m, err)
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	busy := listen(t, "127.0.0.1:0").Addr()
	socket := "unix:" + filepath.Join(t.TempDir(), "s")
	listen(t, socket)
	for _, test := range []struct {
		addr string
		want error
		text string
	}{
		{"0.0.0.0:0", rpc.ErrNotLocal, "without certificates"},
		{"192.0.2.1:80", rpc.ErrNotLocal, "without certificates"},
		{"[::]:0", rpc.ErrNotLocal, "without certificates"},
		{":9000", rpc.ErrNotLocal, "without certificates"},
		{"example.org:80", rpc.ErrNotLocal, "without certificates"},
		{"127.0.0.1", rpc.ErrInvalidAddress, "unix-abstract:name"},
		{"127.0.0.1:x", rpc.ErrInvalidAddress, "port"},
		{"127.0.0.1:70000", rpc.ErrInvalidAddress, "port"},
		{"", rpc.ErrInvalidAddress, ""},
		{"unix:", rpc.ErrInvalidAddress, "no name"},
		{"unix-abstract:", rpc.ErrInvalidAddress, "no name"},
		{"unix:/a\x00b", rpc.ErrInvalidAddress, "zero byte"},
		{"unix:/" + strings.Repeat("x", 200), rpc.ErrInvalidAddress, "limit"},
		{"unix:" + filepath.Join(t.TempDir(), "no", "such", "folder"), rpc.ErrInvalidAddress, "no such file"},
		{busy, rpc.ErrAddressInUse, busy},
		{socket, rpc.ErrAddressInUse, socket},
	} {
		l, err := rpc.Listen(test.addr)
		var typed *rpc.AddressError
		if !errors.As(err, &typed) || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("listen %q: got %v, want %v with %q", test.addr, err, test.want, test.text)
		}
		if l != nil {
			l.Close()
		}
	}
	if _, err := rpc.Dial(t.Context(), "192.0.2.1:80"); !errors.Is(err, rpc.ErrNotLocal) {
		t.Errorf("dial: got %v, want ErrNotLocal", err)
	}
}

// raw answers each TCP connection with reply and then closes it.
func raw(t *testing.T, reply string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, reply)
			// Closing before the other side's words were read would take the reply back.
			_ = c.(*net.TCPConn).CloseWrite()
			go func() {
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func TestDialTellsWhoIsThere(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	other := grpc.NewServer()
	otherListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = other.Serve(otherListener) }()
	t.Cleanup(other.Stop)
	free := listen(t, "127.0.0.1:0")
	free.Close()

	for _, test := range []struct {
		name, addr string
		want       error
	}{
		{"nobody", free.Addr(), rpc.ErrUnreachable},
		{"no socket", "unix:" + filepath.Join(t.TempDir(), "none"), rpc.ErrUnreachable},
		{"no abstract socket", "unix-abstract:kvxfer-test-" + rand.Text(), rpc.ErrUnreachable},
		{"a web server", strings.TrimPrefix(web.URL, "http://"), rpc.ErrNotPeer},
		{"another gRPC service", otherListener.Addr().String(), rpc.ErrNotPeer},
		{"a greeting in text", raw(t, "220 mail.example ready\r\n"), rpc.ErrNotPeer},
		{"a peer that dies at once", raw(t, ""), transfer.ErrHandshake},
		{"a peer that dies after HTTP/2 began", raw(t, "\x00\x00\x00\x04\x00\x00\x00\x00\x00"), transfer.ErrHandshake},
	} {
		s, err := rpc.Dial(t.Context(), test.addr)
		if !errors.Is(err, test.want) || s != nil || !strings.Contains(err.Error(), test.addr) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %v with the address, in one line", test.name, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rpc.Dial(ctx, listen(t, "127.0.0.1:0").Addr()); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got %v", err)
	}
}

func TestListenerCloseEndsEverything(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	s, err := rpc.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l.Close()
	if _, err := s.Recv(t.Context()); err == nil {
		t.Error("the dialled end got a message from a closed listener")
	}
	if _, err := l.Accept(t.Context()); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("accept after close: %v, want ErrClosed", err)
	}
}

func TestForeignUserIsRefused(t *testing.T) {
	if err := rpc.CompareUser(1000, 1000); err != nil {
		t.Errorf("same user: %v", err)
	}
	if err := rpc.CompareUser(1000, 0); !errors.Is(err, rpc.ErrForeignUser) || !strings.Contains(err.Error(), "1000") {
		t.Errorf("other user: %v, want ErrForeignUser with the uid", err)
	}
}
