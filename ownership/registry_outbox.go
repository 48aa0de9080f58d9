// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "slices"

// Peek returns the oldest message that waits for an accessor, whatever its
// life, and whether there is one. It stays until Delivered. To says which life
// it is for; a caller whose stream leads to another life does not send it.
func (r *Registry) Peek(to Accessor) (Outgoing, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.core.outbox.head(to); n != nil {
		return n.out, true
	}
	return Outgoing{}, false
}

// Delivered takes the oldest message for an accessor out, if its number is
// still the given one, and reports whether it was: the stream has it. A message
// whose send failed stays, in its place.
func (r *Registry) Delivered(to Accessor, number uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.core.outbox.head(to)
	if n == nil || n.out.Number != number {
		return false
	}
	r.core.left(n)
	if t := r.core.tracing(CallDelivered); t != nil {
		t.From, t.Number = n.out.To, number
		r.core.traceEnd(nil, nil)
	}
	r.core.outbox.remove(n)
	return true
}

// Waiting returns all messages that wait for an accessor, the oldest first.
func (r *Registry) Waiting(to Accessor) []Outgoing {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Outgoing
	for n := r.core.outbox.head(to); n != nil; n = n.next {
		out = append(out, n.out)
	}
	return out
}

// WaitingFor returns the accessors for whom messages wait, sorted.
func (r *Registry) WaitingFor() []Accessor {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Accessor, 0, len(r.core.outbox.queues))
	for a := range r.core.outbox.queues {
		list = append(list, a)
	}
	slices.Sort(list)
	return list
}

// Pending returns how many messages wait.
func (r *Registry) Pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.outbox.waiting
}
