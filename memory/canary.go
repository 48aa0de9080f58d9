// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"fmt"
)

// canaryByte is the byte that belongs at offset i of a canary. It depends on
// the offset, so that a block of one repeated byte cannot pass for a canary.
func canaryByte(i int) byte { return byte(i*0x9d+0xc5) ^ byte(i>>8) }

func paintCanary(b []byte) {
	for i := range b {
		b[i] = canaryByte(i)
	}
}

// damage returns the offset of the first changed byte of a canary and how many
// changed; 0 changed is an intact canary.
func damage(b []byte) (first, changed int) {
	for i, v := range b {
		if v == canaryByte(i) {
			continue
		}
		if changed == 0 {
			first = i
		}
		changed++
	}
	return first, changed
}

// Check reports whether something wrote outside of the arena: a *CanaryError
// for each damaged side (errors.Is ErrCanary), nil when both are intact. It
// reads about two pages. A closed arena has nothing left to check.
func (a *Arena) Check() error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.mapping == nil {
		return nil
	}
	var errs []error
	report := func(canary []byte, offset int) {
		if first, n := damage(canary); n > 0 {
			name := fmt.Sprintf("arena %#x+%d", addrOf(a.data), len(a.data))
			errs = append(errs, &CanaryError{Arena: name, Offset: offset + first, Changed: n})
		}
	}
	report(a.before, -len(a.before))
	report(a.after, len(a.data))
	return errors.Join(errs...)
}
