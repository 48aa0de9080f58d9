// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Kind says what a spec describes. The zero value is no kind.
type Kind uint8

// The kinds, each named by the first key of its files.
const (
	_ Kind = iota
	KindMachine
	KindTable
	KindSystem
)

var kindNames = [...]string{KindMachine: "machine", KindTable: "table", KindSystem: "system"}

// String returns the key that starts a spec of the kind.
func (k Kind) String() string {
	if k >= KindMachine && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "no kind"
}

// Head is what every spec has.
type Head struct {
	Kind   Kind
	Name   string // also the file's stem and the Go package's name
	Doc    string // what it is, in sentences
	Pos    Pos    // of the name
	Source *Source
}

// Spec is a *Machine, a *Table or a system: a closed sum.
type Spec interface {
	// Header returns what every spec has.
	Header() *Head
	// resolve settles what the spec says about others, once all are read.
	resolve(set *Set, r *reader)
}

// Header returns h itself; it makes every embedding type a Spec.
func (h *Head) Header() *Head { return h }

// Value is one named constant of an enum.
type Value struct {
	Name string // in the spec, such as IN_DOUBT
	Go   string // in Go, such as InDoubt
	Code int    // stable, 1 to 255
	Doc  string
	Pos  Pos
}

// Enum is a list of values with stable codes. In Go it is a uint8 type.
type Enum struct {
	Spec   string // name of the spec that defines it, hence its Go package
	Name   string // Go name of the type, such as State
	Doc    string
	Values []Value
}

// Lookup returns the index of the value with this name.
func (e *Enum) Lookup(name string) (int, bool) {
	for i := range e.Values {
		if e.Values[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// MaxCode is the largest code in use.
func (e *Enum) MaxCode() int {
	m := 0
	for _, v := range e.Values {
		m = max(m, v.Code)
	}
	return m
}

func (e *Enum) names() string {
	var names []string
	for _, v := range e.Values {
		names = append(names, v.Name)
	}
	return strings.Join(names, ", ")
}

// kindReaders finds the reader of a kind by the first key of a file.
var kindReaders = map[string]func(*reader, Head, *yaml.Node) Spec{
	"machine": readMachine,
	"table":   readTable,
	"system":  readSystem,
}

// readSpec reads one file as far as it can be read without the others. It
// returns nil when not even kind and name are known.
func readSpec(src *Source, errs *Errors) Spec {
	top := src.parse(errs)
	if top == nil {
		return nil
	}
	r := &reader{file: src.File, errs: errs}
	if !r.plain(top, 0) {
		return nil
	}
	if top.Kind != yaml.MappingNode || len(top.Content) == 0 {
		r.errorf(top, "expected machine:, table: or system: with a name, found %s", describe(top))
		return nil
	}
	first, name := top.Content[0], top.Content[1]
	read, known := kindReaders[first.Value]
	if !known {
		r.errorf(first, "first key is %q; expected machine:, table: or system: with a name", first.Value)
		return nil
	}
	h := Head{Pos: at(name), Source: src}
	var ok bool
	if h.Name, ok = r.name(name, first.Value, lowerName, "block_pin"); ok {
		if reservedPackage(h.Name) {
			r.errorf(name, "%s: name %q is reserved in Go", first.Value, h.Name)
		} else if h.Name != src.Stem() {
			r.errorf(name, "%s: name %q differs from the file's name %q", first.Value, h.Name, src.Stem())
		}
	}
	return read(r, h, top)
}

// readValue reads the parts that every value has: {code: 1, doc: ...}.
func (r *reader) readValue(e entry, kind string, f map[string]*yaml.Node) Value {
	return Value{
		Name: e.key.Value,
		Go:   GoName(e.key.Value),
		Code: r.integer(f["code"], kind+" "+e.key.Value+": code", 1, 255),
		Doc:  r.text(f["doc"], kind+" "+e.key.Value+": doc"),
		Pos:  at(e.key),
	}
}

// uniqueCodes refuses two values with one code. A code of 0 was noted before.
func (r *reader) uniqueCodes(kind string, values []Value) {
	seen := map[int]string{}
	for _, v := range values {
		if v.Code == 0 {
			continue
		}
		if other, dup := seen[v.Code]; dup {
			r.errs.Add(r.file, v.Pos, "%s %s has code %d, as has %s", kind, v.Name, v.Code, other)
			continue
		}
		seen[v.Code] = v.Name
	}
}
