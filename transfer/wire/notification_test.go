// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/transfer/wire"
)

// A notification says the whole name, and nothing that is cut, longer or foreign is one.
func TestNotificationIsTheWholeName(t *testing.T) {
	message := wire.Notification(claim())
	if got, err := wire.ParseNotification(message); err != nil || got != claim() {
		t.Errorf("got %+v, %v", got, err)
	}
	for n := range message {
		if _, err := wire.ParseNotification(message[:n]); !errors.Is(err, wire.ErrInvalid) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	nobody := claim()
	nobody.Owner = wire.Incarnation{}
	for name, m := range map[string][]byte{"longer": append(message, 0), "somebody else's": []byte("hello"), "invalid": wire.Notification(nobody)} {
		if got, err := wire.ParseNotification(m); !errors.Is(err, wire.ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzNotification(f *testing.F) {
	f.Add(wire.Notification(claim()))
	f.Fuzz(func(t *testing.T, message []byte) {
		c, err := wire.ParseNotification(message)
		if err == nil && string(wire.Notification(c)) != string(message) {
			t.Errorf("%q says %+v, which is written differently", message, c)
		}
	})
}
