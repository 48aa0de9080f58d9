// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/transfer/wire"
)

// URIScheme is the scheme of a URI in a certificate that is an endpoint's name:
// "kvxfer:prefill-0". It is for names that are no DNS names.
const URIScheme = "kvxfer"

// Identity is who an endpoint is, and whom it trusts: a certificate with its
// key, and the authorities that sign the peers'. A certificate's names are its
// DNS names and its URIs of scheme "kvxfer"; the endpoint's name must be one of
// them, letter for letter. All methods may be called from any goroutine.
//
// The files are looked at before each handshake and read again when they have
// changed, so that certificates are renewed without a restart. Where the new
// ones cannot be used the old ones stay; see Err.
type Identity struct {
	paths [3]string // certificate, key, authorities

	mu     sync.Mutex
	stamps [3]os.FileInfo // guarded by mu; of what was read last
	now    *material      // guarded by mu; never nil
	err    error          // guarded by mu
}

// material is what the files hold.
type material struct {
	certificate tls.Certificate
	authorities *x509.CertPool
	names       []string
}

// LoadIdentity reads PEM files: a certificate and those that sign it, its key,
// and the authorities that peers' certificates are signed by. The error is an
// *IdentityError.
func LoadIdentity(certificate, key, authorities string) (*Identity, error) {
	i := &Identity{paths: [3]string{certificate, key, authorities}}
	i.now, i.err = i.load()
	if i.err != nil {
		return nil, i.err
	}
	return i, nil
}

// IdentityError says which file cannot be used and why.
type IdentityError struct {
	Path string
	Err  error
}

// Error returns "rpc: path: reason".
func (e *IdentityError) Error() string { return fmt.Sprintf("rpc: %s: %v", e.Path, e.Err) }

// Unwrap returns the reason.
func (e *IdentityError) Unwrap() error { return e.Err }

// Names returns the names in the certificate, never none.
func (i *Identity) Names() []string { return slices.Clone(i.current().names) }

// Err says why the files, as they were found last, cannot be used; nil when
// they can.
func (i *Identity) Err() error {
	i.current()
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// current returns what the files hold, or held when they could be read last.
func (i *Identity) current() *material {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.changed() {
		m, err := i.load()
		if i.err = err; err == nil {
			i.now = m
		}
	}
	return i.now
}

// changed looks at the files; mu is held.
func (i *Identity) changed() bool {
	for n, path := range i.paths {
		info, err := os.Stat(path)
		was := i.stamps[n]
		if err != nil || was == nil || !os.SameFile(info, was) || info.Size() != was.Size() || !info.ModTime().Equal(was.ModTime()) {
			return true
		}
	}
	return false
}

// load reads the files; mu is held, or nobody else has i yet. The stamps are
// older than what was read, so that a change in between is seen later.
func (i *Identity) load() (*material, error) {
	var data [3][]byte
	for n, path := range i.paths {
		var err error
		if i.stamps[n], err = os.Stat(path); err == nil {
			data[n], err = os.ReadFile(path)
		}
		if err != nil {
			var at *os.PathError
			if errors.As(err, &at) {
				err = at.Err
			}
			return nil, &IdentityError{Path: path, Err: err}
		}
	}
	m := &material{authorities: x509.NewCertPool()}
	var err error
	if m.certificate, err = tls.X509KeyPair(data[0], data[1]); err != nil {
		return nil, &IdentityError{Path: i.paths[0], Err: err}
	}
	if !m.authorities.AppendCertsFromPEM(data[2]) {
		return nil, &IdentityError{Path: i.paths[2], Err: errors.New("has no certificate")}
	}
	if m.names, err = usable(m.certificate.Leaf, time.Now()); err != nil {
		return nil, &IdentityError{Path: i.paths[0], Err: err}
	}
	return m, nil
}

// usable returns a certificate's names, unless peers would refuse it anyway.
func usable(c *x509.Certificate, now time.Time) ([]string, error) {
	names := namesOf(c)
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("has no endpoint's name: no DNS name, and no URI %s:NAME", URIScheme)
	case now.After(c.NotAfter):
		return nil, fmt.Errorf("has expired, on %s", c.NotAfter.Format(time.DateTime))
	case now.Before(c.NotBefore):
		return nil, fmt.Errorf("is not valid before %s", c.NotBefore.Format(time.DateTime))
	}
	return names, nil
}

// namesOf returns the names in a certificate that an endpoint can have. A
// wildcard is none: it would be no name of anybody.
func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, u := range c.URIs {
		if u.Scheme == URIScheme && u.Host == "" && u.RawQuery == "" && u.Fragment == "" {
			names = append(names, u.Opaque)
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return wire.CheckEndpoint(n) != nil })
}
