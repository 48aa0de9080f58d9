// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

// apply runs one call that carries evidence, under the evidence's own time.
func (c *core) apply(e *evidence) (Effects, error) {
	c.begin(e.at)
	if c.cfg.Trace != nil {
		c.traceEvidence(e)
	}
	var err error
	switch e.kind {
	case evidenceOperation:
		err = c.operation(e)
	case evidenceReport:
		err = c.report(e)
	case evidenceAck:
		err = c.ack(e)
	case evidenceLocal:
		err = c.local(e)
	case evidenceFence:
		err = c.fence(e)
	case evidenceGone:
		err = c.gone(e)
	}
	return c.end(err)
}

// outsider is the index of an accessor that is not in the cohort.
const outsider = -1

// resolve finds the claim of a name on the given side. An accessor outside of
// the cohort, under a name that is otherwise current, is the outsider: conflict
// is judged before a fence's stale (contract §11).
func (c *core) resolve(n *ClaimName, side Side) (*owner, int, error) {
	s := c.owned(n.Piece.Session)
	if s == nil {
		return nil, 0, fail(KindStale, n.what(), "its session is not owned")
	}
	if side != 0 && s.side != side {
		return nil, 0, fail(KindInvalid, n.what(), "is of a "+s.side.String()+" session")
	}
	o := s.piece(n.Piece.Piece)
	if o == nil {
		return nil, 0, fail(KindStale, n.what(), "its piece is not owned")
	}
	if n.Owner != o.peer(0).self {
		return nil, 0, fail(KindStale, n.what(), "its owner is another incarnation of this endpoint")
	}
	offset := n.Sequence - o.first // wraps for one that is smaller
	within := offset < uint64(o.total())
	i := int(offset)
	if within && o.peer(i).accessor == n.Accessor {
		if o.peer(i).incarnation != n.Incarnation {
			return nil, 0, fail(KindStale, n.what(), "it names another incarnation of "+string(n.Accessor))
		}
		return o, i, nil
	}
	if !within || o.find(n.Accessor) >= 0 {
		return nil, 0, fail(KindStale, n.what(), "its sequence is not the current one")
	}
	if c.isGone(n.Accessor, n.Incarnation) {
		return nil, 0, fail(KindStale, n.what(), "its accessor's incarnation is gone")
	}
	return o, outsider, nil
}
