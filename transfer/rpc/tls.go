// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
)

// h2 is what HTTP/2 is called in a TLS handshake.
const h2 = "h2"

// serverConfig is the listener's side of the handshake, made anew for each so
// that renewed files count at once.
func (i *Identity) serverConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{h2}, SessionTicketsDisabled: true,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			m := i.current()
			return &tls.Config{
				MinVersion: tls.VersionTLS13, NextProtos: []string{h2},
				// A resumed session would outlive an authority that is not trusted any more.
				SessionTicketsDisabled: true,
				Certificates:           []tls.Certificate{m.certificate},
				ClientAuth:             tls.RequireAndVerifyClientCert, ClientCAs: m.authorities,
				VerifyConnection: func(s tls.ConnectionState) error { return named(s, "") },
			}, nil
		},
	}
}

// clientConfig is the dialler's side. want is the name that the peer must have,
// or empty.
func (i *Identity) clientConfig(want string) *tls.Config {
	m := i.current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{h2},
		Certificates: []tls.Certificate{m.certificate},
		// The usual verification compares the certificate with the host that was
		// dialled. Here it names an endpoint, wherever that runs: the chain is
		// verified below, and the name against the Hello.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			opts := x509.VerifyOptions{Roots: m.authorities, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
			for _, c := range s.PeerCertificates[1:] {
				opts.Intermediates.AddCert(c)
			}
			if _, err := s.PeerCertificates[0].Verify(opts); err != nil {
				return fmt.Errorf("%w: %w", ErrUntrusted, err)
			}
			return named(s, want)
		},
	}
}

// named refuses a certificate that names no endpoint, or not the one wanted.
func named(s tls.ConnectionState, want string) error {
	names := namesOf(s.PeerCertificates[0])
	switch {
	case len(names) == 0:
		return fmt.Errorf("%w: its certificate names no endpoint", ErrUntrusted)
	case want != "" && !slices.Contains(names, want):
		return fmt.Errorf("%w: its certificate names %q, not %q", ErrName, names, want)
	}
	return nil
}

// shakeHands makes a connection a TLS one, on the dialler's side, and returns
// with it the first bytes that the peer said. A listener speaks first, and one
// who refuses our certificate does so after the handshake has ended here: to
// write before would break the connection, and nobody could tell why.
func (c *Config) shakeHands(ctx context.Context, raw net.Conn) (*tls.Conn, []byte, error) {
	conn := tls.Client(raw, c.Identity.clientConfig(c.Peer))
	err := conn.HandshakeContext(ctx)
	if err == nil && conn.ConnectionState().NegotiatedProtocol != h2 {
		err = fmt.Errorf("%w: it does not speak HTTP/2", ErrNotPeer)
	}
	first := make([]byte, frameHeader)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
		_, err = io.ReadFull(conn, first)
		stop()
	}
	if err == nil {
		return conn, first, nil
	}
	_ = raw.Close()
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record):
		err = fmt.Errorf("%w: it does not speak TLS", ErrNotPeer)
	case alerted(err):
		err = fmt.Errorf("%w: it does not accept our certificate: %w", ErrUntrusted, err)
	}
	return nil, nil, err
}

// alerted reports whether err is the peer's refusal to go on with TLS.
func alerted(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error"
}

// handshakes counts the connections that fail the listener's handshake.
type handshakes struct {
	credentials.TransportCredentials
	counters *Counters
}

// noTLS is an alert of TLS, "unexpected message", for who does not speak it.
var noTLS = []byte{alertRecord, tlsMajor, 1, 0, 2, 2, 10}

// lingerTime is how long somebody who is refused may take to read why.
const lingerTime = 100 * time.Millisecond

// ServerHandshake passes on and counts. Who fails is told why, which takes to
// read first what he has sent: a connection that is closed over unread bytes is
// broken, and takes back what was said on it.
func (h *handshakes) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	open := &held{Conn: raw}
	conn, info, err := h.TransportCredentials.ServerHandshake(open)
	if err == nil {
		open.released.Store(true)
		return conn, info, nil
	}
	h.counters.Untrusted.Add(1)
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		_, _ = raw.Write(noTLS)
	}
	if half, ok := raw.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		_ = raw.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.Copy(io.Discard, raw)
	}
	return nil, nil, err
}

// held is a connection that is not closed before it is released.
type held struct {
	net.Conn
	released atomic.Bool
}

// Close closes what was released.
func (h *held) Close() error {
	if h.released.Load() {
		return h.Conn.Close()
	}
	return nil
}

// Clone keeps counting.
func (h *handshakes) Clone() credentials.TransportCredentials {
	return &handshakes{TransportCredentials: h.TransportCredentials.Clone(), counters: h.counters}
}

// credentials are the listener's for gRPC.
func (c *Config) credentials() credentials.TransportCredentials {
	if c.Identity == nil {
		return insecure.NewCredentials()
	}
	return &handshakes{TransportCredentials: credentials.NewTLS(c.Identity.serverConfig()), counters: c.Counters}
}

// peerNames returns the names in the certificate of who called; nil without TLS.
func peerNames(ctx context.Context) []string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return nil
	}
	return namesOf(info.State.PeerCertificates[0])
}
