// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/fsm/expr"
)

// systemReader reads one system. Names come first, then types, then texts, as a
// text may name what stands further down.
type systemReader struct {
	*reader
	sys      *System
	lines    []string
	f        map[string]*yaml.Node
	scope    expr.Scope
	types    map[string]*expr.Type
	machines map[string]*expr.Machine
	owner    map[string]string // what has a name already
	pending  map[string]func() bool
	state    map[string]expr.Readiness // of the pending texts that were asked for
}

func readSystem(r *reader, h Head, top *yaml.Node) Spec {
	h.Kind = KindSystem
	s := &System{Head: h, ProcPos: map[*expr.Proc]Pos{}}
	sr := &systemReader{reader: r, sys: s, lines: strings.Split(string(h.Source.Data), "\n")}
	sr.f = r.fields(top, "system", "system!", "doc!", "scenario", "replicas", "machines", "tables", "enums", "constants", "horizon", "effects",
		"variables!", "define", "procedures", "environments", "initially", "actions!", "reactions", "invariants", "fair", "liveness", "survivors")
	s.Doc = r.text(sr.f["doc"], "doc")
	s.raw = sr
	return s
}

// resolve types everything, now that the machines are known.
func (s *System) resolve(set *Set, r *reader) {
	sr := s.raw
	s.raw = nil
	sr.reader = r
	sr.scope = expr.Scope{Vars: map[string]*expr.Var{}, Consts: map[string]*expr.Node{}, Defs: map[string]*expr.Def{},
		Procs: map[string]*expr.Proc{}, Sets: map[string]*expr.IndexSet{}, Effects: map[string][]*expr.Local{}, Tables: map[string]*expr.Table{}, Need: sr.need, Broken: map[string]bool{}}
	sr.types = map[string]*expr.Type{"bool": expr.BoolType, "result": expr.Results}
	sr.machines, sr.owner = map[string]*expr.Machine{}, map[string]string{}
	sr.pending, sr.state = map[string]func() bool{}, map[string]expr.Readiness{}
	for _, word := range []string{"bool", "result", "time", "true", "false", "old", "all", "any", "count", "has", "implies",
		"in", "min", "max", "would", "offer", "emit", "set"} {
		sr.owner[word] = "the language"
	}
	sr.readSets()
	sr.readConstants()
	sr.readMachines(set)
	sr.readTables(set)
	sr.readEnums()
	sr.readEnvironments()
	sr.readVariables()
	sr.readScenario()
	sr.readEffects()
	sr.declareTexts()
	sr.readActions()
	sr.readReactions()
	sr.readProperties()
	sr.readFairness()
	sr.readLiveness()
	sr.readSurvivors()
	sr.unused()
}

// take gives a name to one thing of the system.
func (sr *systemReader) take(n *yaml.Node, kind, name string) bool {
	if other, used := sr.owner[name]; used {
		sr.errorf(n, "%s: name %q is that of %s already", kind, name, other)
		return false
	}
	sr.owner[name] = kind + " " + name
	return true
}

func (sr *systemReader) readSets() {
	for _, e := range sr.optional("replicas") {
		name, ok := sr.name(e.key, "replicas", lowerName, "accessors")
		f := sr.fields(e.val, "replicas "+e.key.Value, "max!", "doc!")
		if !ok || !sr.take(e.key, "replicas", name) {
			sr.spoil(e.key.Value)
			continue
		}
		s := expr.NewIndexSet(name, sr.integer(f["max"], name+": max", 1, 64))
		s.Doc = sr.text(f["doc"], name+": doc")
		sr.sys.Sets = append(sr.sys.Sets, s)
		sr.scope.Sets[name] = s
		sr.types[name], sr.types["set["+name+"]"] = s.Elem, s.Sub
	}
}

// optional returns the entries of a key that may be left out.
func (sr *systemReader) optional(key string) []entry {
	if sr.f[key] == nil {
		return nil
	}
	return sr.mapping(sr.f[key], key)
}

func (sr *systemReader) readConstants() {
	if sr.f["horizon"] != nil {
		sr.sys.Horizon = sr.integer(sr.f["horizon"], "horizon", 1, 1000)
		t := expr.IntType(0, sr.sys.Horizon)
		t.Name, t.Time = "time", true
		sr.types["time"] = t
	}
	for _, e := range sr.optional("constants") {
		name, ok := sr.name(e.key, "constant", anyName, "grace")
		if ok && sr.take(e.key, "constant", name) {
			v := sr.integer(e.val, "constant "+name, -1<<24, 1<<24)
			sr.scope.Consts[name] = &expr.Node{Op: expr.Const, Type: expr.IntType(v, v), Val: v}
		}
	}
}

