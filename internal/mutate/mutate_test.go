// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const subject = `package subject

import (
	"slices"
	"time"
)

type Color uint8

const (
	Red Color = iota + 1
	Green
	Blue
)

type pair struct{ a, b int }

var first = Red

func Clamp(n, low, high int) int {
	if n < low {
		return low
	}
	if n > high {
		n = high
	}
	return n
}

func Sum(list []int) (sum int) {
	list = slices.Grow(list, 8)
	for _, n := range list {
		sum += n
	}
	return sum
}

func Both(a, b bool) bool { return a && !b }

func Spin(n int) int {
	for n > 0 {
		n--
	}
	return n
}

func Paint(c Color) (out Color) {
	switch c {
	case Red, Blue:
		out = Green
	default:
		return first
	}
	return out
}

func Unused(d time.Duration) time.Duration {
	defer func() { _ = recover() }()
	return d*2 + time.Second
}
`

const subjectTest = `package subject

import "testing"

func TestClamp(t *testing.T) {
	for _, tc := range [][4]int{{1, 2, 5, 2}, {3, 2, 5, 3}, {7, 2, 5, 5}} {
		if got := Clamp(tc[0], tc[1], tc[2]); got != tc[3] {
			t.Fatal(got)
		}
	}
}

func TestSum(t *testing.T) {
	if Sum([]int{1, 2}) != 3 {
		t.Fatal()
	}
}

func TestSpin(t *testing.T) {
	if Spin(3) != 0 {
		t.Fatal()
	}
}

func ExampleBoth() {
	println(Both(true, false)) // no output to compare: it is only compiled
}

