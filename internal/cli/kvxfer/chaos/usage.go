// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"os"
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
	s.Checked = n.checked
	n.mu.Unlock()
	var err error
	s.Files, s.Threads, s.Resident, err = usage()
	return s, err
}

// usage counts what a leak would make more of.
func usage() (files, threads int, resident int64, err error) {
	fds, err1 := os.ReadDir("/proc/self/fd")
	tasks, err2 := os.ReadDir("/proc/self/task")
	statm, err3 := os.ReadFile("/proc/self/statm")
	if fields := bytes.Fields(statm); len(fields) > 1 {
		resident, err = strconv.ParseInt(string(fields[1]), 10, 64)
	}
	return len(fds), len(tasks), resident * int64(os.Getpagesize()), errors.Join(err1, err2, err3, err)
}
