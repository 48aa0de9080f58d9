// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"github.com/kvxfer/kvxfer/gen/region"
)

func (d *prediction) addRegion(g *group) answer {
	if g.step.Answer != "" {
		return answer{}
	}
	if known := d.regions[g.step.Region]; known != nil {
		_, err := known.Register(nil)
		return refused(err)
	}
	rules, err := region.New()
	if err != nil {
		return refused(err)
	}
	d.regions[g.step.Region] = &rules
	return good
}

func (d *prediction) reuse(g *group) answer {
	return d.onRegion(g, func(r *region.System) error { _, err := r.Reuse(nil); return err })
}

func (d *prediction) deregister(g *group) answer {
	return d.onRegion(g, func(r *region.System) error { _, err := r.Deregister(d.fatalRules, nil); return err })
}

func (d *prediction) removeRegion(g *group) answer {
	a := d.onRegion(g, func(r *region.System) error { _, err := r.Remove(d.fatalRules, nil); return err })
	if a.known && a.kind == "" {
		delete(d.regions, g.step.Region)
	}
	return a
}

// onRegion makes a call of a region's system; a region that may go while it is
// held breaks I12.
func (d *prediction) onRegion(g *group, call func(*region.System) error) answer {
	r := d.regions[g.step.Region]
	if r == nil {
		return answer{}
	}
	a := refused(call(r))
	if a.kind == "refused" && g.step.Answer == "" {
		d.findSpec(g.line, "I12", "region "+g.step.Region+": "+g.step.Step+" while it is owned", a.kind+": "+a.reason)
		return answer{}
	}
	return a
}