func TestPaint(t *testing.T) {
	if Paint(Red) != Green || Paint(Green) != Red || Paint(Blue) != Green {
		t.Fatal()
	}
}
`

// inSubject goes to a module of its own that holds the package.
func inSubject(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module subject\n\ngo 1.26\n", "p/p.go": subject, "p/p_test.go": subjectTest} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
}

// wantMutants are those of the subject: whether its tests kill each.
var wantMutants = map[string]bool{
	"var: Red => Green": true,

	"Clamp: n < low => n >= low":   true,
	"Clamp: n < low => n <= low":   false, // the same number
	"Clamp: remove return low":     true,
	"Clamp: n > high => n <= high": true,
	"Clamp: n > high => n >= high": false, // the same number
	"Clamp: remove n = high":       true,

	"Sum: remove sum += n":                    true,
	"Sum: remove list = slices.Grow(list, 8)": false, // capacity is not tested

	"Both: a && !b => a || !b": false, // no test calls it
	"Both: a => !(a)":          false,
	"Both: !b => !(!b)":        false,

	"Spin: n > 0 => n <= 0": true,
	"Spin: n > 0 => n >= 0": true,
	"Spin: 0 => 0 + 1":      true,
	"Spin: n-- => n++":      true, // till it overflows, or the processor time is up
	"Spin: remove n--":      true, // for ever: the processor time is up

	"Paint: Red => Green":                             true,
	"Paint: Blue => Red":                              true,
	"Paint: remove out = Green":                       true,
	"Paint: Green => Blue":                            true,
	"Paint: remove return first":                      true,
	"Unused: d*2 => d / 2":                            false,
	"Unused: d*2 + time.Second => d*2 - time.Second":  false,
	"Unused: remove defer func() { _ = recover() }()": false,
}

// TestMutants: the mutants of a package are those that are wanted, no more, and the tests
// kill those that they can.
func TestMutants(t *testing.T) {
	inSubject(t)
	src, err := load("p")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	mutants, overlay, err := src.mutate(folder)
	if err != nil {
		t.Fatal(err)
	}
	o := options{pkg: "p", parallel: 2, most: time.Hour}
	tests, err := o.measure([]string{"p"}, overlay, folder, len(mutants))
	if err != nil {
		t.Fatal(err)
	}
	functions, err := src.hashes()
	if err != nil {
		t.Fatal(err)
	}
	rec, err := openRecord(filepath.Join(folder, "verdicts"), functions)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.judge(context.Background(), tests, mutants, rec); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for key, v := range rec.done {
		got[strings.TrimPrefix(key, "p/p.go ")] = v.Killed
		if v.Killed && v.Reached == 0 {
			t.Errorf("%s is killed, and no test comes to it", key)
		}
	}
	if !maps.Equal(got, wantMutants) {
		for _, key := range slices.Sorted(maps.Keys(got)) {
			if want, listed := wantMutants[key]; want != got[key] || !listed {
				t.Errorf("%s: killed is %v, listed %v", key, got[key], listed)
			}
		}
		for key := range wantMutants {
			if _, made := got[key]; !made {
				t.Errorf("%s is not made", key)
			}
		}
	}
	again, err := openRecord(filepath.Join(folder, "verdicts"), functions)
	if err != nil {
		t.Fatal(err)
	}
	for key, v := range rec.done {
		if _, kept := again.done[key]; kept != v.Killed {
			t.Errorf("%s: kept for another run is %v, killed %v", key, kept, v.Killed)
		}
	}
	for name := range functions {
		functions[name] += "x"
	}
	if other, err := openRecord(filepath.Join(folder, "verdicts"), functions); err != nil || len(other.done) != 0 {
		t.Errorf("verdicts of other functions are kept: %v, %v", other.done, err)
	}
}

func TestEquivalents(t *testing.T) {
	got, err := parseEquivalent("# about\nthe same\n\tp/p.go F: a\n\tp/p.go F: b\nother\n\tp/p.go F: c #2\n")
	want := map[string]string{"p/p.go F: a": "the same", "p/p.go F: b": "the same", "p/p.go F: c #2": "other"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"\tno reason\n", "twice\n\ta\n\ta\n"} {
		if _, err := parseEquivalent(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	mutants := []*mutant{{File: "p/p.go", Func: "F", What: "a"}, {File: "p/p.go", Func: "F", What: "b"}}
	if err := stale(want, mutants, "p"); err == nil || !strings.Contains(err.Error(), "F: c #2") || strings.Contains(err.Error(), "F: a") {
		t.Errorf("error is %v", err)
	}
	if err := stale(want, nil, "q"); err != nil {
		t.Error(err)
	}
}

func TestShards(t *testing.T) {
	var all []*mutant
	for i := range 10 {
		all = append(all, &mutant{ID: i + 1, What: fmt.Sprint(i)})
	}
	seen := map[int]int{}
	for i := range 3 {
		part, err := (&options{shard: fmt.Sprintf("%d/3", i+1)}).choose(all)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range part {
			seen[m.ID]++
		}
	}
	for _, m := range all {
		if seen[m.ID] != 1 {
			t.Errorf("mutant %d is in %d shards", m.ID, seen[m.ID])
		}
	}
	for _, bad := range []string{"", "0/3", "4/3", "x"} {
		if _, err := (&options{shard: bad}).choose(all); err == nil {
			t.Errorf("-shard %q is taken", bad)
		}
	}
}

func TestReport(t *testing.T) {
	mutants := []*mutant{{ID: 1, File: "p/p.go", What: "a"}, {ID: 2, File: "p/p.go", What: "b"}, {ID: 3, File: "p/q.go", What: "c"}}
	rec := &record{done: map[string]verdict{mutants[0].key(): {Killed: true}, mutants[1].key(): {}}}
	o := options{pkg: "p", least: 95}
	if err := report(o, mutants, rec, nil); err == nil || !strings.Contains(err.Error(), "50.0 %") {
		t.Errorf("error is %v", err) // the third was not judged
	}
	if err := report(o, mutants, rec, map[string]string{mutants[1].key(): "why"}); err != nil {
		t.Error(err)
	}
}
