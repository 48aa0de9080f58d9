// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package format_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/codegen"
	"github.com/kvxfer/kvxfer/fsm/format"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestSource: one layout from several sources.
func TestSource(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{
			"order of keys, rows and cells",
			"machine: door\nstates:\n  SHUT: {doc: it is shut, initial: true, code: 1}\n  AJAR: {code: 2, doc: 'it is: not shut'}\ndoc: A door.\n" +
				"events: {pull: {code: 1, doc: p}, push: {code: 2, doc: q}}\ncells:\n  AJAR: {push: SHUT, pull: duplicate}\n  SHUT: {pull: AJAR, push: ignore}\n",
			"machine: door\ndoc: A door.\n\nstates:\n  SHUT: {code: 1, initial: true, doc: it is shut}\n  AJAR: {code: 2, doc: \"it is: not shut\"}\n" +
				"events: {pull: {code: 1, doc: p}, push: {code: 2, doc: q}}\n\ncells:\n  SHUT: {pull: AJAR, push: ignore}\n  AJAR: {pull: duplicate, push: SHUT}\n",
		},
		{
			"comments and blank lines",
			"# top\n\n# name\nmachine: door # a door\ndoc: |\n  A\n  door.\n# states\nstates:\n  # shut\n  SHUT:   {code: 1}\n\n\n  AJAR:\n      code: 2 # two\n",
			"# top\n\n# name\nmachine: door # a door\ndoc: >-\n  A door.\n\n# states\nstates:\n  # shut\n  SHUT: {code: 1}\n\n  AJAR:\n    code: 2 # two\n",
		},
		{
			"a line too long for one",
			"table: t\nrules:\n- when: {aaaaaaaaaaaaaaaaaaaaaaaaaaa: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, ccccccccccccccccccccccc: [dddddddddddddddd, eeeeeeeeee]}\n  then: {x: y}\n",
			"table: t\n\nrules:\n  - when:\n      aaaaaaaaaaaaaaaaaaaaaaaaaaa: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n      ccccccccccccccccccccccc: [dddddddddddddddd, eeeeeeeeee]\n    then: {x: y}\n",
		},
	} {
		got, err := format.Source("door.yaml", []byte(tc.in))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		} else if string(got) != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

// TestSpecs: the specs of this project have the canonical layout, and formatting
// never changes what is generated but for the hash.
func TestSpecs(t *testing.T) {
	for _, pattern := range []string{"../../spec/*.yaml", "../load/testdata/ok/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			once, err := format.Source(file, data)
			if err != nil {
				t.Error(err)
				continue
			}
			twice, err := format.Source(file, once)
			if err != nil || !bytes.Equal(once, twice) {
				t.Errorf("%s: formatting again changes it (%v)", file, err)
			}
		}
	}
	before, after := generate(t, false), generate(t, true)
	if !bytes.Equal(before, after) {
		t.Error("formatting changes the generated code")
	}
}

// generate renders all specs, formatted or not, without the hashes.
func generate(t *testing.T, formatted bool) []byte {
	t.Helper()
	files, err := filepath.Glob("../../spec/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sources []*load.Source
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if formatted {
			if data, err = format.Source(file, data); err != nil {
				t.Fatal(err)
			}
		}
		src := load.NewSource(file, data)
		src.SHA256 = [32]byte{}
		sources = append(sources, src)
	}
	set, err := load.NewSet(sources...)
	if err != nil {
		t.Fatal(err)
	}
	out, err := codegen.Generate(set, codegen.Options{ImportPath: "example.org/gen"})
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, f := range out {
		all = append(all, f.Data...)
	}
	return all
}

// FuzzSource: a result is stable, or there is none.
func FuzzSource(f *testing.F) {
	for _, pattern := range []string{"../../spec/*.yaml", "../load/testdata/*/*.yaml"} {
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
		once, err := format.Source("door.yaml", data)
		if err != nil {
			return
		}
		twice, err := format.Source("door.yaml", once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not stable (%v):\n%s\nthen:\n%s", err, once, twice)
		}
	})
}
