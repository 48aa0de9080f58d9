// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"errors"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
)

// full is a disk with room for some bytes.
type full int

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), int(*f))
	if *f -= full(n); n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

// What was not printed was not done: a full disk is no success, wherever in the
// output it happens.
func TestFullStandardOutput(t *testing.T) {
	for _, args := range []string{"version", "--help", "completion bash", "run --backend loop --layers 1 --blocks 2", "run --backend loop --layers 1 --blocks 2 --json"} {
		for _, room := range []full{0, 100} {
			var stderr strings.Builder
			code := Main(append([]string{"kvxfer"}, strings.Fields(args)...), strings.NewReader(""), &room, &stderr)
			if code != exit.Env || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), "no space left") {
				t.Errorf("%s: exit code %d, %q", args, code, stderr.String())
			}
		}
	}
}
