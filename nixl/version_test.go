// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func itoa(c Code) string { return strconv.Itoa(int(c)) }

func TestParseVersion(t *testing.T) {
	for s, want := range map[string]Version{
		"1.5.1": {1, 5, 1}, "1.10.0": {1, 10, 0}, "1.5.1rc2": {1, 5, 1}, "0.0.7.post1": {0, 0, 7},
	} {
		if got, err := ParseVersion(s); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "1", "1.5", "a.b.c", "1.5.", "1.5.x", "-1.5.1"} {
		if got, err := ParseVersion(s); !errors.Is(err, ErrArgument) {
			t.Errorf("%q: %v, %v, want ErrArgument", s, got, err)
		}
	}
}

func TestVersionOrder(t *testing.T) {
	order := []Version{{}, {0, 9, 9}, {1, 3, 2}, {1, 4, 0}, {1, 4, 1}, {1, 5, 0}, {1, 10, 0}, {2, 0, 0}}
	for i, v := range order {
		for j, w := range order {
			if v.Less(w) != (i < j) {
				t.Errorf("%v.Less(%v) = %v", v, w, v.Less(w))
			}
		}
	}
}

func TestVersionInText(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Version
	}{
		"one":        {"x\x001.4.1\x00y", Version{1, 4, 1}},
		"one twice":  {"\x001.4.1\x00a\x001.4.1\x00", Version{1, 4, 1}},
		"two differ": {"\x001.4.1\x00a\x001.5.1\x00", Version{}},
		"none":       {"GLIBC_2.2.5\x00", Version{}},
	} {
		file := filepath.Join(t.TempDir(), "lib.so")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := versionInText(file); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
