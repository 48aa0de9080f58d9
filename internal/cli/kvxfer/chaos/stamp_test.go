// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"testing"
)

// The checker sees each kind of harm, byte by byte.
func TestStampsTellWhoseBytesTheseAre(t *testing.T) {
	const size = 4096
	was, becomes, released, late := stampOf(1, blank, 7), stampOf(2, data, 9), stampOf(2, free, 9), stampOf(2, data, 8)
	for name, c := range map[string]struct {
		harm    func([]byte)
		arrived int
		owner   stamp
		known   bool
	}{
		"nothing arrived":      {func([]byte) {}, 0, 0, true},
		"all arrived":          {func(b []byte) { becomes.fill(b) }, size, 0, true},
		"half a word arrived":  {func(b []byte) { lay(b[:100], becomes) }, 100, 0, true},
		"released memory":      {func(b []byte) { becomes.fill(b); lay(b[:512], released) }, 0, released, true},
		"an earlier request's": {func(b []byte) { lay(b, late) }, 0, late, true},
		"a flipped bit":        {func(b []byte) { b[4095] ^= 1 }, 0, 0, false},
	} {
		b := make([]byte, size)
		was.fill(b)
		c.harm(b)
		arrived, err := mixture(b, was, becomes)
		var w *wrong
		switch {
		case c.owner == 0 && c.known:
			if err != nil || arrived != c.arrived {
				t.Errorf("%s: %d, %v", name, arrived, err)
			}
		case !errors.As(err, &w) || w.known != c.known || c.known && w.owner != c.owner:
			t.Errorf("%s: %v", name, err)
		}
	}
}

// lay writes the beginning of a stamped range over b.
func lay(b []byte, s stamp) {
	full := make([]byte, (len(b)+7)/8*8)
	s.fill(full)
	copy(b, full)
}

func TestUntouchedSeesEveryByte(t *testing.T) {
	s := stampOf(3, free, 1)
	b := make([]byte, 1024)
	s.fill(b)
	if err := s.untouched(b); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i]++
		if s.untouched(b) == nil {
			t.Errorf("byte %d", i)
		}
		b[i]--
	}
	if got, at := origin(s.word(77)); got != s || at != 77 {
		t.Errorf("origin %v, %d", got, at)
	}
}
