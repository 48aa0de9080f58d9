// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	_ "embed"

	"github.com/kvxfer/kvxfer/internal/overlay"
)

//go:embed switch.go.txt
var switchText string

// source is a package as its files say, with the types of all expressions.
type source struct {
	dir   string // from the root of the module
	files []string
	fset  *token.FileSet
	trees []*ast.File
	types *types.Package
	info  *types.Info
}

// load reads and checks a package; go list compiles what it imports.
func load(dir string) (*source, error) {
	out, err := goTool("list", "-export", "-deps", "-json=ImportPath,Export,GoFiles,DepOnly", "./"+dir)
	if err != nil {
		return nil, err
	}
	s := &source{dir: dir, fset: token.NewFileSet(), info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	exports, path := map[string]string{}, ""
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Export string
			GoFiles            []string
			DepOnly            bool
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			path, s.files = p.ImportPath, p.GoFiles
		}
	}
	for _, name := range s.files {
		tree, err := parser.ParseFile(s.fset, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.trees = append(s.trees, tree)
	}
	conf := types.Config{Importer: importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	s.types, err = conf.Check(path, s.fset, s.trees, s.info)
	return s, err
}

// mutate writes the package with a switch for each of its mutants into a folder, and an
// overlay for the Go tool that puts those files in the place of the package's.
func (s *source) mutate(folder string) ([]*mutant, string, error) {
	var mutants []*mutant
	replaced := overlay.New(folder)
	ids, seen := 0, map[string]int{}
	for i, tree := range s.trees {
		text, err := os.ReadFile(filepath.Join(s.dir, s.files[i]))
		if err != nil {
			return nil, "", err
		}
		f := &finder{pkg: s, file: tree, text: text, name: filepath.Join(s.dir, s.files[i]), next: func() int { ids++; return ids }, seen: seen}
		f.find()
		mutants = append(mutants, f.mutants...)
		if err := replaced.Put(f.name, apply(text, f.edits)); err != nil {
			return nil, "", err
		}
	}
	if err := replaced.Put(filepath.Join(s.dir, "mutant.go"), []byte(strings.Replace(switchText, "PACKAGE", s.types.Name(), 1))); err != nil {
		return nil, "", err
	}
	file, err := replaced.Write()
	return mutants, file, err
}

// goTool runs the Go tool and returns what it prints.
func goTool(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("mutate: go %s: %w\n%s", strings.Join(args, " "), err, complaint.String())
	}
	return out, nil
}
