// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
)

// state is what this process owns, and what it uses of the system.
func (n *node) state() (*State, error) {
	s := &State{Outcomes: map[string]int{}, Owned: len(n.all) - len(n.slots)}
	for _, o := range n.ep.Snapshot().Sessions {
		for _, p := range o.Pieces {
			if p.Invalid || !p.Gate.Shut() {
				s.Retained = append(s.Retained, fmt.Sprintf("%v, %v side: gate %v, invalid %v", o.Name, o.Side, p.Gate, p.Invalid))
			}
			for _, c := range p.Claims {
				if !c.State.Reusable() {
					s.Retained = append(s.Retained, o.Name.String()+", "+o.Side.String()+" side: claim of "+string(c.Name.Accessor)+" is "+c.State.String())
				}
			}
		}
	}
	n.mu.Lock()
	for k, v := range n.outcomes {
		s.Outcomes[k] = v
	}
	s.Checked, s.Agent = n.checked, n.agent
	n.mu.Unlock()
	var err error
	s.Usage, s.Open, err = n.usage()
	return s, err
}

// usage counts what a leak would make more of, and says what the open files are.
func (n *node) usage() (u Usage, open []string, err error) {
	open, err1 := openFiles()
	tasks, err2 := os.ReadDir("/proc/self/task")
	statm, err3 := os.ReadFile("/proc/self/statm")
	if fields := bytes.Fields(statm); len(fields) > 1 {
		u.Resident, err = strconv.ParseInt(string(fields[1]), 10, 64)
	}
	u.Resident *= int64(os.Getpagesize())
	u.Files, u.Threads, u.Goroutines, u.Handles = len(open), len(tasks), runtime.NumGoroutine(), n.lib.Handles()
	return u, open, errors.Join(err1, err2, err3, err)
}
