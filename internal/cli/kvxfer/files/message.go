// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Op says who moves the bytes of a chunk.
type Op string

// The two ways: the side that has the file writes into memory of the side that
// gets it, or that one reads.
const (
	Write Op = "write"
	Read  Op = "read"
)

// message is what one side asks of the other: the label of a request for data.
// The data is the answer: for a chunk its bytes and their digest, for anything
// else a note.
type message struct {
	Do string `json:"do"` // one of the constants below
	// File is its name at the side that is not ours to say where it is.
	File    string `json:"file"`
	Shape          // of everything but get
	Op      Op     `json:"op,omitempty"`      // put
	Replace bool   `json:"replace,omitempty"` // put
	Index   int64  `json:"index,omitempty"`   // chunk, lend
	Have    int64  `json:"have,omitempty"`    // chunk, lend: bytes that are there
	Digest  string `json:"digest,omitempty"`  // same
	Resumed int64  `json:"resumed,omitempty"` // done: bytes that were there before
	Error   string `json:"error,omitempty"`   // done
}

const (
	doPut    = "put"    // take this file; the answer says whether
	doGet    = "get"    // what is this file? The answer has its shape
	doDigest = "digest" // what is the digest of this file?
	doSame   = "same"   // this is its digest: answer only if it is yours
	doChunk  = "chunk"  // write this chunk
	doLend   = "lend"   // let me read this chunk
	doLent   = "lent"   // a request of direction READ: this is the chunk
	doDone   = "done"   // the file that you put is in place, or never will be
)

// note is the answer to a message.
type note struct {
	Error string `json:"error,omitempty"`
	Shape
	// Digest is the answer to digest.
	Digest string `json:"digest,omitempty"`
	// Wait says that there is no answer yet: ask again.
	Wait bool `json:"wait,omitempty"`
}

// Sizes of a slot: a chunk and its digest, or a note.
const noteSize = 4 << 10

func (m message) label() (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a label has little room
	err := e.Encode(m)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// parse reads a label. What a peer may not say is an error.
func parse(label string) (m message, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(label)))
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("files: a label that is no message: %w", err)
	}
	if err = CheckName(m.File); err != nil {
		return m, err
	}
	if m.Do == doGet {
		return m, nil
	}
	if err = m.check(); err == nil && (m.Index < 0 || m.Index >= max(1, m.chunks())) {
		err = fmt.Errorf("files: chunk %d of %d", m.Index, m.chunks())
	}
	return m, err
}

// put writes a note into memory of its size.
func (n note) put(into []byte) error {
	b, err := json.Marshal(n)
	if err == nil && len(b) > len(into) {
		err = errors.New("files: a note that is too long")
	}
	if err != nil {
		return err
	}
	clear(into[copy(into, b):])
	return nil
}

// noteOf reads a note.
func noteOf(from []byte) (n note, err error) {
	err = json.Unmarshal(bytes.TrimRight(from, "\x00"), &n)
	return n, err
}

func failed(err error) note {
	const room = noteSize / 4 // JSON may take six bytes for one
	text := err.Error()
	return note{Error: text[:min(len(text), room)]}
}
