// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

func decode(segment []byte) ([]statement, error) {
	d, err := newDecoder(segment)
	if err != nil {
		return nil, err
	}
	var list []statement
	for s, ok := d.next(); ok; s, ok = d.next() {
		list = append(list, s)
	}
	return list, d.err()
}

func encode(list []statement) []byte {
	b := []byte{segmentVersion}
	var before statement
	for _, s := range list {
		b = appendStatement(b, s, before)
		before = s
	}
	return b
}

func about(endpoint string, number uint64, attempt uint32) ownership.SessionName {
	return ownership.SessionName{Request: ownership.RequestID{Endpoint: endpoint, Number: number}, Attempt: attempt}
}

// FuzzSegment: whatever a store has, a segment is read or refused, and what was
// read is written the same again.
func FuzzSegment(f *testing.F) {
	f.Add(encode([]statement{
		{about("router", 7, 1), 12, State{outcome.Cancelled, true}, true},
		{about("router", 5, 2), 12, State{outcome.Failed, false}, false},
		{about("other", 1<<64-1, 1<<32-1), 1 << 60, State{outcome.Succeeded, true}, true},
	}))
	f.Add([]byte{segmentVersion})
	f.Add([]byte{segmentVersion, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, segment []byte) {
		list, err := decode(segment)
		if err != nil {
			return
		}
		again, err := decode(encode(list))
		if err != nil || !slices.Equal(again, list) {
			t.Errorf("%v became %v, %v", list, again, err)
		}
	})
}

// FuzzApply: no key and no value of a store breaks a view.
func FuzzApply(f *testing.F) {
	name := ownership.Incarnation{1}
	k := keys{"/p/g/"}
	for _, key := range []string{k.alive(0), k.alive(99), k.fence(name), k.member(1, name), k.member(-1, name), k.progress(0), k.segment(1, name, 1), "/p/g/", "/x"} {
		f.Add(key, []byte(name.String()), false)
		f.Add(key, []byte("12 "+name.String()), true)
	}
	f.Fuzz(func(t *testing.T, key string, value []byte, deleted bool) {
		v := newView(2, k)
		v.ownNames[name] = true
		for i, e := range []Event{
			{Entry: Entry{Key: k.member(0, name)}}, {Entry: Entry{Key: k.member(1, ownership.Incarnation{2})}},
			{Entry{Key: key, Value: value}, deleted}, {Entry{Key: key, Value: value}, !deleted},
		} {
			e.Revision = Revision(i + 1)
			_ = v.apply(e) // an error is fine; it is counted
		}
	})
}
