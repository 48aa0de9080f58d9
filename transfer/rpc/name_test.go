// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/transfer/wire"
)

// A Hello has a name of the certificate, and the very one that was dialled, where
// the certificate has several.
func TestNameOfAHello(t *testing.T) {
	for _, c := range []struct {
		names []string
		peer  string
		hello string
		fine  bool
	}{
		{nil, "", "a", true},
		{nil, "a", "a", true},
		{nil, "a", "b", false},
		{[]string{"a", "b"}, "", "b", true},
		{[]string{"a", "b"}, "", "c", false},
		{[]string{"a", "b"}, "a", "a", true},
		{[]string{"a", "b"}, "a", "b", false},
		{[]string{"b"}, "a", "a", false},
	} {
		s := &Stream{config: &Config{Peer: c.peer, Counters: &Counters{}}, names: c.names}
		err := s.theirs(wire.Hello{Endpoint: c.hello})
		if c.fine != (err == nil) || err != nil && !errors.Is(err, ErrName) {
			t.Errorf("%+v: %v", c, err)
		}
		if got := s.config.Counters.Misnamed.Load(); (got == 1) == c.fine {
			t.Errorf("%+v: %d counted", c, got)
		}
	}
}
