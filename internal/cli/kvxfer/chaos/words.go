// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"strings"
	"sync"
)

// mostWords bounds what is kept of a node's standard error.
const mostWords = 64 << 10

// words is what a node has written to its standard error: of interest if it ends.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

// Write keeps the beginning.
func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p[:min(len(p), max(0, mostWords-w.text.Len()))])
	return len(p), nil
}

// aborted reports whether the C library has ended the process: UCX says which assertion
// failed or what it did not expect, and Go reports the signal.
func (w *words) aborted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.text.String()
	return strings.Contains(text, "SIGABRT: abort") && (strings.Contains(text, " Assertion `") || strings.Contains(text, " Fatal: "))
}

// first is the lines that say most.
func (w *words) first() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.SplitN(w.text.String(), "\n", 7)
	return strings.Join(lines[:min(len(lines), 6)], "; ")
}
