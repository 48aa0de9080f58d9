// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// Joint judges traces of endpoints that talked to each other, together: what one
// says that it heard, another has to have said, and what one gave back, no other may
// still use. Traces are of different clocks, so it compares no times: what came
// before what is known from the order of the lines of each trace and from the
// messages between them, and nothing else is judged. docs/traces.md has the rules.
//
// Unlike Check, it keeps what it compares: memory grows with the transfers. It is
// not for several goroutines at once.
type Joint struct {
	accounts []*account
	names    map[string]string // one copy of each name
}

// NewJoint returns one that knows of no trace.
func NewJoint() *Joint { return &Joint{names: map[string]string{}} }

// Add returns a source that gives the records of src, and takes them in on their way
// to Check. The trace's name is what findings call it. What Check refuses, or what an
// importer made of another engine's log, has no part in Judge.
func (j *Joint) Add(name string, src Source) Source {
	a := newAccount(j, name)
	j.accounts = append(j.accounts, a)
	return &listener{src, a}
}

// listener tells an account what passes.
type listener struct {
	Source
	account *account
}

func (l *listener) Next() (*Record, int, error) {
	r, line, err := l.Source.Next()
	if err == nil {
		l.account.take(r, line)
	} else {
		l.account.read(err)
	}
	return r, line, err
}

// one returns the copy that is kept of a name.
func (j *Joint) one(name string) string {
	if kept, ok := j.names[name]; ok {
		return kept
	}
	j.names[name] = name
	return name
}

// JointReport is what several traces say of each other. Its JSON is stable.
type JointReport struct {
	Schema int      `json:"schema"` // 1
	Files  []string `json:"files"`
	// Pairs counts the pairs of files of endpoints that had to do with each other;
	// Messages the messages of one that were found in the other, and Operations those
	// whose claim was.
	Pairs      int `json:"pairs"`
	Messages   int `json:"messages"`
	Operations int `json:"operations"`
	// Notified counts late proofs that no message brought: the backend's notification
	// of the operation's end did, at most one for each.
	Notified int `json:"notified,omitempty"`
	// Unknown counts what could not be found because the other trace stops before it.
	Unknown   int            `json:"unknown,omitempty"`
	NotJudged []string       `json:"not_judged,omitempty"`
	Findings  []JointFinding `json:"findings"`
	More      int            `json:"more_findings,omitempty"` // that were not kept
}

// JointFinding is one contradiction between two traces.
type JointFinding struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Other is the trace that says otherwise, and its line, 0 if what is missing there
	// has none.
	Other     string `json:"other"`
	OtherLine int    `json:"other_line,omitempty"`
	// Rule is an invariant of the contract; "sent": nobody sent what was heard;
	// "published": nobody published what was used.
	Rule string `json:"rule"`
	What string `json:"what"`
	Spec string `json:"spec"`
}

// JointRules are what a finding cites beside the sentences of Rules.
var JointRules = map[string]string{
	"sent":      "evidence is what the accessor said of this very claim",
	"published": "nobody touches memory whose address was not published to it",
}

// Found returns how many findings there are.
func (r *JointReport) Found() int { return len(r.Findings) + r.More }

func (r *JointReport) add(f JointFinding) {
	if f.Spec = Rules[f.Rule]; f.Spec == "" {
		f.Spec = JointRules[f.Rule]
	}
	if len(r.Findings) == maxFindings {
		r.More++
		return
	}
	r.Findings = append(r.Findings, f)
}

// Judge compares each trace with each other one.
func (j *Joint) Judge() *JointReport {
	r := &JointReport{Schema: 1, Findings: []JointFinding{}}
	var list []*account
	for _, a := range j.accounts {
		r.Files = append(r.Files, a.file)
		if why := a.unfit(list); why != "" {
			r.NotJudged = append(r.NotJudged, a.file+": "+why)
			continue
		}
		if a.unnamed {
			r.NotJudged = append(r.NotJudged, a.file+": it does not say which claims its own sends answer, so that these are not compared")
		}
		list = append(list, a)
	}
	for i, a := range list {
		for _, b := range list[:i] {
			before := r.Messages + r.Operations + r.Unknown + r.Found()
			newHearing(r, a, b).judge()
			newHearing(r, b, a).judge()
			if r.Messages+r.Operations+r.Unknown+r.Found() > before {
				r.Pairs++
			}
		}
	}
	if r.Pairs == 0 && len(list) > 1 {
		r.NotJudged = append(r.NotJudged, "no two of these traces are of lives that had to do with each other")
	}
	slices.SortStableFunc(r.Findings, func(a, b JointFinding) int {
		return cmp.Or(cmp.Compare(slices.Index(r.Files, a.File), slices.Index(r.Files, b.File)), cmp.Compare(a.Line, b.Line))
	})
	return r
}

// unfit says why an account cannot be compared, "" if it can.
func (a *account) unfit(others []*account) string {
	switch {
	case a.broken:
		return "it cannot be read to its end"
	case a.imported || len(a.lives) == 0:
		return "it is another engine's log, which has no steps"
	case a.lost:
		return "the writer lost steps"
	}
	for _, o := range others {
		if slices.ContainsFunc(a.lives, o.lived) {
			return fmt.Sprintf("it is of the same life as %s", o.file)
		}
	}
	return ""
}
