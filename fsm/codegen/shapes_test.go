// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/codegen"
	"github.com/kvxfer/kvxfer/fsm/export"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// randomMachine writes a spec with so many states and events, with codes spread
// over all bytes, and cells drawn by a fixed sequence.
func randomMachine(name string, states, events int) string {
	random := rand.New(rand.NewPCG(uint64(states), uint64(events)))
	var b strings.Builder
	fmt.Fprintf(&b, "machine: %s\ndoc: drawn by a test\nstates:\n", name)
	for s := range states {
		tags := "t0, t1, t2" // the first has all, so that every predicate is there
		if s > 0 {
			tags = fmt.Sprintf("t%d", s%3)
		}
		fmt.Fprintf(&b, "  S%d: {code: %d, initial: %v, tags: [%s], doc: d}\n", s, spread(s, states), s == states/2, tags)
	}
	b.WriteString("events:\n")
	for e := range events {
		fmt.Fprintf(&b, "  e%d: {code: %d, doc: d}\n", e, spread(e, events))
	}
	b.WriteString("cells:\n")
	for s := range states {
		fmt.Fprintf(&b, "  S%d:\n", s)
		for e := range events {
			to := random.IntN(states + 4)
			switch {
			case to < states && to != s:
				fmt.Fprintf(&b, "    e%d: S%d\n", e, to)
			case to == states:
				fmt.Fprintf(&b, "    e%d: {reject: \"no: %d\"}\n", e, e)
			case to == states+1:
				fmt.Fprintf(&b, "    e%d: conflict\n", e)
			case to == states+2:
				fmt.Fprintf(&b, "    e%d: ignore\n", e)
			default:
				fmt.Fprintf(&b, "    e%d: duplicate\n", e)
			}
		}
	}
	return b.String()
}

// spread gives the i-th of n codes between 1 and 255, the last one 255.
func spread(i, n int) int {
	if n == 1 {
		return 7
	}
	return 1 + i*254/(n-1)
}

// oracle is a test that the generated package gets: every cell as its spec says,
// through JSON, which shares nothing with the generated table.
const oracle = `package NAME

import (
	_ "embed"
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

//go:embed spec.json
var spec []byte

func TestEveryCell(t *testing.T) {
	var m struct {
		States []struct { Name string; Code int; Initial bool; Tags []string }
		Events []struct { Name string; Code int }
		Cells []struct { State, Event, Result, Next, Reason string }
	}
	if err := json.Unmarshal(spec, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Cells) != len(AllStates())*len(AllEvents()) {
		t.Fatalf("%d cells", len(m.Cells))
	}
	for _, s := range m.States {
		v := State(s.Code)
		if v.String() != s.Name || !v.IsValid() || (v == Initial) != s.Initial {
			t.Errorf("state %s: %v", s.Name, v)
		}
		has := func(tag string) bool { return slices.Contains(s.Tags, tag) }
		if v.T0() != has("t0") || v.T1() != has("t1") || v.T2() != has("t2") {
			t.Errorf("%v: tags %v", v, s.Tags)
		}
	}
	for _, c := range m.Cells {
		var s, want State
		var e Event
		if err := errors.Join(s.UnmarshalText([]byte(c.State)), want.UnmarshalText([]byte(c.Next)), e.UnmarshalText([]byte(c.Event))); err != nil {
			t.Fatal(err)
		}
		got, res := Next(s, e)
		if got != want || res.String() != c.Result {
			t.Errorf("%v %v: got %v %v, want %v %s", s, e, got, res, want, c.Result)
		}
		var re *RefusedError
		if err := Refusal(s, e); (err != nil) != res.Refused() || err != nil && (!errors.As(err, &re) || re.Reason != c.Reason || re.State != c.State) {
			t.Errorf("%v %v: refusal %v", s, e, err)
		}
		shared, err := Restore(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, res := shared.Offer(e); got != want || res.String() != c.Result || shared.State() != want {
			t.Errorf("%v %v: shared machine: %v %v", s, e, got, res)
		}
	}
	for s := range 256 {
		for e := range 256 {
			if State(s).IsValid() && Event(e).IsValid() {
				continue
			}
			if got, res := Next(State(s), Event(e)); got != State(s) || res != ResultRejected || Refusal(State(s), Event(e)) == nil {
				t.Fatalf("%d %d: got %v %v", s, e, got, res)
			}
		}
	}
	if new(Machine).State() != Initial || new(MutexMachine).State() != Initial {
		t.Error("the zero Machine is not new")
	}
	// All forms walk the same way.
	plain, shared, locked := Initial, new(Machine), new(MutexMachine)
	for i := range 2000 {
		e := AllEvents()[i*i%len(AllEvents())]
		s1, r1 := plain.Offer(e)
		s2, r2 := shared.Offer(e)
		s3, r3 := locked.Offer(e)
		if s1 != s2 || s2 != s3 || r1 != r2 || r2 != r3 || plain != shared.State() || plain != locked.State() {
			t.Fatalf("%v: plain %v %v, shared %v %v, locked %v %v", e, s1, r1, s2, r2, s3, r3)
		}
	}
}
`

// TestShapes builds packages of machines of many shapes in a module of their own,
// and runs the oracle in each.
func TestShapes(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("builds packages, in another program; make explore runs it")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/shapes\n\ngo 1.26\n")
	var sources []*load.Source
	for _, shape := range [][2]int{{1, 1}, {7, 8}, {64, 3}, {2, 255}, {255, 2}} {
		name := fmt.Sprintf("m%dx%d", shape[0], shape[1])
		sources = append(sources, load.NewSource("spec/"+name+".yaml", []byte(randomMachine(name, shape[0], shape[1]))))
	}
	set, err := load.NewSet(sources...)
	if err != nil {
		t.Fatal(err)
	}
	files, err := codegen.Generate(set, codegen.Options{ImportPath: "example.org/shapes", Standalone: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		write(f.Path, string(f.Data))
	}
	for _, sp := range set.Specs {
		name := sp.Header().Name
		data, err := export.JSON(sp)
		if err != nil {
			t.Fatal(err)
		}
		write(name+"/spec.json", string(data))
		write(name+"/oracle_test.go", strings.ReplaceAll(oracle, "NAME", name))
	}
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
