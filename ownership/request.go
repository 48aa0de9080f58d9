// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"slices"

	"github.com/kvxfer/kvxfer/gen/admission"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// request is what is known of a request id: its admitted attempts with their
// outcomes, and what was cancelled before it was admitted. It is kept until the
// watermark of its creator passes it (contract §5, §7).
type request struct {
	attempt       // the newest, where any was admitted
	more    *past // nil for most
}

// past is what few requests have.
type past struct {
	earlier   []attempt  // ascending
	tombstone *tombstone // nil: nothing was cancelled ahead
}

// attempt is one admitted attempt; session is nil once it is closed, and only
// then outcome, cause, origin and reason are those to read.
type attempt struct {
	session *session
	reason  *Cause // where that is its cause
	number  uint32
	side    Side
	outcome outcome.State
	cause   trigger.Cause
	origin  trigger.Origin
}

// why returns the cause of a closed attempt's outcome.
func (a *attempt) why() Cause {
	if a.reason != nil {
		return *a.reason
	}
	return causes[a.cause]
}

// tombstone cancels an attempt that was not admitted yet, and all later ones.
type tombstone struct {
	from   uint32
	origin Origin   // the first one
	by     Accessor // in whose share it is; empty for a cancel of our own
	// life of the request's creator, where it asked by itself: fencing it
	// retires the tombstone. Zero where somebody else asked.
	life Incarnation
}

// tombstone returns what was cancelled ahead, nil if nothing was.
func (r *request) tombstone() *tombstone {
	if r == nil || r.more == nil {
		return nil
	}
	return r.more.tombstone
}

func (r *request) covers(attempt uint32) bool {
	t := r.tombstone()
	return t != nil && attempt >= t.from
}

// further returns what few requests have, to be written.
func (r *request) further() *past {
	if r.more == nil {
		r.more = &past{}
	}
	return r.more
}

// find returns the record of an admitted attempt, nil if it was not.
func (r *request) find(number uint32) *attempt {
	switch {
	case r == nil || number == 0:
		return nil
	case r.number == number:
		return &r.attempt
	case r.more != nil:
		if i, found := r.more.place(number); found {
			return &r.more.earlier[i]
		}
	}
	return nil
}

func (h *past) place(number uint32) (int, bool) {
	return slices.BinarySearchFunc(h.earlier, number, func(a attempt, n uint32) int { return cmp.Compare(a.number, n) })
}

// newest returns the newest admitted attempt, 0 if there is none.
func (r *request) newest() uint32 {
	if r == nil {
		return 0
	}
	return r.number
}

// put records an admitted attempt, in place of a closed one of that number.
func (r *request) put(a attempt) {
	if known := r.find(a.number); known != nil {
		*known = a
		return
	}
	if a.number > r.number {
		a, r.attempt = r.attempt, a
	}
	if a.number > 0 {
		h := r.further()
		i, _ := h.place(a.number)
		h.earlier = slices.Insert(h.earlier, i, a)
	}
}

// attempts visits the admitted attempts, the newest first.
func (r *request) attempts(yield func(*attempt) bool) {
	if r == nil || r.number == 0 || !yield(&r.attempt) || r.more == nil {
		return
	}
	for i := len(r.more.earlier) - 1; i >= 0; i-- {
		if !yield(&r.more.earlier[i]) {
			return
		}
	}
}

// active returns an attempt that is ACTIVE, nil if there is none.
func (r *request) active() *session {
	for a := range r.attempts {
		if a.session != nil && a.session.outcome() == outcome.Active {
			return a.session
		}
	}
	return nil
}

// holds reports whether any attempt is still owned.
func (r *request) holds() bool {
	for a := range r.attempts {
		if a.session != nil {
			return true
		}
	}
	return false
}

// endpoint is what is known of a creator of requests. It is never dropped.
type endpoint struct {
	name      string
	watermark uint64 // ids below it are over for good
	ids       ascending
	requests  map[uint64]*request // by number: a key of half the size, and a faster one, than an id
}

// creator returns what is known of a creator of requests, nil if none was heard of.
func (c *core) creator(name string) *endpoint {
	if e := c.asked; e != nil && e.name == name {
		return e
	}
	e := c.endpoints[name]
	if e != nil {
		c.asked = e
	}
	return e
}

// knownRequest returns the record of a request, nil if there is none.
func (c *core) knownRequest(id RequestID) *request {
	if e := c.creator(id.Endpoint); e != nil {
		return e.requests[id.Number]
	}
	return nil
}

// records counts the records of all requests.
func (c *core) records() int {
	n := 0
	for _, e := range c.endpoints {
		n += len(e.requests)
	}
	return n
}

// passed reports whether the watermark is above the request.
func (c *core) passed(r RequestID) bool {
	e := c.creator(r.Endpoint)
	return e != nil && r.Number < e.watermark
}

// request returns the record of a request, a new one if there is none.
func (e *endpoint) request(number uint64) *request {
	if r := e.requests[number]; r != nil {
		return r
	}
	return e.newRequest(number)
}

func (e *endpoint) newRequest(number uint64) *request {
	r := &request{}
	e.requests[number] = r
	e.ids.push(number)
	return r
}

func (c *core) endpoint(name string) *endpoint {
	e := c.creator(name)
	if e == nil {
		e = &endpoint{name: name, requests: make(map[uint64]*request)}
		c.endpoints[name] = e
	}
	return e
}

// setWatermark retires what is below: tombstones, and the records of requests
// that hold nothing. Kept requests for data below it are answered.
func (c *core) setWatermark(name string, below uint64) error {
	if name == "" {
		return fail(KindInvalid, "watermark", "its endpoint is empty")
	}
	e := c.endpoints[name]
	out, err := c.admits.Watermark(below > 0 && (e == nil || below > e.watermark), c.admitting[:0])
	switch {
	case err != nil:
		return c.refusal(err, "watermark of "+name, "")
	case !askedFor(out, admission.RetireBelowEffect):
		return nil
	}
	e = c.endpoint(name)
	e.watermark = below
	for number, ok := e.ids.popBelow(below); ok; number, ok = e.ids.popBelow(below) {
		r := e.requests[number]
		c.dropTombstone(e, number, r)
		if r != nil && !r.holds() {
			delete(e.requests, number)
		}
	}
	for _, k := range c.kept.takeBelow(name, below) {
		c.answerRequest(k.session, k.from)
	}
	return nil
}

// dropTombstone retires the tombstone that a record has, and the record where that is
// all it held.
func (c *core) dropTombstone(e *endpoint, number uint64, r *request) {
	t := r.tombstone()
	if t == nil {
		return
	}
	r.more.tombstone = nil
	if t.by != "" {
		countDown(c.buried, t.by)
	}
	c.admits.DropTombstone(c.admitting[:0])
	if r.newest() == 0 {
		delete(e.requests, number)
	}
}

// retireTombstones drops the tombstones of a creator whose life was fenced.
func (c *core) retireTombstones(a Accessor, life Incarnation) {
	e := c.endpoints[string(a)]
	if e == nil {
		return
	}
	for number, r := range e.requests {
		if t := r.tombstone(); t != nil && (life.IsZero() || t.life.IsZero() || t.life == life) {
			c.dropTombstone(e, number, r)
		}
	}
}

// countDown takes one off a count, and forgets one that is 0.
func countDown[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}
