// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"bufio"
	"io"
	"os"
)

// pipes are the three pipes of a child, both ends of each.
type pipes struct{ inR, inW, outR, outW, errR, errW *os.File }

func newPipes() (*pipes, error) {
	p := &pipes{}
	for _, ends := range [][2]**os.File{{&p.inR, &p.inW}, {&p.outR, &p.outW}, {&p.errR, &p.errW}} {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, err
		}
		*ends[0], *ends[1] = r, w
	}
	return p, nil
}

// closeChildEnds leaves to the child what is the child's, so that its end is
// seen as the end of its output.
func (p *pipes) closeChildEnds() {
	for _, f := range []*os.File{p.inR, p.outW, p.errW} {
		_ = f.Close()
	}
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.inR, p.inW, p.outR, p.outW, p.errR, p.errW} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// relay passes on whole lines, so that two processes that share a terminal do
// not write into each other's lines.
type relay struct{ done chan struct{} }

func newRelay(from *os.File, to io.Writer) *relay {
	r := &relay{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer func() { _ = from.Close() }()
		in := bufio.NewReader(from)
		for {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 {
				_, _ = to.Write(line)
			}
			if err != nil {
				return
			}
		}
	}()
	return r
}

func (r *relay) wait() { <-r.done }
