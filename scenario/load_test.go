// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/scenario"
)

// TestBadFiles: each file of testdata/bad says in its first lines where its
// mistakes are, and what the beginnings of their messages are.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no bad files", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(data)) {
				if text, ok := strings.CutPrefix(line, "# want: "); ok {
					want = append(want, path+":"+strings.TrimSpace(text))
				}
			}
			_, err = scenario.Parse(path, data)
			var got scenario.Problems
			if !errors.As(err, &got) {
				t.Fatalf("error is %v", err)
			}
			if len(got) != len(want) {
				t.Fatalf("%d mistakes, want %d:\n%v", len(got), len(want), err)
			}
			for i := range got {
				if !strings.HasPrefix(got[i].Error(), want[i]) {
					t.Errorf("%v\nwant %s", got[i], want[i])
				}
			}
		})
	}
}

// All mistakes of a file come at once, in the order of their places.
func TestAllMistakesAtOnce(t *testing.T) {
	_, err := scenario.Parse("f", []byte("name: x\nsteps:\n  - close: r1\n  - seal: kv0\n  - nope: 1\n"))
	var got scenario.Problems
	if !errors.As(err, &got) || len(got) != 3 || got[0].Pos.Line != 3 || got[2].Pos.Line != 5 {
		t.Fatalf("%v", err)
	}
}

func TestTooLarge(t *testing.T) {
	if _, err := scenario.Parse("f", bytes.Repeat([]byte("#"), scenario.MaxBytes+1)); err == nil {
		t.Fatal("accepted")
	}
	if _, err := scenario.Load("testdata/no-such-file.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%v", err)
	}
}

// A wrong expectation, a wrong error and a missing one each fail, with a place.
func TestFailuresAreFound(t *testing.T) {
	for name, steps := range map[string]string{
		"3:14": "  - stop: registry\n    expect: {fatal: true}\n",
		"2:5":  "  - stop: registry\n    error: refused\n",
		"3:5":  "  - session: {id: r1, side: send}\n  - complete: r1\n",
		"4:7":  "  - stop: registry\n    expect:\n      outbox 7: [OK]\n",
		"4:20": "  - session: {id: r1, side: send}\n    expect:\n      session r1: {released: 1}\n",
	} {
		f, err := scenario.Parse("f", []byte("steps:\n"+steps+"name: x\n"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		report, err := scenario.Run(f)
		if err != nil {
			t.Fatal(err)
		}
		err = report.Err()
		if !report.Failed() || err == nil || !strings.HasPrefix(err.Error(), "f:"+name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/bad/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, path := range files {
			if data, err := os.ReadFile(path); err == nil {
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := scenario.Parse("f", data)
		if err != nil {
			return
		}
		if _, err := scenario.Run(file); err != nil {
			t.Fatal(err)
		}
	})
}
