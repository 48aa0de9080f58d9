// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"fmt"
	"time"
)

// Row is one phase of both halves beside each other, for tables and pictures.
type Row struct {
	Phase              Phase
	TodayAt, OwnedAt   string // time since the post
	TodayText, OwnText string
}

// Rows puts the halves of a pair side by side. Times count from the post: what
// came before it took as long as starting a process takes.
func (p Pair) Rows() []Row {
	var rows []Row
	for _, phase := range Phases {
		r := Row{Phase: phase}
		r.TodayAt, r.TodayText = p.Today.at(phase)
		r.OwnedAt, r.OwnText = p.Owned.at(phase)
		if r.TodayText != "" || r.OwnText != "" {
			rows = append(rows, r)
		}
	}
	return rows
}

func (h *Half) at(phase Phase) (at, text string) {
	var post time.Duration
	for _, s := range h.Steps {
		if s.Phase == Posted {
			post = s.At
		}
	}
	for _, s := range h.Steps {
		if s.Phase == phase {
			return milliseconds(s.At - post), s.Text
		}
	}
	return "", ""
}

// milliseconds writes a signed time with one decimal: -0.7, +153.2.
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%+.1f ms", float64(d.Microseconds())/1000)
}

// Grouped writes a number with commas between groups of three digits.
func Grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
