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
// on where it was. What the package's source is now is its first line: another source
// has other mutants.
type record struct {
	mu   sync.Mutex
	file *os.File
	done map[string]verdict
}

type recordLine struct {
	Source string `json:"source,omitempty"`
	Mutant string `json:"mutant,omitempty"`
	verdict
}

// openRecord reads the verdicts that still count: those of killed mutants.
func openRecord(name, print string) (*record, error) {
	r := &record{done: map[string]verdict{}}
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(old))
	for same := false; lines.Scan(); {
		var l recordLine
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			break // the end of a run that was stopped
		}
		if l.Source != "" {
			same = l.Source == print
		} else if same && l.Killed {
			r.done[l.Mutant] = l.verdict
		}
	}
	if r.file, err = os.Create(name); err != nil {
		return nil, err
	}
	if err := r.write(recordLine{Source: print}); err != nil {
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

// print is a hash of the sources of a package.
func (s *source) print() (string, error) {
	h := sha256.New()
	for _, name := range s.files {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
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
