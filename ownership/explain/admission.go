// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/ownership"
)

func admission(s *ownership.Snapshot) Admission {
	a := Admission{State: s.Admission.String(), Scope: s.Quarantine.String()}
	for _, d := range s.Doubted {
		a.Doubted = append(a.Doubted, string(d))
	}
	a.Text = a.State + ": " + a.words()
	return a
}

func (a *Admission) words() string {
	switch a.State {
	case ownership.AdmissionOpen.String():
		return "new sessions and pieces are taken in"
	case ownership.AdmissionQuarantined.String():
		return a.refused() + ", since a claim of " + strings.Join(a.Doubted, ", ") +
			" went into doubt; what was admitted goes on. A fence lifts it, or an operator who knows why it happened (reopen); proof alone does not"
	case ownership.AdmissionClosed.String():
		return "the endpoint was told to stop; the stop succeeds once everything is proven and every report has left"
	}
	return "a grace deadline passed without proof: nothing is taken in and nothing is given back any more; end or isolate the process"
}

// refused says what a quarantine refuses: all that is new, or what names an accessor
// that it remembers (contract §7).
func (a *Admission) refused() string {
	if a.Scope == ownership.QuarantineAccessor.String() && !slices.Contains(a.Doubted, string(ownership.Local)) {
		return "new pieces whose cohort names " + strings.Join(a.Doubted, " or ") + " are refused"
	}
	return "new sessions and pieces are refused"
}

func fatal(s *ownership.Snapshot) *Fatal {
	c := s.Containment
	if c == nil {
		return nil
	}
	f := &Fatal{Session: c.Session.String(), Deadline: c.Deadline, Noticed: c.Noticed, Retained: make([]string, 0, len(c.Retained))}
	for _, r := range c.Retained {
		f.Retained = append(f.Retained, r.String())
	}
	f.Text = fmt.Sprintf("session %s was not proven at its deadline, %s after the endpoint was made", f.Session, age(f.Deadline))
	if s.ContainErr != nil {
		f.ContainError = s.ContainErr.Error()
		f.Text += "; the containment callback failed: " + f.ContainError
	}
	return f
}
