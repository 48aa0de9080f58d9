// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/gen/outcome"
)

// message waits in the outbox, as the trace says.
type message struct {
	number  uint64
	session string
	piece   string
	label   string
}

// queued judges a message that begins to wait (contract §8).
func (c *checker) queued(r *Record, line int) {
	say := func(rule, what string) {
		c.find(line, rule, r.Message+" for "+r.Accessor+" "+what, c.pieceNamed(r.Session, r.Piece))
	}
	if r.Number <= c.lastMessage {
		say("I13", fmt.Sprintf("has number %d, after %d", r.Number, c.lastMessage))
	}
	c.lastMessage = max(c.lastMessage, r.Number)
	s := c.owned[r.Session]
	switch {
	case s == nil:
	case r.Message == "CANCEL_SESSION" && s.outcome != outcome.Failed && s.outcome != outcome.Cancelled:
		say("step", "although session "+s.name+" is "+s.outcome.String())
	case r.Message == "SESSION_QUIESCED" && !s.settled:
		say("I1", "says that nothing is held, although session "+s.name+" is not settled")
	}
	c.resultInOrder(r, line)
	c.queues[r.Accessor] = append(c.queues[r.Accessor], message{r.Number, r.Session, r.Piece, r.Message})
}

// resultInOrder judges the order of the results of one claim among what waits: nothing
// follows FAILED_QUIESCED, and it never comes before its IN_DOUBT has.
func (c *checker) resultInOrder(r *Record, line int) {
	last := ""
	for _, m := range c.queues[r.Accessor] {
		if m.session == r.Session && m.piece == r.Piece && m.piece != "" {
			last = m.label
		}
	}
	if r.Piece != "" && (last == "FAILED_QUIESCED" || last == "IN_DOUBT" && r.Message != "FAILED_QUIESCED") {
		c.find(line, "I13", fmt.Sprintf("%s about %s for %s follows %s", r.Message, r.Piece, r.Accessor, last), c.pieceNamed(r.Session, r.Piece))
	}
}

func (c *checker) takenBack(r *Record) {
	c.queues[r.Accessor] = slices.DeleteFunc(c.queues[r.Accessor], func(m message) bool { return m.number == r.Number })
}

// delivered judges that a message leaves in its turn.
func (c *checker) delivered(r *Record, line int) {
	q := c.queues[r.Accessor]
	i := slices.IndexFunc(q, func(m message) bool { return m.number == r.Number })
	switch {
	case !c.steps:
	case i < 0:
		c.find(line, "I13", fmt.Sprintf("message %d for %s is delivered, and it does not wait", r.Number, r.Accessor), nil)
		return
	case i > 0:
		c.find(line, "I13", fmt.Sprintf("message %d (%s) for %s overtakes message %d (%s)", r.Number, q[i].label, r.Accessor, q[0].number, q[0].label), nil)
	}
	if i < 0 {
		return
	}
	q = slices.Delete(q, i, i+1)
	if len(q) == 0 {
		delete(c.queues, r.Accessor)
		return
	}
	c.queues[r.Accessor] = q
}
