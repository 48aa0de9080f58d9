// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"fmt"
	"go/format"
	"go/token"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// systemGen writes the Go form of one system: a value with the whole decision state,
// and one method an action. What the outside world does and knows is left out.
type systemGen struct {
	sys        *load.System
	opt        Options
	imports    map[string]bool
	lane       map[int]bool // widths of lanes in use
	helpers    map[string]*expr.Var
	sets       map[*expr.IndexSet]bool
	masks      map[*expr.Def]bool
	maskList   []*expr.Def
	broadcasts bool
	sums       bool        // of times
	flags      []*expr.Var // kept as bits of one number
	errors     []string    // declarations of static errors
	answers    map[string]answer
	err        error
	b          bytes.Buffer
}

func (g *systemGen) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

func (g *systemGen) p(format string, args ...any) { fmt.Fprintf(&g.b, format+"\n", args...) }

// doc writes a comment.
func (g *systemGen) doc(format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), 96) {
		g.p("// %s", line)
	}
}

func goKeyword(name string) bool { return token.IsKeyword(name) }

func sortedTags(t *expr.Type) []string {
	var tags []string
	for tag := range t.Tags {
		tags = append(tags, tag)
	}
	sort.Strings(tags)
	return tags
}

// generateSystem renders the package of a system.
func generateSystem(sys *load.System, opt Options) ([]File, error) {
	g := &systemGen{sys: sys, opt: opt, imports: map[string]bool{}, lane: map[int]bool{}, helpers: map[string]*expr.Var{},
		sets: map[*expr.IndexSet]bool{}, masks: map[*expr.Def]bool{}, answers: map[string]answer{}}
	if err := g.names(); err != nil {
		return nil, err
	}
	g.packFlags()
	g.enums()
	g.effects()
	g.state()
	g.constructor()
	g.getters()
	g.definitions()
	for _, a := range sys.Actions {
		if !a.Environment {
			g.action(a)
		}
	}
	g.procedures()
	g.reactions()
	for i := 0; i < len(g.maskList); i++ {
		g.maskMethod(g.maskList[i])
	}
	g.machineHelpers()
	g.setHelpers()
	g.laneTypes()
	if g.err != nil {
		return nil, g.err
	}
	body := g.b.Bytes()
	g.b = bytes.Buffer{}
	g.header()
	src, err := format.Source(append(g.b.Bytes(), body...))
	if err != nil {
		return nil, fmt.Errorf("generated source does not parse (a bug in fsmgen): %w", err)
	}
	return []File{{Path: path.Join(sys.Name, sys.Name+".gen.go"), Data: src}}, nil
}

// names refuses what would be the same in Go.
func (g *systemGen) names() error {
	taken := map[string]string{"New": "the constructor", "System": "the system", "Effect": "the effects", "Kind": "the effects", "String": "the language"}
	take := func(kind, name string) error {
		goName := load.GoName(name)
		if other, used := taken[goName]; used {
			return fmt.Errorf("%s %s has the Go name %s, as has %s", kind, name, goName, other)
		}
		taken[goName] = kind + " " + name
		return nil
	}
	var err error
	try := func(kind, name string) {
		if e := take(kind, name); e != nil && err == nil {
			err = e
		}
	}
	for _, t := range g.sys.Enums {
		for _, own := range []string{"System", "Effect", "Kind", "New", "SpecSHA256"} {
			if t.Name == own && err == nil {
				err = fmt.Errorf("enum %s has the name of a type of the generated code", t.Name)
			}
		}
	}
	for _, v := range g.visible() {
		try("variable", v.Name)
	}
	for _, d := range g.published() {
		try("definition", d.Name)
	}
	for _, a := range g.sys.Actions {
		if !a.Environment {
			try("action", a.Name)
		}
	}
	return err
}

// visible lists the variables that the system itself knows.
func (g *systemGen) visible() []*expr.Var {
	return slices.DeleteFunc(slices.Clone(g.sys.Vars), func(v *expr.Var) bool { return v.Hidden })
}

