// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import "fmt"

// Handles counts what was made in NIXL and not given back. What a leak leaves
// behind shows here, exactly, where the memory of a process says little.
type Handles struct {
	Agents        int `json:"agents"`
	Backends      int `json:"backends"`
	Registrations int `json:"registrations"`
	Peers         int `json:"peers"`    // whose metadata is loaded
	Requests      int `json:"requests"` // of any phase
	Lists         int `json:"lists"`    // prepared ones
	Views         int `json:"views"`
}

// String lists the numbers.
func (h Handles) String() string {
	return fmt.Sprintf("%d agents, %d backends, %d registrations, %d peers, %d requests, %d lists, %d views",
		h.Agents, h.Backends, h.Registrations, h.Peers, h.Requests, h.Lists, h.Views)
}

// Handles counts what all agents of the library hold. The end of an agent ends
// all that it had. Each number is exact, but while other goroutines make and
// release they need not be of the same moment.
func (l *Library) Handles() Handles {
	l.agents.Lock()
	defer l.agents.Unlock()
	var sum Handles
	for a := range l.agents.live {
		a.book.Lock()
		sum.Agents++
		sum.Backends += len(a.backends)
		sum.Registrations += len(a.regions)
		sum.Peers += len(a.peers)
		sum.Views += a.views
		a.book.Unlock()
		sum.Requests += int(a.requests.Load())
		sum.Lists += int(a.lists.Load())
	}
	return sum
}

// began enters an agent among those that live.
func (l *Library) began(a *Agent) {
	l.agents.Lock()
	defer l.agents.Unlock()
	if l.agents.live == nil {
		l.agents.live = map[*Agent]struct{}{}
	}
	l.agents.live[a] = struct{}{}
}

func (l *Library) ended(a *Agent) {
	l.agents.Lock()
	defer l.agents.Unlock()
	delete(l.agents.live, a)
}
