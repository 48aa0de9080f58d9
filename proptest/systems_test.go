// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/interpret"
	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/gen/admission"
	memberrules "github.com/kvxfer/kvxfer/gen/member"
	ranksrules "github.com/kvxfer/kvxfer/gen/ranks"
	"github.com/kvxfer/kvxfer/gen/receive"
	regionrules "github.com/kvxfer/kvxfer/gen/region"
	"github.com/kvxfer/kvxfer/gen/retirement"
	"github.com/kvxfer/kvxfer/gen/send"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
)

// specs are the specs of this repository, read once.
var specs = sync.OnceValues(func() (*load.Set, error) { return load.Dir("../spec") })

// started is a generated system and the values with which it started.
type started struct {
	ptr    any // to it
	err    error
	values map[string]string
}

// generated starts each generated system, with a number of members.
var generated = map[string]func(t *rapid.T, members int) started{
	"admission": func(t *rapid.T, _ int) started {
		scope, most := rapid.SampledFrom([]admission.Scope{1, 2, 3}).Draw(t, "scope"), rapid.IntRange(1, 3).Draw(t, "most")
		s, err := admission.New(scope, most, most, most)
		n := strconv.Itoa(most)
		return started{&s, err, map[string]string{"scope": scope.String(), "max_sessions": n, "max_owners": n, "max_tombstones": n}}
	},
	"member": func(t *rapid.T, _ int) started {
		side := rapid.SampledFrom([]memberrules.Side{1, 2}).Draw(t, "side")
		s, err := memberrules.New(side)
		return started{&s, err, map[string]string{"side": side.String()}}
	},
	"ranks": func(_ *rapid.T, n int) started {
		s, err := ranksrules.New(n)
		return started{&s, err, nil}
	},
	"receive": func(t *rapid.T, n int) started {
		need, local := rapid.IntRange(1, n).Draw(t, "need"), flip.Draw(t, "local")
		s, err := receive.New(n, need, local)
		return started{&s, err, map[string]string{"need": strconv.Itoa(need), "has_local": strconv.FormatBool(local)}}
	},
	"region": func(*rapid.T, int) started {
		s, err := regionrules.New()
		return started{&s, err, nil}
	},
	"retirement": func(t *rapid.T, _ int) started {
		timeout, grace := rapid.IntRange(1, 3).Draw(t, "timeout"), rapid.IntRange(1, 3).Draw(t, "grace")
		s, err := retirement.New(time.Duration(timeout), time.Duration(grace))
		return started{&s, err, map[string]string{"timeout": strconv.Itoa(timeout), "grace": strconv.Itoa(grace)}}
	},
	"send": func(t *rapid.T, n int) started {
		local := flip.Draw(t, "local")
		s, err := send.New(n, local)
		return started{&s, err, map[string]string{"has_local": strconv.FormatBool(local)}}
	},
	"session": func(*rapid.T, int) started {
		s, err := sessionrules.New()
		return started{&s, err, nil}
	},
}

// walkSystem makes any calls of a generated system, orderly or not, and of the
// interpreter of its spec: every answer, effect and variable must be the same.
func walkSystem(name string) func(*rapid.T) {
	return func(t *rapid.T) {
		set, err := specs()
		if err != nil {
			t.Fatal(err)
		}
		sys, members := set.Lookup(name).(*load.System), rapid.IntRange(1, 4).Draw(t, "members")
		s := generated[name](t, members)
		if s.err != nil {
			t.Fatal(s.err)
		}
		spec := interpret.New(sys, members)
		for variable, value := range s.values {
			if err := spec.Set(variable, 0, value); err != nil {
				t.Fatal(err)
			}
		}
		var actions []*load.Action
		for _, a := range sys.Actions {
			if !a.Environment {
				actions = append(actions, a)
			}
		}
		w := &systemWalk{t, reflect.ValueOf(s.ptr), sys, spec, members}
		which := rapid.SampledFrom(actions)
		t.Repeat(map[string]func(*rapid.T){
			"call": func(t *rapid.T) { w.call(t, which.Draw(t, "action")) },
			"":     func(*rapid.T) { w.compare() },
		})
	}
}

// systemWalk is a generated system beside its spec.
type systemWalk struct {
	t       *rapid.T
	code    reflect.Value
	sys     *load.System
	spec    *interpret.State
	members int
}

