// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/fsm"
	regionrules "github.com/kvxfer/kvxfer/gen/region"
)

// AddPieces adds several pieces to one session, all of them or none; Seal then
// publishes them together (contract §5). It returns the names of each piece's
// claims, as AddPiece does, and has the same errors.
func (r *Registry) AddPieces(at time.Duration, specs ...PieceSpec) ([][]ClaimName, Effects, error) {
	var names [][]ClaimName
	effects, err := r.call(at, func(c *core) (err error) {
		if t := c.tracing(CallAddPieces); t != nil {
			t.Added, t.First, t.Life = slices.Clone(specs), c.sequence+1, c.cfg.Incarnation
		}
		names, err = c.addPieces(specs)
		return err
	})
	return names, effects, err
}

// addPieces asks copies of everything that could refuse one of the pieces before
// it adds the first.
func (c *core) addPieces(specs []PieceSpec) ([][]ClaimName, error) {
	if len(specs) == 0 {
		return nil, fail(KindInvalid, "piece", "the list is empty")
	}
	if len(specs) > 1 {
		if err := c.mayAddPieces(specs); err != nil {
			return nil, err
		}
	}
	names := make([][]ClaimName, len(specs))
	for i, spec := range specs {
		var err error
		if names[i], err = c.addPiece(spec); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (c *core) mayAddPieces(specs []PieceSpec) error {
	s, err := c.ownedSession(specs[0].Name.Session)
	if err != nil {
		return err
	}
	admits, rules := c.admits, s.rules
	known := make(map[string]bool, len(specs))
	regions := make(map[*region]*regionrules.System, len(specs))
	for i := range specs {
		spec := &specs[i]
		if spec.Name.Session != s.name() {
			return fail(KindInvalid, spec.Name.what(), "is of another session than "+specs[0].Name.String())
		}
		if _, err := c.mayTake(spec, s); err != nil {
			return err
		}
		g := c.regions[spec.Region]
		if regions[g] == nil {
			free := g.rules
			regions[g] = &free
		}
		_, busy := regions[g].Take(regionrules.Access(spec.Access.of(s.side)), nil)
		_, err := admits.AddPiece(s.takesNothing(), c.namesDoubted(spec.Cohort), known[spec.Name.Piece] || s.piece(spec.Name.Piece) != nil,
			busy != nil, c.outbox.shared >= c.cfg.Outbox, c.unread(spec.Cohort), c.admitting[:0])
		switch {
		case err != nil && err.(*fsm.CallError).Kind == fsm.Refused:
			refused := g.held(busy.(*fsm.CallError).Reason)
			refused.What = spec.Name.what()
			return refused
		case err != nil:
			return c.refusal(err, spec.Name.what(), ": admission is "+c.currentAdmission().String()+", its session "+s.outcome().String())
		}
		known[spec.Name.Piece] = true
		if _, err := rules.Add(nil); err != nil {
			return c.refusal(err, s.name().what(), "")
		}
	}
	return nil
}
