// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package proptest

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/internal/overlay"
)

// networkFault is a mistake that a library could have: a session with a live claim is
// closed, and its memory given back while it may be written to.
var networkFault = []struct{ file, from, to string }{
	{"gen/session/session.gen.go", "	if !s.closed && !s.Settled() {\n", "	if false {\n"},
	{"gen/receive/receive.gen.go", "	if s.outcome == outcome.Active || !s.Settled() {\n", "	if false {\n"},
}

// A library with that fault fails TestNetwork, and the scenario file that it writes fails
// with that library, and passes with the true one.
func TestNetworkFindsFaults(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	list := faultOverlay(t, root)
	kvxfer := make(map[string]string)
	for name, flags := range map[string][]string{"faulty": {"-overlay", list}, "true": nil} {
		kvxfer[name] = filepath.Join(t.TempDir(), "kvxfer")
		args := append(append([]string{"build"}, flags...), "-o", kvxfer[name], "./cmd/kvxfer")
		if text, err := goTool(t, root, args...); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	file := failedFile(t, root, list)
	replayed, err := exec.Command(kvxfer["faulty"], "replay", file).CombinedOutput()
	if err == nil || !strings.Contains(string(replayed), "1 of 1 scenario failed") {
		t.Errorf("the faulty library does not fail: %v\n%s", err, replayed)
	}
	if replayed, err := exec.Command(kvxfer["true"], "replay", file).CombinedOutput(); err != nil {
		t.Errorf("the true library: %v\n%s", err, replayed)
	}
}

// failedFile lets TestNetwork fail until the scenario that it writes has the fault in it:
// one that ends early, before a step for which a file has no name, may not come to it.
// Each run writes its file again, and which steps come before the fault's is not always
// the same, since goroutines have no order.
func failedFile(t *testing.T, root, list string) string {
	t.Helper()
	fails := regexp.MustCompile(`kvxfer replay (\S+\.yaml)\n(?:.*it ends early.*\n)?\s*replayed, it fails: script:\d+:`)
	for range 10 {
		text, err := goTool(t, root, "test", "-vet=off", "-count=1", "-timeout=5m", "-overlay", list, "-run", "^TestNetwork$", "./proptest",
			"-rapid.nofailfile", "-rapid.shrinktime=1s", "-proptest.out", t.TempDir())
		if err == nil || !strings.Contains(text, "--- FAIL: TestNetwork") {
			t.Fatalf("TestNetwork does not fail: %v\n%s", err, text)
		}
		if said := fails.FindStringSubmatch(text); said != nil {
			return said[1]
		}
	}
	t.Fatal("no scenario file fails")
	return ""
}

func goTool(t *testing.T, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// faultOverlay writes the edited files and the list that the go command takes.
func faultOverlay(t *testing.T, root string) string {
	t.Helper()
	faulty := overlay.New(t.TempDir())
	for _, e := range networkFault {
		if err := faulty.Edit(filepath.Join(root, e.file), e.from, e.to); err != nil {
			t.Fatalf("%v: bring this fault up to date", err)
		}
	}
	list, err := faulty.Write()
	if err != nil {
		t.Fatal(err)
	}
	return list
}
