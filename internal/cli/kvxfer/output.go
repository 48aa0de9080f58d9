// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// output is standard output. It keeps the first error, so that a full disk does
// not pass for success however deep in a table the line was printed. Events of
// both sides are printed from several goroutines; their lines do not mix.
type output struct {
	mu  sync.Mutex
	to  io.Writer // written under mu
	err error     // guarded by mu; the first one
}

// Write writes to what is behind it.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.to.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// unprinted returns the first error of writing to w, an *output.
func unprinted(w io.Writer) error {
	o, ok := w.(*output)
	if !ok {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// file returns the file that w is, or writes to.
func file(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*output); ok {
		w = o.to
	}
	f, ok := w.(*os.File)
	return f, ok
}

// isTerminal reports whether w is a terminal that can redraw a line.
func isTerminal(w io.Writer) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// width is the number of columns of the terminal w, or 0 when it is none.
func width(w io.Writer) int {
	f, ok := file(w)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// json writes one object as one line of standard output.
func (a *app) json(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", b)
	return err
}
