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
}

func (k *keptRequests) init() { k.byRequest = make(map[RequestID][]keptRequest) }

// add keeps a request unless it is kept already; it reports whether there was room.
func (k *keptRequests) add(r keptRequest, room int) bool {
	list := k.byRequest[r.session.Request]
	if slices.Contains(list, r) {
		return true
	}
	if k.n >= room {
		return false
	}
	k.byRequest[r.session.Request] = append(list, r)
	k.n++
	return true
}

// take removes and returns what matches, in the order of arrival.
func (k *keptRequests) take(id RequestID, match func(keptRequest) bool) []keptRequest {
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
