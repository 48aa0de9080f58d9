// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wheel

import (
	_ "embed" // the lock file
	"fmt"
	"regexp"
	"runtime"
)

// Lock is the requirements file that names the one version and the hashes of
// its wheels. It is part of the program, so that a program alone can fetch.
//
//go:embed requirements.lock
var Lock string

var (
	lockPin  = regexp.MustCompile(`(?m)^([a-z0-9-]+)==([0-9][0-9a-z.]*)\b`)
	lockHash = regexp.MustCompile(`--hash=sha256:([0-9a-f]{64})\b`)
)

// pin is what a lock says.
type pin struct {
	name, version string
	hashes        map[string]bool
}

func parseLock(lock string) (pin, error) {
	pins := lockPin.FindAllStringSubmatch(lock, -1)
	hashes := lockHash.FindAllStringSubmatch(lock, -1)
	if len(pins) != 1 || len(hashes) == 0 {
		return pin{}, fmt.Errorf("wheel: lock has %d pins and %d hashes, want one pin and its hashes", len(pins), len(hashes))
	}
	p := pin{name: pins[0][1], version: pins[0][2], hashes: map[string]bool{}}
	for _, h := range hashes {
		p.hashes[h[1]] = true
	}
	return p, nil
}

// Version is the version that the built-in lock pins.
func Version() string {
	p, err := parseLock(Lock)
	if err != nil {
		panic(err) // the lock is part of the program and tested
	}
	return p.version
}

// platforms names this machine in the words of wheels.
var platforms = map[string]string{
	"linux/amd64": "manylinux_2_28_x86_64",
	"linux/arm64": "manylinux_2_28_aarch64",
}

func platform() (string, error) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	if p := platforms[here]; p != "" {
		return p, nil
	}
	return "", fmt.Errorf("%w: %s", ErrPlatform, here)
}
