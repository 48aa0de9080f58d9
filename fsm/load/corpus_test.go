// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// After a wanted change of messages: go test ./fsm/load -run Corpus -update, then
// read the diff.
var update = flag.Bool("update", false, "write the messages that the corpus gives now")

// TestCorpusStaticError: every file is refused, with exactly the messages beside it.
func TestCorpusStaticError(t *testing.T) {
	files, err := filepath.Glob("testdata/static_error/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			_, err := load.File(file)
			if err == nil {
				t.Fatal("loads without a mistake")
			}
			var mistake *load.Error
			if !errors.As(err, &mistake) {
				t.Fatalf("no mistake with a place: %v", err)
			}
			compareText(t, strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}

// TestCorpusOK: every file loads.
func TestCorpusOK(t *testing.T) {
	files, err := filepath.Glob("testdata/ok/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if _, err := load.File(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func compareText(t *testing.T, golden, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, filepath.ToSlash(filepath.Dir(golden))+"/", "")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

const door = `machine: door
doc: A door.
states:
  SHUT: {code: 1, initial: true, doc: it is shut}
  AJAR: {code: 2, doc: it is not shut}
events:
  pull: {code: 1, doc: somebody pulls}
cells:
  SHUT: {pull: AJAR}
  AJAR: {pull: duplicate}
`

// TestBytes: inputs that cannot well be files of the corpus.
func TestBytes(t *testing.T) {
	for _, tc := range []struct {
		name string
		data []byte
		want string // of the error; empty for none
	}{
		{"plain", []byte(door), ""},
		{"windows line ends", []byte(strings.ReplaceAll(door, "\n", "\r\n")), ""},
		{"byte order mark", append([]byte("\ufeff"), door...), ""},
		{"wrong UTF-8", bytes.Replace([]byte(door), []byte("it is shut"), []byte("it \xff is"), 1), "door.yaml:4:42: invalid UTF-8"},
		{"10 MB", append([]byte(door), bytes.Repeat([]byte("# and so on and on\n"), 10<<20/19)...), "door.yaml: file is too long; a spec has at most 1048576 bytes"},
		{"NUL", []byte(door + "\x00"), "door.yaml:11:1: control character U+0000"},
	} {
		_, err := load.Bytes("door.yaml", tc.data)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestRepeatedName: two files cannot have one name.
func TestRepeatedName(t *testing.T) {
	_, err := load.NewSet(load.NewSource("a/door.yaml", []byte(door)), load.NewSource("b/door.yaml", []byte(door)))
	if want := "b/door.yaml:1:10: name \"door\" is that of a/door.yaml already"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// FuzzLoad: whatever the bytes, the loader answers, with a spec or with mistakes
// that have places; a machine that loads is complete.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.yaml", "../../spec/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sp, err := load.Bytes("door.yaml", data)
		if err != nil {
			var mistake *load.Error
			if !errors.As(err, &mistake) || mistake.Msg == "" {
				t.Fatalf("an error without a place: %v", err)
			}
			if p := mistake.Pos; p.Line > 0 && (p.Col < 1 || p.Line > 1+bytes.Count(data, []byte("\n"))) {
				t.Fatalf("%v is not in the text", mistake)
			}
			return
		}
		m, ok := sp.(*load.Machine)
		if !ok {
			return
		}
		for i, row := range m.Cells {
			if len(row) != len(m.Events) {
				t.Fatalf("row %d has %d cells", i, len(row))
			}
			for _, c := range row {
				if !c.Result.IsValid() || c.To < 0 || c.To >= len(m.States) {
					t.Fatalf("cell %+v of %s", c, m.States[i].Name)
				}
			}
		}
	})
}
