// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "github.com/kvxfer/kvxfer/gen/admission"

// What the registry takes in is decided by the system admission; this file looks
// up what it asks for, and keeps the table of a quarantine's accessors.

// maxTable is the largest limit of a table that the system can count to.
const maxTable = 1<<24 - 1

func newAdmission(cfg *Config) (admission.System, error) {
	return admission.New(admission.Scope(cfg.Quarantine+1), cfg.Sessions, cfg.Owners, cfg.Tombstones)
}

// fatal reports whether a grace has passed without proof.
func (c *core) fatal() bool { return c.admits.Fatal() }

func (c *core) currentAdmission() Admission { return Admission(c.admits.Admission()) }

// askedFor reports whether a call of the system asks for one thing.
func askedFor(out []admission.Effect, kind admission.Kind) bool {
	for _, e := range out {
		if e.Kind == kind {
			return true
		}
	}
	return false
}

// known says what is known of an attempt.
func (r *request) known(attempt uint32) admission.Known {
	switch a := r.find(attempt); {
	case a != nil && a.session != nil:
		return admission.KnownOwned
	case a != nil:
		return admission.KnownUsed
	case attempt < r.newest():
		return admission.KnownOlder
	}
	return admission.KnownNew
}

// namesDoubted reports whether a cohort names an accessor that the quarantine remembers.
func (c *core) namesDoubted(cohort []Member) bool {
	if c.admits.Doubted() == 0 {
		return false
	}
	for _, m := range cohort {
		if _, doubted := c.doubted[m.Accessor]; doubted {
			return true
		}
	}
	return false
}

// doubt is what a doubt that moved a claim does to admission (contract §7).
func (c *core) doubt(p *peer) {
	if p.local() {
		c.admits.DoubtLocal(c.admitting[:0])
		return
	}
	_, known := c.doubted[p.accessor]
	if out, _ := c.admits.Doubt(known, c.admitting[:0]); askedFor(out, admission.RememberEffect) {
		c.doubted[p.accessor] = struct{}{}
	}
}

// strikeOut says that an accessor was fenced: the quarantine forgets it, unless one
// of its claims is still in doubt, as the fence did not reach it.
func (c *core) strikeOut(a Accessor) {
	still := false
	for _, p := range c.peers[a] {
		still = still || p.doubts > 0
	}
	if a == Local {
		c.admits.FenceLocal(still, c.admitting[:0])
		return
	}
	_, known := c.doubted[a]
	if out, _ := c.admits.Fence(known, still, c.admitting[:0]); askedFor(out, admission.ForgetEffect) {
		delete(c.doubted, a)
	}
}

// reopen lifts the quarantine on an operator's word.
func (c *core) reopen() error {
	out, err := c.admits.Reopen(c.admitting[:0])
	if askedFor(out, admission.ForgetAllEffect) {
		clear(c.doubted)
	}
	return c.refusal(err, "registry", "")
}
