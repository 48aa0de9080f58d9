// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"bufio"
	"io"

	"github.com/kvxfer/kvxfer/trace"
)

// lines is a plain log as a trace. Only the line at hand is kept.
type lines struct {
	mapping   *Mapping
	in        *bufio.Scanner
	begun     bool
	n         int
	unmatched int
	ready     []*trace.Record
}

const maxLine = 1 << 20

func newScanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<16), maxLine)
	return s
}

// State implements trace.Source.
func (l *lines) State() (lines, truncated, unmatched int) { return l.n, 0, l.unmatched }

// Next implements trace.Source.
func (l *lines) Next() (*trace.Record, int, error) {
	if !l.begun {
		l.begun = true
		return l.mapping.header(), 0, nil
	}
	for len(l.ready) == 0 {
		if !l.in.Scan() {
			if err := l.in.Err(); err == bufio.ErrTooLong {
				return nil, 0, &trace.SyntaxError{Line: l.n + 1, What: "longer than 1 MiB"}
			} else if err != nil {
				return nil, 0, err
			}
			return nil, 0, io.EOF
		}
		l.n++
		l.match(l.in.Text())
	}
	r := l.ready[0]
	l.ready = l.ready[1:]
	return r, l.n, nil
}

func (l *lines) match(line string) {
	for i := range l.mapping.Rules {
		rule := &l.mapping.Rules[i]
		if groups := rule.Line.FindStringSubmatch(line); groups != nil {
			l.ready = rule.fill(0, func(name string) string { return groups[rule.Line.SubexpIndex(name)] })
			return
		}
	}
	l.unmatched++
}