var anyName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$`)

func (sr *systemReader) readMachines(set *Set) {
	if sr.f["machines"] == nil {
		return
	}
	for _, n := range sr.list(sr.f["machines"], "machines") {
		name, ok := sr.name(n, "machine", lowerName, "claim")
		if !ok {
			continue
		}
		m, ok := set.Lookup(name).(*Machine)
		if !ok {
			sr.errorf(n, "machines: no machine %s among the specs read", name)
			sr.spoil(name)
			continue
		}
		if sr.machines[name] != nil {
			sr.errorf(n, "machines: %s is given twice", name)
			continue
		}
		if len(m.States) > 64 {
			sr.errorf(n, "machines: %s has %d states; a system can use machines of at most 64", name, len(m.States))
			sr.spoil(name)
			continue
		}
		em := exprMachine(m)
		sr.machines[name] = em
		sr.sys.Machines = append(sr.sys.Machines, m)
		sr.types[name], sr.types[name+".event"] = em.State, em.Event
	}
}

// exprMachine is the machine in the form that the expression language knows.
func exprMachine(m *Machine) *expr.Machine {
	em := &expr.Machine{Name: m.Name, Initial: m.Initial(),
		State: &expr.Type{Kind: expr.Enum, Name: m.Name, Tags: map[string]uint64{}},
		Event: &expr.Type{Kind: expr.Enum, Name: m.Name + ".event"}}
	for i, s := range m.States {
		em.State.Values = append(em.State.Values, s.Name)
		for _, tag := range s.Tags {
			em.State.Tags[tag] |= 1 << i
		}
		var to, result []int
		for _, c := range m.Cells[i] {
			to, result = append(to, c.To), append(result, int(c.Result)-1)
		}
		em.To, em.Result = append(em.To, to), append(em.Result, result)
	}
	for _, e := range m.Events {
		em.Event.Values = append(em.Event.Values, e.Name)
	}
	return em
}

func (sr *systemReader) readEnums() {
	for _, e := range sr.optional("enums") {
		name, ok := sr.name(e.key, "enum", typeName, "Cause")
		if !ok || !sr.take(e.key, "enum", name) {
			sr.spoil(e.key.Value)
			continue
		}
		t := &expr.Type{Kind: expr.Enum, Name: name}
		for _, n := range sr.list(e.val, "enum "+name) {
			v, ok := sr.name(n, "enum "+name, upperName, "TIMEOUT")
			if _, dup := t.Lookup(v); dup {
				sr.errorf(n, "enum %s: value %s is given twice", name, v)
			} else if ok {
				t.Values = append(t.Values, v)
			}
		}
		if len(t.Values) > 64 {
			sr.errorf(e.key, "enum %s has %d values; expected at most 64", name, len(t.Values))
		}
		sr.types[name] = t
		sr.sys.Enums = append(sr.sys.Enums, t)
	}
}

// readEnvironments makes each environment a name that expressions may ask for.
func (sr *systemReader) readEnvironments() {
	t := &expr.Type{Kind: expr.Enum, Name: "environment"}
	if sr.f["environments"] != nil {
		for _, n := range sr.list(sr.f["environments"], "environments") {
			name, ok := sr.name(n, "environment", lowerName, "strict")
			if _, dup := t.Lookup(name); ok && !dup {
				t.Values = append(t.Values, name)
			}
		}
	}
	sr.sys.Environments = t.Values
	if len(t.Values) > 0 && sr.owner["environment"] == "" {
		sr.owner["environment"] = "the environments"
		sr.scope.Vars["environment"] = &expr.Var{Name: "environment", Type: t, Hidden: true}
	}
}

var rangeType = regexp.MustCompile(`^(-?\w+)\.\.(\w+)$`)

// typeOf finds the type that a text names.
func (sr *systemReader) typeOf(n *yaml.Node, what, text string) *expr.Type {
	if t := sr.types[text]; t != nil {
		return t
	}
	if home, _, _ := strings.Cut(strings.TrimPrefix(text, "set["), "."); sr.scope.Broken[strings.TrimSuffix(home, "]")] {
		return nil
	}
	if m := rangeType.FindStringSubmatch(text); m != nil {
		lo, ok1 := sr.bound(m[1])
		hi, ok2 := sr.bound(m[2])
		if ok1 && ok2 && lo <= hi && hi-lo < 1<<24 {
			return expr.IntType(lo, hi)
		}
		sr.errorf(n, "%s: bad range %q; expected low..high, at most 16777216 numbers", what, text)
		return nil
	}
	if text == "time" {
		sr.errorf(n, "%s: type time needs a horizon", what)
		return nil
	}
	sr.errorf(n, "%s: unknown type %q; expected bool, low..high, time, an enum, a machine, replicas or set[replicas]", what, text)
	return nil
}

func (sr *systemReader) bound(s string) (int, bool) {
	if c := sr.scope.Consts[s]; c != nil {
		return c.Val, true
	}
	v, err := strconv.Atoi(s)
	return v, err == nil
}

var placeholder = regexp.MustCompile(`\{(\w*)\}`)

// template reads a text that may name parameters in braces; lines are kept.
// readScenario reads what a scenario of a run begins with. It may name the members, and
// the variables whose first value the run chooses.
func (sr *systemReader) readScenario() {
	known := []string{"members"}
	for _, v := range sr.sys.Vars {
		if v.InitAny && v.Over == nil {
			known = append(known, v.Name)
		}
	}
	sr.sys.Scenario = sr.template(sr.f["scenario"], "scenario", known)
}

// templateOf reads the step of an action: it may name the parameters, and the refusal.
func (sr *systemReader) templateOf(n *yaml.Node, what string, params []*expr.Local) string {
	known := []string{"refused"}
	for _, p := range params {
		known = append(known, p.Name)
	}
	return sr.template(n, what, known)
}

func (sr *systemReader) template(n *yaml.Node, what string, known []string) string {
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		sr.errorf(n, "%s: expected a text, found %s", what, describe(n))
		return ""
	}
	for _, m := range placeholder.FindAllStringSubmatch(n.Value, -1) {
		if !slices.Contains(known, m[1]) {
			sr.errorf(n, "%s: unknown parameter %s", what, m[0])
		}
	}
	return n.Value
}
