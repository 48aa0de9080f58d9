// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

// outbox holds the messages that wait, one ordered queue a peer (contract §8).
// What leaves, leaves from the front; a failed send changes nothing.
type outbox struct {
	queues  map[Accessor]*queue
	waiting int
	share   int    // of one accessor
	shared  int    // of waiting, those that are in their accessor's share
	number  uint64 // of the last message
	// quiesced finds the SESSION_QUIESCED that wait.
	quiesced map[quiescedKey]*node
}

// quiescedKey names the peer's life too: what waits for one that is over is no
// answer to the next.
type quiescedKey struct {
	session SessionName
	to      Accessor
	life    Incarnation
}

// queue is a doubly linked list: a message may be taken back from the middle.
type queue struct {
	first, last *node
	n           int
}

type node struct {
	out        Outgoing
	side       Side // of the session that queued it
	prev, next *node
}

func (b *outbox) init(share int) {
	b.share = share
	b.queues = make(map[Accessor]*queue)
	b.quiesced = make(map[quiescedKey]*node)
}

func (b *outbox) put(to *Member, side Side, m Message) *node {
	b.number++
	b.waiting++
	q := b.queues[to.Accessor]
	if q == nil {
		q = &queue{}
		b.queues[to.Accessor] = q
	}
	if q.n++; q.n <= b.share {
		b.shared++
	}
	n := &node{out: Outgoing{b.number, *to, m}, side: side, prev: q.last}
	if q.last == nil {
		q.first = n
	} else {
		q.last.next = n
	}
	q.last = n
	if _, ok := m.(*SessionQuiesced); ok {
		b.quiesced[quiescedKey{m.Session(), to.Accessor, to.Incarnation}] = n
	}
	return n
}

func (b *outbox) remove(n *node) {
	a := n.out.To.Accessor
	q := b.queues[a]
	if n.prev == nil {
		q.first = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		q.last = n.prev
	} else {
		n.next.prev = n.prev
	}
	if q.n <= b.share {
		b.shared--
	}
	if q.n--; q.n == 0 {
		delete(b.queues, a)
	}
	b.waiting--
	if _, ok := n.out.Message.(*SessionQuiesced); ok {
		delete(b.quiesced, quiescedKey{n.out.Message.Session(), a, n.out.To.Incarnation})
	}
}

// full reports whether an accessor's share is: nothing is taken in that would have to be
// told to it. What was taken in before is queued all the same, and takes no room of others.
func (b *outbox) full(a Accessor) bool {
	q := b.queues[a]
	return q != nil && q.n >= b.share
}

// noAnswer reports whether there is no room to answer a request or cancel. One answer is
// enough for as long as it waits.
func (b *outbox) noAnswer(session SessionName, to Member) bool {
	_, waits := b.quiesced[quiescedKey{session, to.Accessor, to.Incarnation}]
	return !waits && b.full(to.Accessor)
}

// head returns the oldest message for a peer, nil if none waits.
func (b *outbox) head(to Accessor) *node {
	if q := b.queues[to]; q != nil {
		return q.first
	}
	return nil
}

// queue puts a message into the outbox.
func (c *core) queue(to Member, side Side, m Message) {
	n := c.outbox.put(&to, side, m)
	c.log.messageQueued(c.now, n.out)
}

// unqueue takes a message out unsent.
func (c *core) unqueue(n *node) {
	c.outbox.remove(n)
	c.log.add(&TakenBack{c.log.stamp(c.now), n.out})
}

// discard takes out what waits for a life of an accessor in sessions of a side
// that a fence reached.
func (c *core) discard(a Accessor, life Incarnation, scope Scope) {
	for n := c.outbox.head(a); n != nil; {
		next := n.next
		if scope.reaches(n.side) && (life.IsZero() || n.out.To.Incarnation == life) {
			c.unqueue(n)
		}
		n = next
	}
}
