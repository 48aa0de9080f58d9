// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxBytes bounds a spec file: a spec is written and read by people.
const MaxBytes = 1 << 20

// maxDepth bounds nesting; the language needs less than ten levels.
const maxDepth = 64

// Source is the text that a spec was read from.
type Source struct {
	File   string // as it appears in messages and in generated headers, with slashes
	Data   []byte
	SHA256 [sha256.Size]byte
}

// NewSource notes the text of a spec file.
func NewSource(file string, data []byte) *Source {
	return &Source{File: file, Data: data, SHA256: sha256.Sum256(data)}
}

// Stem is the file's name without folder and extension: the name the spec must have.
func (s *Source) Stem() string {
	return strings.TrimSuffix(path.Base(s.File), path.Ext(s.File))
}

// parse turns the text into the top node, or notes why it cannot.
func (s *Source) parse(errs *Errors) *yaml.Node {
	if doc := s.document(errs); doc != nil {
		return doc.Content[0]
	}
	return nil
}

// document turns the text into a document node, or notes why it cannot.
func (s *Source) document(errs *Errors) *yaml.Node {
	if len(s.Data) > MaxBytes {
		errs.Add(s.File, Pos{}, "file is too long; a spec has at most %d bytes", MaxBytes)
		return nil
	}
	if !s.checkText(errs) {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(s.Data))
	var doc, next yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			errs.Add(s.File, Pos{1, 1}, "file is empty; expected machine:, table: or system: with a name")
		} else {
			s.syntax(errs, err)
		}
		return nil
	}
	switch err := dec.Decode(&next); {
	case err == nil:
		errs.Add(s.File, Pos{next.Line, next.Column}, "a second YAML document; expected one spec a file")
		return nil
	case !errors.Is(err, io.EOF):
		s.syntax(errs, err)
		return nil
	}
	return &doc
}

// checkText refuses what YAML would report badly or not at all.
func (s *Source) checkText(errs *Errors) bool {
	ok := true
	for i, line := range bytes.Split(s.Data, []byte("\n")) {
		if !utf8.Valid(line) {
			col := 1
			for rest := line; ; col++ {
				r, n := utf8.DecodeRune(rest)
				if r == utf8.RuneError && n == 1 {
					break
				}
				rest = rest[n:]
			}
			errs.Add(s.File, Pos{i + 1, col}, "invalid UTF-8")
			ok = false
		}
		if at := bytes.IndexFunc(line, forbidden); at >= 0 {
			r, _ := utf8.DecodeRune(line[at:])
			errs.Add(s.File, Pos{i + 1, 1 + utf8.RuneCount(line[:at])}, "control character %U", r)
			ok = false
		}
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if t := bytes.IndexByte(indent, '\t'); t >= 0 && len(indent) < len(line) {
			errs.Add(s.File, Pos{i + 1, t + 1}, "tab in indentation; expected spaces")
			ok = false
		}
	}
	return ok
}

// forbidden are the characters that YAML does not allow anywhere.
func forbidden(r rune) bool {
	switch r {
	case '\t', '\r', 0x85:
		return false
	}
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff
}
