// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Set is a complete group of specs: everything that one refers to is in it.
type Set struct {
	Specs []Spec // sorted by name
}

// Lookup returns the spec with this name, or nil.
func (s *Set) Lookup(name string) Spec {
	for _, sp := range s.Specs {
		if sp.Header().Name == name {
			return sp
		}
	}
	return nil
}

// NewSet reads and resolves the sources together. The error lists every mistake
// (see [Errors.Err]); a set is returned only without one.
func NewSet(sources ...*Source) (*Set, error) {
	var errs Errors
	set := &Set{}
	first := map[string]*Head{}
	for _, src := range sources {
		sp := readSpec(src, &errs)
		if sp == nil {
			continue
		}
		h := sp.Header()
		if other := first[h.Name]; other != nil {
			errs.Add(src.File, h.Pos, "name %q is that of %s already", h.Name, other.Source.File)
			continue
		}
		first[h.Name] = h
		set.Specs = append(set.Specs, sp)
	}
	slices.SortFunc(set.Specs, func(a, b Spec) int { return cmp.Compare(a.Header().Name, b.Header().Name) })
	// Systems come last: they use what machines and tables have become.
	for _, last := range []bool{false, true} {
		for _, sp := range set.Specs {
			if h := sp.Header(); (h.Kind == KindSystem) == last {
				sp.resolve(set, &reader{file: h.Source.File, errs: &errs})
			}
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return set, nil
}

// Bytes reads one spec that refers to no other. The file is its name in messages.
func Bytes(file string, data []byte) (Spec, error) {
	set, err := NewSet(NewSource(file, data))
	if err != nil {
		return nil, err
	}
	return set.Specs[0], nil
}

// FS reads every *.yaml file at the top of fsys as one set; prefix is put before
// the files' names in messages and headers, with a slash.
func FS(fsys fs.FS, prefix string) (*Set, error) {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("load: %s: no *.yaml file in it", cmp.Or(prefix, "."))
	}
	var sources []*Source
	for _, name := range names {
		data, err := readBounded(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		sources = append(sources, NewSource(joinSlash(prefix, name), data))
	}
	return NewSet(sources...)
}

// Dir reads every *.yaml file of a folder as one set.
func Dir(dir string) (*Set, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return FS(os.DirFS(dir), filepath.ToSlash(filepath.Clean(dir)))
}

// File reads one spec file. What it refers to is looked for beside it.
func File(file string) (*Set, error) {
	file = filepath.ToSlash(filepath.Clean(file))
	dir := path.Dir(file)
	fsys := os.DirFS(filepath.FromSlash(dir))
	data, err := readBounded(fsys, path.Base(file))
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	var errs Errors
	src := NewSource(file, data)
	sp := readSpec(src, &errs)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	set, err := NewSet(append([]*Source{src}, beside(fsys, dir, sp)...)...)
	if err != nil {
		return nil, err
	}
	return &Set{Specs: []Spec{set.Lookup(sp.Header().Name)}}, nil
}

// beside reads the specs that sp refers to, and those that they refer to. What is
// not there is left out: resolving says so at the place that needs it.
func beside(fsys fs.FS, dir string, sp Spec) []*Source {
	var out []*Source
	seen := map[string]bool{sp.Header().Name: true}
	for todo := needs(sp); len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if seen[name] {
			continue
		}
		seen[name] = true
		data, err := readBounded(fsys, name+".yaml")
		if err != nil {
			continue
		}
		src := NewSource(joinSlash(dir, name+".yaml"), data)
		out = append(out, src)
		var ignored Errors // NewSet reports them
		if other := readSpec(src, &ignored); other != nil {
			todo = append(todo, needs(other)...)
		}
	}
	return out
}

// needs lists the specs that one refers to.
func needs(sp Spec) []string {
	var names []string
	if s, ok := sp.(*System); ok && s.raw.f["machines"] != nil {
		for _, n := range s.raw.f["machines"].Content {
			if lowerName.MatchString(n.Value) {
				names = append(names, n.Value)
			}
		}
	}
	t, ok := sp.(*Table)
	if !ok {
		return names
	}
	for _, c := range slices.Concat(t.Inputs, t.Outputs) {
		if owner, _, other := strings.Cut(c.typeRef, "."); other && !slices.Contains(names, owner) && lowerName.MatchString(owner) {
			names = append(names, owner)
		}
	}
	return names
}

// readBounded reads one byte more than a spec may have, never a whole huge file.
func readBounded(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxBytes+1))
}

func joinSlash(prefix, name string) string {
	if prefix == "" || prefix == "." {
		return name
	}
	return strings.TrimSuffix(prefix, "/") + "/" + name
}
