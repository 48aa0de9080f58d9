// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package authority makes a small certificate authority in a folder, and
// certificates that name endpoints, for tests and trials.
//
// The promise: nothing that exists is written over, no key can be read by other
// users, and each certificate is accepted by package rpc under exactly the name
// that it was made for. It is not for production: the authority's key lies
// beside what it signs, and nothing is ever revoked.
package authority

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Names of the authority's own files in its folder.
const (
	File    = "ca.pem"
	KeyFile = "ca-key.pem"
)

// URIScheme is the scheme of a name that is no DNS name; package rpc reads it.
const URIScheme = "kvxfer"

// backdate lets clocks of two machines differ.
const backdate = 5 * time.Minute

// dnsName is what a DNS name in a certificate may look like.
var dnsName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)

// Files are the paths of a name's certificate and key, and of the authority's
// certificate, in a folder.
func Files(dir, name string) (certificate, key, authorities string) {
	return filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem"), filepath.Join(dir, File)
}

// Authority signs certificates. It is not safe for use from several goroutines.
type Authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Create makes a folder, if it does not exist, and a new authority in it, valid
// for the given time. Where one exists already the error matches fs.ErrExist.
func Create(dir string, valid time.Duration) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template(pkix.Name{CommonName: "kvxfer test authority"}, valid)
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if err := write(filepath.Join(dir, KeyFile), filepath.Join(dir, File), key, der); err != nil {
		return nil, err
	}
	return Open(dir)
}

// Open reads the authority in a folder. Where there is none the error matches
// fs.ErrNotExist.
func Open(dir string) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, File), filepath.Join(dir, KeyFile))
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("authority: %s: is not an authority made by this package", filepath.Join(dir, File))
	}
	return &Authority{dir: dir, certificate: pair.Leaf, key: key}, nil
}

// Issue makes a key and a certificate for an endpoint, valid for the given time
// but not longer than the authority. Where either file exists already nothing is
// written and the error matches fs.ErrExist.
func (a *Authority) Issue(name string, valid time.Duration) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t := template(pkix.Name{CommonName: name}, valid)
	if t.NotAfter.After(a.certificate.NotAfter) {
		t.NotAfter = a.certificate.NotAfter
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} // either side may dial
	if dnsName.MatchString(name) {
		t.DNSNames = []string{name}
	} else {
		t.URIs = []*url.URL{{Scheme: URIScheme, Opaque: name}}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	certificate, keyFile, _ := Files(a.dir, name)
	return write(keyFile, certificate, key, der)
}

func template(subject pkix.Name, valid time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) // fails only where rand does, which ends the program
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now.Add(-backdate), NotAfter: now.Add(valid)}
}

// write makes both files, or neither.
func write(keyPath, certificatePath string, key *ecdsa.PrivateKey, der []byte) error {
	if _, err := os.Lstat(certificatePath); err == nil {
		return &fs.PathError{Op: "create", Path: certificatePath, Err: fs.ErrExist}
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := create(keyPath, 0o600, "PRIVATE KEY", private); err != nil {
		return err
	}
	if err := create(certificatePath, 0o644, "CERTIFICATE", der); err != nil {
		return errors.Join(err, os.Remove(keyPath))
	}
	return nil
}

func create(path string, mode os.FileMode, kind string, der []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	err = pem.Encode(&text, &pem.Block{Type: kind, Bytes: der})
	if err == nil {
		_, err = f.Write(text.Bytes())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
