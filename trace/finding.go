// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

// find reports what is wrong with a line.
func (c *checker) find(line int, rule, what string, p *piece) {
	c.report.add(Finding{Line: line, Rule: rule, What: what, Spec: Rules[rule], Leads: leadsOf(p)})
}

// findSpec is find with what the spec would have said.
func (c *checker) findSpec(line int, rule, what, spec string) {
	c.report.add(Finding{Line: line, Rule: rule, What: what, Spec: spec})
}

func (c *checker) findPiece(p *piece, line int, rule, what, spec string) {
	if spec == "" {
		spec = Rules[rule]
	}
	c.report.add(Finding{Line: line, Rule: rule, What: what, Spec: spec, Leads: leadsOf(p)})
}

func (c *checker) findStep(g *group, rule, what, spec string) {
	p := c.pieceNamed(g.step.Session, g.step.Piece)
	if p == nil && len(g.step.Names) > 0 {
		p = c.pieceNamed(g.step.Session, g.step.Names[0])
	}
	c.report.add(Finding{Line: g.line, Rule: rule, What: g.step.stepText() + ": " + what, Spec: spec, Leads: leadsOf(p)})
}

func (c *checker) findSpecAt(g *group, s *session, rule, what, spec string) {
	f := Finding{Line: g.line, Rule: rule, What: g.step.stepText() + ": " + what, Spec: spec}
	if len(s.pieces) > 0 {
		f.Leads = s.pieces[0].leads()
	}
	c.report.add(f)
}

func leadsOf(p *piece) []Lead {
	if p == nil {
		return nil
	}
	return p.leads()
}

func (c *checker) pieceNamed(session, name string) *piece {
	if s := c.owned[session]; s != nil {
		return s.piece(name)
	}
	return nil
}
