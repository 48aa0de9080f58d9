// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// SyntaxError says which line is no line of a trace, and why.
type SyntaxError struct {
	Line int
	What string
}

// Error names the line.
func (e *SyntaxError) Error() string { return fmt.Sprintf("trace: line %d: %s", e.Line, e.What) }

// maxLine bounds a line: a step with 64 accessors in each of many pieces fits.
const maxLine = 16 << 20

// Reader reads a trace line by line. A last line without its end that cannot be
// read was cut off: it is skipped and said, as after a crash.
type Reader struct {
	in        *bufio.Reader
	lines     int
	truncated int
	buf       []byte
}

// NewReader returns a reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(r, 1<<18)} }

// State implements Source.
func (r *Reader) State() (lines, truncated, unmatched int) { return r.lines, r.truncated, 0 }

// Next implements Source.
func (r *Reader) Next() (*Record, int, error) {
	for {
		line, whole, err := r.line()
		if err != nil {
			return nil, 0, err
		}
		r.lines++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var rec Record
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err = d.Decode(&rec); err == nil {
			if d.More() {
				err = fmt.Errorf("more than one value")
			}
		}
		switch {
		case err == nil:
			return &rec, r.lines, nil
		case !whole:
			r.truncated = r.lines
			return nil, 0, io.EOF
		}
		return nil, 0, &SyntaxError{r.lines, err.Error()}
	}
}

// line returns the next line, and whether its end was there.
func (r *Reader) line() ([]byte, bool, error) {
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		switch {
		case err == nil:
			return r.buf, true, nil
		case err == bufio.ErrBufferFull:
			if len(r.buf) > maxLine {
				return nil, false, &SyntaxError{r.lines + 1, "longer than 16 MiB"}
			}
		case err == io.EOF && len(r.buf) > 0:
			return r.buf, false, nil
		default:
			return nil, false, err
		}
	}
}