// call makes one call of both. What the spec has no answer for, as it assumes that
// nobody calls so, is not called.
func (w *systemWalk) call(t *rapid.T, a *load.Action) {
	m := w.code.MethodByName(load.GoName(a.Name))
	hidden := m.Type().NumIn()-1 < len(a.Params) // members that only the model has
	var words []string
	var in []reflect.Value
	for _, p := range a.Params {
		x := p.Type.Low() + rapid.IntRange(0, min(p.Type.Size(w.members), 16)-1).Draw(t, p.Name)
		words = append(words, p.Type.Format(x))
		if hidden && p.Type.Kind == expr.Index {
			continue
		}
		in = append(in, argument(m.Type().In(len(in)), p.Type, x))
	}
	next := w.spec.Clone()
	want, err := next.Call(a.Name, words...)
	if err != nil {
		return
	}
	w.spec = next
	in = append(in, reflect.Zero(m.Type().In(len(in))))
	out := m.Call(in)
	got, why := "", ""
	if err, _ := out[1].Interface().(error); err != nil {
		var refused *fsm.CallError
		if !errors.As(err, &refused) {
			t.Fatalf("%s%v: %v", a.Name, words, err)
		}
		got, why = refused.Kind.String(), refused.Reason
	}
	if got != want.Refused || why != want.Why {
		t.Fatalf("%s%v is refused as %q (%s), by the spec as %q (%s)", a.Name, words, got, why, want.Refused, want.Why)
	}
	if n := out[0].Len(); n != len(want.Effects) {
		t.Fatalf("%s%v has %d effects %v, by the spec %v", a.Name, words, n, out[0], want.Effects)
	}
	for i, e := range want.Effects {
		name, _, _ := strings.Cut(string(e), "(")
		if kind := out[0].Index(i).FieldByName("Kind").Interface(); kind.(interface{ String() string }).String() != name {
			t.Fatalf("%s%v: effect %d is %v, by the spec %v", a.Name, words, i, kind, e)
		}
	}
}

// argument makes a value of the spec one of the code.
func argument(code reflect.Type, t *expr.Type, x int) reflect.Value {
	v := reflect.New(code).Elem()
	switch t.Kind {
	case expr.Bool:
		v.SetBool(x != 0)
	case expr.Set:
		v.SetUint(uint64(x))
	case expr.Enum:
		for n := range uint64(256) {
			if v.SetUint(n); v.Interface().(interface{ String() string }).String() == t.Values[x] {
				break
			}
		}
	default:
		v.SetInt(int64(x))
	}
	return v
}

// compare compares every variable that the code has.
func (w *systemWalk) compare() {
	for _, v := range w.sys.Vars {
		if v.Hidden {
			continue
		}
		members, get := 1, w.code.MethodByName(load.GoName(v.Name))
		if v.Over != nil {
			members = w.members
		}
		for i := range members {
			var in []reflect.Value
			if v.Over != nil {
				in = append(in, reflect.ValueOf(i))
			}
			want, err := w.spec.Get(v.Name, i)
			if err != nil {
				w.t.Fatal(err)
			}
			if got := word(get.Call(in)[0]); got != want {
				w.t.Fatalf("%s of %d is %s, by the spec %s", v.Name, i, got, want)
			}
		}
	}
}

// word is a value as a spec writes it.
func word(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case bool:
		return strconv.FormatBool(x)
	case int:
		return strconv.Itoa(x)
	case time.Duration:
		return strconv.FormatInt(int64(x), 10)
	default:
		return x.(interface{ String() string }).String()
	}
}

func TestSystems(t *testing.T) {
	for name := range generated {
		t.Run(name, rapid.MakeCheck(walkSystem(name)))
	}
}

// What a walk is too short for: how much a session and a region hold.
func TestSystemsFull(t *testing.T) {
	s, _ := sessionrules.New()
	n := 0
	err := error(nil)
	for ; err == nil; n++ {
		_, err = s.Add(nil)
	}
	if !errors.Is(err, fsm.Capacity) || n != 1<<16 {
		t.Errorf("a session: %v after %d pieces", err, n)
	}
	r, _ := regionrules.New()
	n, err = 0, nil
	for ; err == nil; n++ {
		_, err = r.Take(regionrules.AccessRead, nil)
	}
	if !errors.Is(err, fsm.Capacity) || n != 1<<24 {
		t.Errorf("a region: %v after %d owners", err, n)
	}
}
