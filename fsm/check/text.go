// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"time"
)

// Summary is the line that says how much was explored.
func (r *Result) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d replicas", r.System, r.Replicas)
	if r.Environment != "" {
		fmt.Fprintf(&b, ", %s", r.Environment)
	}
	if r.Symmetry {
		b.WriteString(", symmetry")
	}
	fmt.Fprintf(&b, ": %d states, %d transitions, depth %d, %s states/s, %s, %s",
		r.States, r.Edges, r.Depth, Rate(r.States, r.Elapsed), Size(r.Bytes), r.Elapsed.Round(10*time.Microsecond))
	if !r.Complete {
		fmt.Fprintf(&b, "; explored %d states, stopped at %s (%s): not proved", r.States, Size(r.Bytes), r.Stopped)
	}
	return b.String()
}

// String is the verdict in one line, with the run that shows it below.
func (f *Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %s: %s", f.Verdict, f.Name, f.Doc)
	if f.Why != "" {
		fmt.Fprintf(&b, " (%s)", f.Why)
	}
	if f.Verdict == Violated && f.Expected() {
		b.WriteString(" (as the spec says)")
	} else if f.Verdict == Proved && !f.Expected() {
		b.WriteString(" (the spec says that it does not hold)")
	}
	return b.String()
}

// Rate is a number a second, in a form that people read.
func Rate(n int, d time.Duration) string {
	v := float64(n) / max(d.Seconds(), 1e-9)
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.1fM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.0fk", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

// Size is a number of bytes, in a form that people read.
func Size(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}
