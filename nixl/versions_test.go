// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/nixl/wheel"
)

// envVersions runs these tests, which get the wheels that they lack, 80 MB each.
const envVersions = "KVXFER_TEST_VERSIONS"

// Other versions than the pinned one: the old one is refused with its reason,
// and on the others the tests of this package pass that need the library.
func TestOtherVersions(t *testing.T) {
	for name, refused := range map[string]bool{"cu12-1.3.2": true, "cu12-1.4.1": false, "cu13-1.5.1": false} {
		t.Run(name, func(t *testing.T) {
			dir := otherVersion(t, name)
			// A process can have one NIXL only, so each has its own.
			cmd := exec.Command(os.Args[0], "-test.v", "-test.run", needsNIXL, "-test.skip", "OtherVersions|OnTheFake")
			cmd.Env = append(usersEnvironment(), nixl.EnvLibrary+"="+dir)
			b, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, b)
			}
			_, number, _ := strings.Cut(name, "-")
			want := "version " + number
			if refused {
				want = "is version " + number + ", need " + nixl.MinVersion.String() + " or newer: older ones crash on a stale handle"
			}
			if !strings.Contains(string(b), want) {
				t.Errorf("nothing says %q:\n%s", want, b)
			}
		})
	}
}

const needsNIXL = "Moves|Nothing|Dead|Prepared|Files|Query|Cost|View|Partial|Peer|Races|Leaks|Signals|Lists"

// otherVersion is the folder of an unpacked wheel.
func otherVersion(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv(envVersions) == "" {
		t.Skipf("set %s=1 to fetch other versions and run on them", envVersions)
	}
	lock, err := os.ReadFile(filepath.Join("testdata", "versions", name+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(folder, "versions", name)
	got, err := wheel.Fetch(t.Context(), dir, wheel.Options{Lock: string(lock)})
	if err != nil {
		t.Skip(err)
	}
	return got
}

func TestASecondLibraryIsRefused(t *testing.T) {
	first := requireNIXL(t)
	for _, name := range []string{"cu12-1.4.1", "cu13-1.5.1"} {
		t.Run(name, func(t *testing.T) {
			_, err := nixl.Open(nixl.Options{Library: otherVersion(t, name)})
			if !errors.Is(err, nixl.ErrSecondLibrary) || !strings.Contains(err.Error(), first.Path()) {
				t.Errorf("got %v", err)
			}
		})
	}
}
