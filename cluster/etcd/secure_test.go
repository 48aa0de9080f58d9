// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/etcd"
)

// certificate makes a CA that is its own server's and client's certificate, and
// returns the files of it and of its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestTLSAndPassword: an etcd with TLS and authentication takes who shows a
// certificate and knows the password, and nobody else.
func TestTLSAndPassword(t *testing.T) {
	cert, key := certificate(t)
	server := start(t, etcd.ServerConfig{CertFile: cert, KeyFile: key, CAFile: cert})
	if !strings.HasPrefix(server.URL(), "https://") {
		t.Fatalf("the server is at %s, want https", server.URL())
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	shown := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}
	requirePassword(t, server.URL(), shown)
	for _, c := range []struct {
		name     string
		tls      *tls.Config
		user, pw string
		ok       bool
	}{
		{"all of it", shown, "root", "secret", true},
		{"no certificate", &tls.Config{RootCAs: pool}, "root", "secret", false},
		{"another password", shown, "root", "guess", false},
		{"nobody", shown, "", "", false},
	} {
		limit := 5 * time.Second
		if c.ok {
			limit = time.Minute // a crowded machine takes long to check a password
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		dial := func() (*etcd.Store, error) {
			return etcd.Dial(ctx, etcd.Config{Endpoints: []string{server.URL()}, TLS: c.tls, Username: c.user, Password: c.pw})
		}
		s, err := dial()
		for c.ok && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			s, err = dial()
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %v, allowed should be %v", c.name, err, c.ok)
		}
		if err == nil {
			rank, err := cluster.Join(ctx, cluster.Config{Group: "g", Ranks: 1, Store: s})
			if err != nil {
				t.Errorf("%s: join: %v", c.name, err)
			} else {
				_ = rank.Close()
			}
			_ = s.Close()
		}
		cancel()
	}
}

func requirePassword(t *testing.T, url string, c *tls.Config) {
	t.Helper()
	admin, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, TLS: c})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	if _, err := admin.UserAdd(t.Context(), "root", "secret"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.RoleAdd(t.Context(), "root"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.UserGrantRole(t.Context(), "root", "root"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
}
