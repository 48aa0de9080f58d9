// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestEnvelopeRefusesEveryCutAndEveryChange(t *testing.T) {
	md := bytes.Repeat([]byte("metadata"), 40)
	whole, err := seal("peer", md)
	if err != nil {
		t.Fatal(err)
	}
	if name, got, err := unseal(whole); err != nil || name != "peer" || !bytes.Equal(got, md) {
		t.Fatalf("unseal: %q, %v", name, err)
	}
	for n := range whole {
		want := ErrMetadataTruncated
		if n == 0 {
			want = ErrMetadataForeign
		}
		if _, _, err := unseal(whole[:n]); !errors.Is(err, want) || !errors.Is(err, ErrMetadata) {
			t.Errorf("cut to %d: %v, want %v", n, err, want)
		}
	}
	for i := range whole {
		for bit := range 8 {
			changed := slices.Clone(whole)
			changed[i] ^= 1 << bit
			if _, _, err := unseal(changed); !errors.Is(err, ErrMetadata) {
				t.Fatalf("bit %d of byte %d changed: %v", bit, i, err)
			}
		}
	}
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"another protocol": {[]byte("GET / HTTP/1.1\r\n\r\n"), ErrMetadataForeign},
		"NIXL's own bytes": {md, ErrMetadataForeign},
		"one byte more":    {append(slices.Clone(whole), 0), ErrMetadataChecksum},
		"another version":  {slices.Concat(whole[:8], []byte{2}, whole[9:]), ErrMetadataVersion},
		"changed payload":  {slices.Concat(whole[:60], []byte{whole[60] ^ 1}, whole[61:]), ErrMetadataChecksum},
	} {
		if _, _, err := unseal(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func FuzzUnseal(f *testing.F) {
	whole, err := seal("peer", []byte("metadata"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		name, md, err := unseal(b)
		if err != nil {
			if !errors.Is(err, ErrMetadata) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		again, err := seal(name, md)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("accepted %x, which seals to %x, %v", b, again, err)
		}
	})
}
