// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wheel

import (
	"strings"
	"testing"
)

func TestBuiltInLock(t *testing.T) {
	p, err := parseLock(Lock)
	if err != nil {
		t.Fatal(err)
	}
	if p.name != "nixl-cu12" || p.version != Version() || len(p.hashes) != len(platforms) {
		t.Errorf("lock pins %s %s with %d hashes for %d platforms", p.name, p.version, len(p.hashes), len(platforms))
	}
}

func TestLockMustPinOneVersion(t *testing.T) {
	hash := " --hash=sha256:" + strings.Repeat("a", 64)
	for name, lock := range map[string]string{
		"empty":        "",
		"no hash":      "nixl-cu12==1.5.1\n",
		"short hash":   "nixl-cu12==1.5.1 --hash=sha256:abc\n",
		"no version":   "nixl-cu12" + hash,
		"a range":      "nixl-cu12>=1.5.1" + hash,
		"two packages": "nixl-cu12==1.5.1" + hash + "\nnixl-cu13==1.5.1" + hash,
	} {
		if p, err := parseLock(lock); err == nil {
			t.Errorf("%s: accepted as %+v", name, p)
		}
	}
}
