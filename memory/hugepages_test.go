// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"os"
	"strings"
	"testing"
)

func TestHugePagesSayWhatTheyGot(t *testing.T) {
	for _, c := range []struct {
		spec    Spec
		advised int
		reason  string // a part of it; empty: none
		text    string
	}{
		{Spec{Len: HugePageSize}, 0, "", "huge pages not asked for"},
		{Spec{Len: 100, HugePages: true}, 0, "shorter than one page", "huge pages for 0 bytes: "},
		{Spec{Len: HugePageSize, HugePages: true}, HugePageSize, "", "huge pages for 2097152 bytes"},
		{Spec{Len: HugePageSize + 5, HugePages: true}, HugePageSize, "the last 5 bytes", "huge pages for 2097152 bytes: "},
	} {
		h := newArena(t, c.spec).HugePages()
		if h.Asked && h.Advised == 0 && c.advised > 0 {
			t.Logf("%+v: this system said no: %s", c.spec, h.Reason)
			if h.Reason == "" {
				t.Error("no huge pages and no reason")
			}
			continue
		}
		if h.Asked != c.spec.HugePages || h.Advised != c.advised || !strings.Contains(h.Reason, c.reason) ||
			(c.reason == "") != (h.Reason == "") || !strings.HasPrefix(h.String(), c.text) {
			t.Errorf("%+v: got %+v %q", c.spec, h, h)
		}
	}
}

func TestResidentHuge(t *testing.T) {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(mode), "[never]") {
		t.Skip("no transparent huge pages on this system")
	}
	small := newArena(t, Spec{Len: HugePageSize / 2, Prefault: true})
	if n, err := small.ResidentHuge(); n != 0 || err != nil {
		t.Errorf("an arena shorter than a huge page: %d bytes, %v", n, err)
	}
	a := newArena(t, Spec{Len: 2 * HugePageSize, HugePages: true, Prefault: true})
	n, err := a.ResidentHuge()
	if err != nil || n%HugePageSize != 0 || n > a.Len() {
		t.Errorf("%d bytes, %v", n, err)
	}
	t.Logf("asked for %d bytes, got %d in huge pages", a.Len(), n)
}

// TestNoLeak maps and closes far more than the machine has; a leak would end
// in a refusal by the system, or show in the count of mappings.
func TestNoLeak(t *testing.T) {
	mappings := func() int {
		b, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip("no /proc to count mappings in")
		}
		return strings.Count(string(b), "\n")
	}
	cycle := func() {
		for range 1000 {
			a, err := New(Spec{Len: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cycle()
	before := mappings()
	cycle()
	if after := mappings(); after > before+100 {
		t.Errorf("%d mappings, %d after a thousand arenas more", before, after)
	}
}
