// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/codegen"
	"github.com/kvxfer/kvxfer/fsm/codegen/testdata/gen/asking"
	"github.com/kvxfer/kvxfer/fsm/codegen/testdata/gen/bench"
	"github.com/kvxfer/kvxfer/fsm/codegen/testdata/gen/two_phase"
	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

var updateSystems = flag.Bool("update-systems", false, "write testdata/gen anew")

// systemSet loads the systems of the tests with their machines.
func systemSet(t testing.TB) *load.Set {
	t.Helper()
	var sources []*load.Source
	for _, pattern := range []string{"testdata/system/*.yaml", "../check/testdata/bench/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %d files", pattern, err, len(names))
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, load.NewSource(filepath.Base(name), data))
		}
	}
	set, err := load.NewSet(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestSystemsAreCurrent: the packages in testdata/gen, which the tests run, are what
// the generator writes. After a wanted change: go test ./fsm/codegen -update-systems.
func TestSystemsAreCurrent(t *testing.T) {
	files, err := codegen.Generate(systemSet(t), codegen.Options{ImportPath: "github.com/kvxfer/kvxfer/fsm/codegen/testdata/gen"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join("testdata/gen", f.Path)
		if *updateSystems {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, f.Data) {
			t.Errorf("%s is stale: %v", path, err)
		}
	}
}

// generated is a generated system seen from outside, by reflection.
type generated struct {
	sys     *load.System
	members int
	start   map[string]int
	ptr     reflect.Value // *System
	effect  reflect.Type
}

// TestSystemsAgree: on random walks, generated code and the interpreter of the spec
// give the same refusals and the same values of every variable that the code knows.
func TestSystemsAgree(t *testing.T) {
	set := systemSet(t)
	rng := rand.New(rand.NewPCG(1, 2))
	walks := 300
	if underRace {
		walks = 40
	}
	for walk := range walks {
		n := 1 + walk%4
		b, err := bench.New(n)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, rng, &generated{sys: set.Lookup("bench").(*load.System), members: n, ptr: reflect.ValueOf(&b), effect: reflect.TypeFor[bench.Effect]()})
		a, err := asking.New(n)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, rng, &generated{sys: set.Lookup("asking").(*load.System), members: n, ptr: reflect.ValueOf(&a), effect: reflect.TypeFor[asking.Effect]()})
		quorum, deadline := 1+rng.IntN(n), 1+rng.IntN(4)
		p, err := two_phase.New(n, time.Duration(deadline), quorum)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, rng, &generated{sys: set.Lookup("two_phase").(*load.System), members: n, ptr: reflect.ValueOf(&p),
			effect: reflect.TypeFor[two_phase.Effect](), start: map[string]int{"quorum": quorum, "deadline": deadline}})
	}
}

func agree(t *testing.T, rng *rand.Rand, g *generated) {
	t.Helper()
	st, err := check.NewStepper(g.sys, g.members, g.start)
	if err != nil {
		t.Fatal(err)
	}
	var actions []*load.Action
	for _, a := range g.sys.Actions {
		if !a.Environment {
			actions = append(actions, a)
		}
	}
	for range 40 {
		a := actions[rng.IntN(len(actions))]
		args := make([]int, len(a.Params))
		for i, p := range a.Params {
			args[i] = p.Type.Low() + rng.IntN(p.Type.Size(g.members))
		}
		want, err := st.Do(a.Name, args...)
		if err != nil {
			t.Fatalf("%s%v: %v", a.Name, args, err)
		}
		if got := g.do(a, args); got != want {
			t.Fatalf("%s: %s%v is refused as %q in Go, %q in the spec", g.sys.Name, a.Name, args, got, want)
		}
		g.compare(t, st, a.Name)
	}
}

