// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/internal/cudac"
)

// pollRoom is the memory of one poll, used again by the next.
type pollRoom struct {
	events  []cudac.Event
	results []cudac.Result
	words   []uint64
	index   []int
}

var pollRooms = sync.Pool{New: func() any { return new(pollRoom) }}

// Poll asks for many events of the context in one crossing and writes the state
// of each into states, which must be as long. Events that are known to be done
// are not asked about. [Event.Query] tells why one is in doubt. The error is
// [ErrWrongContext], before anything was asked.
func (c *Context) Poll(events []*Event, states []EventState) error {
	if len(events) != len(states) {
		return fmt.Errorf("%w: %d events and %d states", ErrArgument, len(events), len(states))
	}
	room := pollRooms.Get().(*pollRoom)
	defer pollRooms.Put(room)
	room.events, room.words, room.index = room.events[:0], room.words[:0], room.index[:0]
	for i, e := range events {
		if e == nil || e.context != c {
			return fmt.Errorf("%w: event %d of the poll", ErrWrongContext, i)
		}
	}
	asked := c.ask(room, events, states)
	for k, i := range room.index {
		word := room.words[k]
		if asked && room.results[k] == cudac.NotReady {
			continue
		}
		if asked {
			word = events[i].take(word, room.results[k])
		}
		states[i], _ = events[i].known(word)
	}
	return nil
}

// ask writes what is known without the driver, and asks it about the rest, false
// where its answers count no more. No event is destroyed meanwhile: only one
// that is not pending can be, and under the lock.
func (c *Context) ask(room *pollRoom, events []*Event, states []EventState) bool {
	c.asking.RLock()
	defer c.asking.RUnlock()
	for i, e := range events {
		word := e.word.Load()
		if states[i] = EventState(word & 0xff); states[i] == EventPending {
			room.events = append(room.events, e.handle)
			room.words = append(room.words, word)
			room.index = append(room.index, i)
		}
	}
	if c.doubt.Load() != nil {
		return false
	}
	room.results = slices.Grow(room.results[:0], len(room.events))[:len(room.events)]
	c.api.EventQuery(c.handle, room.events, room.results)
	return true
}
