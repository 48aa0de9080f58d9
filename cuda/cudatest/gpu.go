// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cudatest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kvxfer/kvxfer/cuda"
)

// skipped are the tests that needed a real GPU and had none.
var skipped struct {
	sync.Mutex
	names  []string
	reason string
}

// RequireGPU returns the primary context of the first real GPU, or skips the
// test, with the reason, and counts it.
func RequireGPU(t testing.TB) *cuda.Context {
	t.Helper()
	driver, err := cuda.Open(cuda.Options{})
	if err != nil {
		SkipGPU(t, err)
	}
	ctx, err := driver.Devices()[0].Primary()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ctx.Close(); err != nil {
			t.Errorf("the test leaves something behind: %v", err)
		}
	})
	return ctx
}

// SkipGPU skips a test that cannot run for lack of a GPU, and counts it.
func SkipGPU(t testing.TB, reason error) {
	t.Helper()
	skipped.Lock()
	skipped.names = append(skipped.names, t.Name())
	skipped.reason = reason.Error()
	skipped.Unlock()
	t.Skipf("needs a GPU: %v", reason)
}

// Main runs a package's tests and ends with a line that counts and names those
// that were skipped for lack of a GPU. It returns the exit code:
//
//	func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	slices.Sort(skipped.names)
	skipped.names = slices.Compact(skipped.names)
	if n := len(skipped.names); n > 0 {
		fmt.Fprintf(os.Stdout, "GPU: %d tests and benchmarks skipped (%s): %s\n", n, skipped.reason, strings.Join(skipped.names, ", "))
	}
	return code
}