// do calls the method of an action, and returns the kind of the refusal.
func (g *generated) do(a *load.Action, args []int) string {
	m := g.ptr.MethodByName(load.GoName(a.Name))
	var in []reflect.Value
	for i, p := range a.Params {
		v := reflect.New(m.Type().In(i)).Elem()
		switch p.Type.Kind {
		case expr.Bool:
			v.SetBool(args[i] != 0)
		case expr.Enum:
			v.SetUint(uint64(codeOf(v.Type(), p.Type.Values[args[i]])))
		case expr.Set:
			v.SetUint(uint64(args[i]))
		default:
			v.SetInt(int64(args[i]))
		}
		in = append(in, v)
	}
	in = append(in, reflect.Zero(reflect.SliceOf(g.effect)))
	if err, _ := m.Call(in)[1].Interface().(error); err != nil {
		var call *fsm.CallError
		if !errors.As(err, &call) {
			return err.Error()
		}
		return call.Kind.String()
	}
	return ""
}

// codeOf finds the code of an enum's value by its name.
func codeOf(t reflect.Type, name string) uint8 {
	for code := range 256 {
		v := reflect.New(t).Elem()
		v.SetUint(uint64(code))
		if v.Interface().(interface{ String() string }).String() == name {
			return uint8(code)
		}
	}
	return 0
}

func (g *generated) compare(t *testing.T, st *check.Stepper, after string) {
	t.Helper()
	for _, v := range g.sys.Vars {
		if v.Hidden {
			continue
		}
		get := g.ptr.MethodByName(load.GoName(v.Name))
		members := 1
		if v.Over != nil {
			members = g.members
		}
		for i := range members {
			var in []reflect.Value
			if v.Over != nil {
				in = append(in, reflect.ValueOf(i))
			}
			got := text(get.Call(in)[0])
			if want := v.Type.Format(st.Get(v, i)); got != want {
				t.Fatalf("%s: after %s, %s of member %d is %s in Go, %s in the spec", g.sys.Name, after, v.Name, i, got, want)
			}
		}
	}
}

func text(v reflect.Value) string {
	if d, ok := v.Interface().(time.Duration); ok {
		return strconv.Itoa(int(d))
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return "true"
		}
		return "false"
	case reflect.Int:
		return strconv.Itoa(int(v.Int()))
	}
	return v.Interface().(interface{ String() string }).String()
}

// TestSystemArguments: what is out of range is refused, never a panic.
func TestSystemArguments(t *testing.T) {
	for _, n := range []int{-1, 0, 17} {
		if _, err := two_phase.New(n, 1, 1); !errors.Is(err, fsm.InvalidArgument) {
			t.Errorf("New with %d members: %v", n, err)
		}
	}
	if _, err := two_phase.New(2, 1, 3); !errors.Is(err, fsm.InvalidArgument) {
		t.Errorf("a quorum of 3 of 2 members: %v", err)
	}
	s, err := two_phase.New(16, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	before := s
	for _, p := range []int{-1, 16, 64, 1 << 40} {
		if _, err := s.TellOne(p, nil); !errors.Is(err, fsm.InvalidArgument) {
			t.Errorf("member %d: %v", p, err)
		}
	}
	if _, err := s.Remind(1<<16, nil); !errors.Is(err, fsm.InvalidArgument) {
		t.Error("a member outside of the set is accepted")
	}
	if s != before {
		t.Error("a refused call changed the state")
	}
}

// TestSystemAllocations: with room for the effects, no action allocates, refused or not.
func TestSystemAllocations(t *testing.T) {
	out := make([]two_phase.Effect, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		s, _ := two_phase.New(16, 4, 1)
		for p := range 16 {
			_, _ = s.Vote(p, true, 1, out)
		}
		_, _ = s.Vote(3, true, 1, out)
		_, _ = s.TellOne(0, out)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if size := unsafe.Sizeof(two_phase.System{}); size > 96 {
		t.Errorf("the state takes %d bytes", size)
	}
}

func BenchmarkSystemVote(b *testing.B) {
	start, err := two_phase.New(16, 4, 1)
	if err != nil {
		b.Fatal(err)
	}
	out := make([]two_phase.Effect, 0, 64)
	b.ReportAllocs()
	for i := range b.N {
		s := start
		_, _ = s.Vote(i&15, true, 1, out)
	}
}
