// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/kvxfer/kvxfer/ownership"

// life is one incarnation of a rank, as far as the changes were applied.
type life struct {
	rank       int
	name       ownership.Incarnation
	own        bool     // a life of this process
	registered Revision // the epoch that began with it
	replaced   Revision // when a newer one took its place, or 0
	gone       bool     // its lease ended, or it was replaced
	fenced     bool
	fencing    bool     // this process is writing its fence
	read       Revision // how far its process has read, as it last told
	lastSeen   uint64   // number of its last segment applied
}

// cohort is who a request of one epoch lives on.
type cohort struct {
	epoch Revision
	lives []*life // one a rank
	own   int     // this process's rank, or -1 if it is not in the cohort
}

// appear makes the incarnation known and takes it as the rank's current one.
func (v *view) appear(rank int, name ownership.Incarnation, at Revision) {
	if v.lives[name] != nil {
		return
	}
	l := &life{rank: rank, name: name, own: v.ownNames[name], registered: at}
	if before := v.current(rank); before != nil {
		before.replaced = at
		v.lose(before, at)
	}
	v.lives[name] = l
	v.byRank[rank] = append(v.byRank[rank], l)
}

func (v *view) current(rank int) *life {
	if n := len(v.byRank[rank]); n > 0 {
		return v.byRank[rank][n-1]
	}
	return nil
}

// cohortOf returns who was registered at an epoch; nil if a rank was missing.
func (v *view) cohortOf(epoch Revision) *cohort {
	if c := v.cohorts[epoch]; c != nil {
		return c
	}
	c := &cohort{epoch: epoch, own: -1}
	for rank, lives := range v.byRank {
		var member *life
		for _, l := range lives {
			if l.registered <= epoch {
				member = l
			}
		}
		if member == nil {
			return nil
		}
		if member.own {
			c.own = rank
		}
		c.lives = append(c.lives, member)
	}
	v.cohorts[epoch] = c
	return c
}

// epoch is the revision of the newest registration; 0 while a rank is missing.
func (v *view) epoch() Revision {
	var newest Revision
	for rank := range v.byRank {
		l := v.current(rank)
		if l == nil {
			return 0
		}
		newest = max(newest, l.registered)
	}
	return newest
}
