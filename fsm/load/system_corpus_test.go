// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// source reads a file under its base name.
func source(t testing.TB, file string) *load.Source {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return load.NewSource(filepath.Base(file), data)
}

// TestSystemCorpusStaticError: each system with one mistake is refused with exactly
// the messages beside it; the system without a mistake loads.
func TestSystemCorpusStaticError(t *testing.T) {
	door := source(t, "testdata/system/door.yaml")
	if _, err := load.NewSet(door, source(t, "testdata/system/guests.yaml")); err != nil {
		t.Fatalf("the system that all others are made from: %v", err)
	}
	files, err := filepath.Glob("testdata/static_error/system/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			_, err := load.NewSet(door, source(t, file))
			var mistake *load.Error
			if !errors.As(err, &mistake) {
				t.Fatalf("no mistake with a place: %v", err)
			}
			compareText(t, strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}

// FuzzSystem: whatever a file says, loading ends without a panic, and every mistake
// has a place inside the file.
func FuzzSystem(f *testing.F) {
	for _, pattern := range []string{"testdata/system/*.yaml", "testdata/static_error/system/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			f.Add(string(source(f, file).Data))
		}
	}
	door := source(f, "testdata/system/door.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		src := load.NewSource("guests.yaml", []byte(text))
		_, err := load.NewSet(door, src)
		if err == nil {
			return
		}
		lines := strings.Count(text, "\n") + 1
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			t.Fatalf("not a list of mistakes: %v", err)
		}
		for _, e := range joined.Unwrap() {
			var m *load.Error
			if !errors.As(e, &m) || m.Msg == "" || m.Pos.Line > lines+1 {
				t.Errorf("a mistake without a place in the file: %v", e)
			}
		}
	})
}
