// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

type endpoint struct {
	*transfer.Endpoint
	arena  *memory.Arena
	region *transfer.Region
}

func newEndpoint(t *testing.T, f *loop.Fabric, name string) *endpoint {
	t.Helper()
	agent, err := f.Agent(name)
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{}
	e.Endpoint, err = transfer.New(transfer.Config{Name: name, Backend: agent, Contain: func(c ownership.Containment) error {
		t.Errorf("FATAL: %+v", c)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if e.arena, err = memory.New(memory.Spec{Len: 64 << 10}); err != nil {
		t.Fatal(err)
	}
	if e.region, err = e.Register("pool", e.arena); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Halt(); e.arena.Close() })
	return e
}

// Two endpoints over gRPC, from Hello to Goodbye, with the stream lost and
// dialled again in between.
func TestEndpointsOverRPC(t *testing.T) {
	for name, addr := range map[string]string{"tcp": "127.0.0.1:0", "unix-abstract": "unix-abstract:kvxfer-test-" + rand.Text()} {
		t.Run(name, func(t *testing.T) {
			fabric := loop.New(loop.Config{Auto: true})
			prefill, decode := newEndpoint(t, fabric, "prefill-0"), newEndpoint(t, fabric, "decode-0")
			rand.Read(prefill.arena.Bytes())
			l := listen(t, addr)
			prefill.OnRequest(func(r *transfer.Request) {
				s, err := r.Send(transfer.SendSpec{Region: prefill.region})
				if err == nil {
					err = s.Drain(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
			for range 3 {
				link := attach(t, l, prefill, decode)
				s, err := decode.Receive(t.Context(), transfer.ReceiveSpec{Region: decode.region, From: transfer.FromPeers("prefill-0")})
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(s.Wait(t.Context()), s.Drain(t.Context())); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(prefill.arena.Bytes(), decode.arena.Bytes()) {
					t.Error("the bytes differ")
				}
				link.Close()
			}
			attach(t, l, prefill, decode)
			if err := errors.Join(decode.Stop(t.Context()), prefill.Stop(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}

// attach dials on decode's side and accepts on prefill's.
func attach(t *testing.T, l *rpc.Listener, prefill, decode *endpoint) *transfer.Link {
	t.Helper()
	result := make(chan error, 1)
	go func() {
		s, err := l.Accept(t.Context())
		if err == nil {
			_, err = prefill.Attach(t.Context(), s)
		}
		result <- err
	}()
	s, err := rpc.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	link, err := decode.Attach(t.Context(), s)
	if err := errors.Join(err, <-result); err != nil {
		t.Fatal(err)
	}
	return link
}

// A peer of another major version, or one that dies after it has connected,
// ends the handshake with an error that says so.
func TestHandshakeOverRPCThatFails(t *testing.T) {
	decode := newEndpoint(t, loop.New(loop.Config{Auto: true}), "decode-0")
	for name, test := range map[string]struct {
		say  wire.Message
		want error
	}{
		"other version": {wire.Hello{Version: wire.Version{Major: 2}, Endpoint: "p", Incarnation: wire.Incarnation{1}}, wire.ErrVersion},
		"dies":          {nil, transfer.ErrHandshake},
		"bad name":      {wire.Hello{Version: wire.Current, Endpoint: "p/q", Incarnation: wire.Incarnation{1}}, wire.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, "127.0.0.1:0")
			go func() {
				s, err := l.Accept(t.Context())
				if err == nil && test.say != nil {
					_ = s.Send(t.Context(), test.say)
				}
				if err == nil {
					_ = s.Close()
				}
			}()
			s, err := rpc.Dial(t.Context(), l.Addr())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decode.Attach(t.Context(), s); !errors.Is(err, test.want) || !errors.Is(err, transfer.ErrHandshake) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