// published lists the definitions that can be asked without knowing the outside world
// or the state before.
func (g *systemGen) published() []*expr.Def {
	return slices.DeleteFunc(slices.Clone(g.sys.Defs), func(d *expr.Def) bool { return d.Hidden || d.UsesOld })
}

func (g *systemGen) header() {
	h := g.sys.Head
	g.p("%s", Marker(g.opt.specName(h.Source.File)))
	g.p("// spec sha256 %x; format %d\n", h.Source.SHA256, Format)
	g.doc("Package %s is the system %s. %s", h.Name, h.Name, h.Doc)
	g.p("//")
	g.doc("A System is a value that holds the whole decision state: it starts no goroutine, reads no clock, " +
		"takes no lock and does no I/O. Each action is one method. It appends what its caller has to do to a slice " +
		"of the caller's, and allocates nothing if that slice has room. A refused call changes nothing, unless its " +
		"doc says so. Members of a set are numbered from 0: an action refuses any other number as an argument; " +
		"what only reads must be given one of a member.")
	g.p("package %s\n", h.Name)
	var std, own []string
	for p := range g.imports {
		if strings.Contains(strings.Split(p, "/")[0], ".") {
			own = append(own, p)
		} else {
			std = append(std, p)
		}
	}
	sort.Strings(std)
	sort.Strings(own)
	g.p("import (")
	for _, p := range std {
		g.p("%q", p)
	}
	if len(std) > 0 && len(own) > 0 {
		g.p("")
	}
	for _, p := range own {
		g.p("%q", p)
	}
	g.p(")\n")
	g.doc("SpecSHA256 is the hash of the spec file that this package was generated from.")
	g.p("const SpecSHA256 = \"%x\"\n", h.Source.SHA256)
}

// enums writes the enums of the system itself, as far as it knows their values.
func (g *systemGen) enums() {
	for _, t := range g.sys.Enums {
		if !g.knows(t) {
			continue
		}
		g.doc("%s is an enum of the system. The zero value is not valid; the codes are stable.", t.Name)
		g.p("type %s uint8\n\n// The values of %s.\nconst (", t.Name, t.Name)
		for i, v := range t.Values {
			g.p("%s%s %s = %d", t.Name, load.GoName(v), t.Name, i+1)
		}
		g.p(")\n\nvar %sNames = [...]string{\"\", %s}\n", lowerFirst(t.Name), quoted(t.Values))
		g.p("// IsValid reports whether v is one of the values above.")
		g.p("func (v %s) IsValid() bool { return v > 0 && int(v) < len(%sNames) }\n", t.Name, lowerFirst(t.Name))
		g.p("// String returns the name in the spec, or %s(n) for a value that is not valid.", t.Name)
		g.p("func (v %s) String() string {\nif v.IsValid() {\nreturn %sNames[v]\n}\nreturn \"%s(\" + %s.Itoa(int(v)) + \")\"\n}\n",
			t.Name, lowerFirst(t.Name), t.Name, g.pkg("strconv"))
	}
}

// knows reports whether a value of t is anywhere but in the outside world.
func (g *systemGen) knows(t *expr.Type) bool {
	for _, v := range g.visible() {
		if v.Type == t {
			return true
		}
	}
	used := func(params []*expr.Local) bool {
		return slices.ContainsFunc(params, func(l *expr.Local) bool { return l.Type == t })
	}
	return slices.ContainsFunc(g.sys.Actions, func(a *load.Action) bool { return !a.Environment && used(a.Params) }) ||
		slices.ContainsFunc(g.published(), func(d *expr.Def) bool { return d.Body.Type == t || used(d.Params) }) ||
		slices.ContainsFunc(g.sys.Effects, func(e *load.EffectType) bool { return used(e.Params) }) ||
		slices.ContainsFunc(g.procs(), func(p *expr.Proc) bool { return used(p.Params) })
}

func quoted(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return strings.Join(out, ", ")
}
