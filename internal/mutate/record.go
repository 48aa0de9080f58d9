// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// counter counts from 1.
type counter struct{ n atomic.Int64 }

func (c *counter) next() int { return int(c.n.Add(1)) }

// record keeps the verdicts in a file, a line each, so that a run that was stopped goes
// on where it was. What the package's functions are now is its first line: one that was
// changed has other mutants. That those of the others are killed still is taken for
// granted, as it is of those whose test was changed: a run from the start says.
type record struct {
	mu   sync.Mutex
	file *os.File
	done map[string]verdict
}

type recordLine struct {
	Functions map[string]string `json:"functions,omitempty"` // hashes
	Mutant    string            `json:"mutant,omitempty"`
	verdict
}

// openRecord reads the verdicts that still count: those of killed mutants, in functions
// that are what they were.
func openRecord(name string, functions map[string]string) (*record, error) {
	r := &record{done: map[string]verdict{}}
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(old))
	for were := map[string]string(nil); lines.Scan(); {
		var l recordLine
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			break // the end of a run that was stopped
		}
		if l.Functions != nil {
			were = l.Functions
		}
		function, _, _ := strings.Cut(l.Mutant, ": ")
		if hash := functions[function]; hash != "" && hash == were[function] && l.Killed {
			r.done[l.Mutant] = l.verdict
		}
	}
	if r.file, err = os.Create(name); err != nil {
		return nil, err
	}
	if err := r.write(recordLine{Functions: functions}); err != nil {
		return nil, err
	}
	for key, v := range r.done {
		if err := r.write(recordLine{Mutant: key, verdict: v}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *record) write(l recordLine) error {
	line, err := json.Marshal(l)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	return err
}

func (r *record) add(m *mutant, v verdict) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[m.key()] = v
	return r.write(recordLine{Mutant: m.key(), verdict: v})
}

// hashes of the functions, and of the variables of each file, by file and name.
func (s *source) hashes() (map[string]string, error) {
	texts := map[string][]byte{}
	for i, tree := range s.trees {
		name := filepath.Join(s.dir, s.files[i])
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for _, d := range tree.Decls {
			of := (&finder{stack: []ast.Node{d}}).function()
			texts[name+" "+of] = append(texts[name+" "+of], text[s.fset.Position(d.Pos()).Offset:s.fset.Position(d.End()).Offset]...)
		}
	}
	functions := map[string]string{}
	for name, text := range texts {
		hash := sha256.Sum256(text)
		functions[name] = hex.EncodeToString(hash[:])
	}
	return functions, nil
}

// equivalentText lists the mutants that no test can tell from the original, each with
// the reason.
//
//go:embed equivalent.txt
var equivalentText string

// parseEquivalent reads the list: a reason, and below it, indented, the keys of the
// mutants that it stands for.
func parseEquivalent(text string) (map[string]string, error) {
	reasons, reason := map[string]string{}, ""
	for i, line := range strings.Split(text, "\n") {
		switch key, mutant := strings.CutPrefix(line, "\t"); {
		case line == "" || strings.HasPrefix(line, "#"):
		case !mutant:
			reason = line
		case reason == "" || reasons[key] != "":
			return nil, fmt.Errorf("mutate: equivalent.txt:%d: %s is below no reason, or was listed before", i+1, key)
		default:
			reasons[key] = reason
		}
	}
	return reasons, nil
}
