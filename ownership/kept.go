// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "slices"

// keptRequest is a REQUEST_DATA for a session that was not admitted yet.
type keptRequest struct {
	session SessionName
	from    Member
}

// keptRequests keeps them by request until the attempt is admitted, tombstoned
// or below the watermark (contract §8).
type keptRequests struct {
	byRequest map[RequestID][]keptRequest
	n         int
	// How many there are of each accessor, and of each of its lives.
	byAccessor map[Accessor]int
	byMember   map[Member]int
}

func (k *keptRequests) init() {
	k.byRequest = make(map[RequestID][]keptRequest)
	k.byAccessor, k.byMember = make(map[Accessor]int), make(map[Member]int)
}

// add keeps a request unless it is kept already; it reports whether there was room,
// in all and in the accessor's share of it. Where there is none, what other lives of
// the accessor asked for is dropped: only one of them has a stream, and the others
// ask no more.
func (k *keptRequests) add(r keptRequest, room, share int) bool {
	if slices.Contains(k.byRequest[r.session.Request], r) {
		return true
	}
	a := r.from.Accessor
	full := func() bool { return k.n >= room || k.byAccessor[a] >= share }
	if full() && k.byAccessor[a] > k.byMember[r.from] {
		k.takeFrom(func(m Member) bool { return m.Accessor == a && m != r.from })
	}
	if full() {
		return false
	}
	k.byRequest[r.session.Request] = append(k.byRequest[r.session.Request], r)
	k.n++
	k.byAccessor[a]++
	k.byMember[r.from]++
	return true
}

// take removes and returns what matches, in the order of arrival.
func (k *keptRequests) take(id RequestID, match func(keptRequest) bool) []keptRequest {
	if k.n == 0 {
		return nil // nearly always: worth no search
	}
	list := k.byRequest[id]
	if len(list) == 0 {
		return nil
	}
	var out, rest []keptRequest
	for _, r := range list {
		if match(r) {
			out = append(out, r)
		} else {
			rest = append(rest, r)
		}
	}
	k.n -= len(out)
	for _, r := range out {
		countDown(k.byAccessor, r.from.Accessor)
		countDown(k.byMember, r.from)
	}
	if len(rest) == 0 {
		delete(k.byRequest, id)
	} else {
		k.byRequest[id] = rest
	}
	return out
}

// takeAttempt removes the requests for one attempt and returns who asked.
func (k *keptRequests) takeAttempt(name SessionName) []Member {
	var out []Member
	for _, r := range k.take(name.Request, func(r keptRequest) bool { return r.session == name }) {
		out = append(out, r.from)
	}
	return out
}

// takeBelow removes the requests of a creator below its watermark.
func (k *keptRequests) takeBelow(endpoint string, below uint64) []keptRequest {
	return k.takeAll(func(id RequestID) bool { return id.Endpoint == endpoint && id.Number < below }, func(keptRequest) bool { return true })
}

// takeFrom removes the requests of one accessor's lives.
func (k *keptRequests) takeFrom(match func(Member) bool) {
	k.takeAll(func(RequestID) bool { return true }, func(r keptRequest) bool { return match(r.from) })
}

// takeAll removes and returns what matches, in the order of the request ids.
func (k *keptRequests) takeAll(ids func(RequestID) bool, match func(keptRequest) bool) []keptRequest {
	var which []RequestID
	for id := range k.byRequest {
		if ids(id) {
			which = append(which, id)
		}
	}
	slices.SortFunc(which, compareRequests)
	var out []keptRequest
	for _, id := range which {
		out = append(out, k.take(id, match)...)
	}
	return out
}
