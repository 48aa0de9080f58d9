// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
)

// hearing judges what passes between an accessor, who posts operations and sends
// their results, and the owner of the memory, who hears them. Of the other direction
// between the same two traces there is another hearing.
type hearing struct {
	report          *JointReport
	accessor, owner *account
	taken           map[*sent]bool   // late proofs that were heard
	notified        map[*posted]bool // operations whose end was notified, as it must have been
}

func newHearing(r *JointReport, accessor, owner *account) *hearing {
	return &hearing{r, accessor, owner, map[*sent]bool{}, map[*posted]bool{}}
}

func (h *hearing) judge() {
	if h.accessor.unnamed {
		return
	}
	for _, life := range h.owner.lives {
		h.messages(life)
	}
	knowledge := h.knowledge()
	for _, name := range slices.SortedFunc(maps.Keys(h.accessor.operations), func(a, b claimName) int { return cmp.Compare(a.sequence, b.sequence) }) {
		if o := h.accessor.operations[name]; h.owner.lived(name.owner) {
			h.operation(name, o, knowledge)
		}
	}
}

// find reports a contradiction: the accessor's line, and the owner's.
func (h *hearing) find(rule string, ours, theirs int, format string, args ...any) {
	h.report.add(JointFinding{
		File: h.accessor.file, Line: ours, Other: h.owner.file, OtherLine: theirs, Rule: rule, What: fmt.Sprintf(format, args...),
	})
}

// misheard reports one at a line of the owner.
func (h *hearing) misheard(rule string, m *heard, said int, format string, args ...any) {
	h.report.add(JointFinding{
		File: h.owner.file, Line: m.line, Other: h.accessor.file, OtherLine: said, Rule: rule, What: m.String() + " " + fmt.Sprintf(format, args...),
	})
}

// String says what was heard.
func (m *heard) String() string {
	if m.about.piece == "" {
		return fmt.Sprintf("%s of %s for session %s", m.label, m.about.accessor, m.about.session)
	}
	return fmt.Sprintf("%s of %s for piece %s of session %s", m.label, m.about.accessor, m.about.piece, m.about.session)
}

// messages judges what the owner heard in one life. Results and acknowledgements of
// one stream after the other arrive in the order in which they were queued.
func (h *hearing) messages(life string) {
	said := h.accessor.sent[member{h.owner.endpoint, life}]
	next := 0 // of what was said
	var missing []*heard
	for _, m := range h.owner.heard[life] {
		if m.about.accessor != h.accessor.endpoint || !h.accessor.lived(m.life) {
			continue
		}
		about, known := h.subject(m, life)
		switch {
		case known:
		case m.about.piece == "":
			h.report.Messages++ // who has no part in a session may say so at any time
			continue
		default:
			missing = append(missing, m)
			continue
		}
		is := func(s *sent) bool { return s.label == m.label && s.about == about && s.session == m.about.session }
		if m.label == lateProof {
			if h.late(m, about, said, is) {
				missing = append(missing, m)
			}
			continue
		}
		i := slices.IndexFunc(said[next:], is)
		if i >= 0 {
			h.report.Messages++
			next += i + 1
			h.ok(m, said[next-1])
			h.unsaid(missing)
			missing = nil
			continue
		}
		if i = slices.IndexFunc(said[:next], is); i >= 0 {
			h.misheard("I13", m, said[i].line, "is heard again, or after what was queued later")
			continue
		}
		missing = append(missing, m)
	}
	if h.accessor.ended {
		h.unsaid(missing)
		return
	}
	h.report.Unknown += len(missing)
}

// lateProof is the one result that the owner may hear in two ways: by a message, and
// earlier or instead by the backend's notification of this very operation.
const lateProof = "FAILED_QUIESCED"

// late judges one, whose place in the order is thus not known. It reports whether
// nothing was found that it can be.
func (h *hearing) late(m *heard, about *posted, said []*sent, is func(*sent) bool) (missing bool) {
	first := slices.IndexFunc(said, is)
	for _, s := range said {
		if is(s) && !h.taken[s] {
			h.taken[s] = true
			h.report.Messages++
			return false
		}
	}
	switch {
	case about.granted > 0 && about.refused == 0 && !h.notified[about]:
		h.notified[about] = true
		h.report.Notified++
	case first >= 0:
		h.misheard("I13", m, said[first].line, "is heard again")
	default:
		return true
	}
	return false
}

// subject returns the operation that a message is about, and whether the accessor has
// a part in what it names.
func (h *hearing) subject(m *heard, life string) (*posted, bool) {
	if m.about.piece != "" {
		o := h.accessor.operations[m.about]
		return o, o != nil
	}
	return nil, h.accessor.parts[part{m.about.session, life}]
}

// unsaid reports what nobody said: where the accessor's trace goes on after it, or is whole.
func (h *hearing) unsaid(missing []*heard) {
	for _, m := range missing {
		h.misheard("sent", m, 0, "was never queued")
	}
}

// ok judges an OK that was heard: the very operation was done before it was said.
func (h *hearing) ok(m *heard, s *sent) {
	if m.label == "OK" && (s.about.done == 0 || s.about.done > s.line) {
		h.misheard("I4", m, s.line, "was queued although the operation was not done before")
	}
}

// known is what a line of the accessor comes after, of the owner's lines.
type known struct{ line, after int }

// knowledge lists, in the order of the accessor's lines, what came before them on the
// owner's side: a request comes after the first seal of its session, a cancel after its end.
func (h *hearing) knowledge() []known {
	var list []known
	latest := 0
	for _, e := range h.accessor.edges {
		if e.from.endpoint != h.owner.endpoint || !h.owner.lived(e.from.life) {
			continue
		}
		of := h.owner.sealed
		if e.kind == "CANCEL_SESSION" {
			of = h.owner.over
		}
		if at := of[e.name]; at > latest {
			latest = at
			list = append(list, known{e.line, at})
		}
	}
	return list
}

// before returns the latest of the owner's lines that comes before one of the
// accessor's; line 0: before its end.
func before(list []known, line int) int {
	i := len(list)
	if line > 0 {
		i = sort.Search(len(list), func(i int) bool { return list[i].line >= line })
	}
	if i == 0 {
		return 0
	}
	return list[i-1].after
}

// operation judges one operation against the claim that it stands on.
func (h *hearing) operation(name claimName, o *posted, knowledge []known) {
	c := h.owner.claims[name]
	if !h.owner.ended && (c == nil || c.shown == 0 && c.unexposed == 0) {
		h.report.Unknown++
		return
	}
	h.report.Operations++
	what := fmt.Sprintf("the operation for claim %d of %s, piece %s of session %s,", name.sequence, h.owner.endpoint, name.piece, name.session)
	switch {
	case c == nil:
		h.find("published", o.line, 0, "%s answers a claim that is not there", what)
	case c.shown == 0:
		h.find("published", o.line, cmp.Or(c.unexposed, c.line), "%s answers a claim that was never published", what)
	case c.unsent > 0:
		h.find("published", o.line, c.unsent, "%s answers a claim whose address never left, as its owner says", what)
	case o.granted == 0:
	case c.unexposed > 0:
		h.find("published", o.granted, c.unexposed, "%s is posted although its owner took the claim for one that nobody uses", what)
	case c.released == 0:
	case before(knowledge, o.granted) >= c.released:
		h.find("I1", o.granted, c.released, "%s is posted after the memory was released", what)
	case c.fenced+c.settled > 0: // the proof may be another one than the accessor's word
	case before(knowledge, o.ended) >= c.released:
		h.find("I1", o.granted, c.released, "%s had not ended when the memory was released", what)
	}
}
