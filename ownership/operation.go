// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

// operation is what is known of the own operation of a claim (contract §2).
func (c *core) operation(e *evidence) error {
	switch {
	case !e.status.IsValid():
		return fail(KindInvalid, e.claim.what(), e.status.String())
	case e.claim.Accessor == Local:
		return fail(KindInvalid, e.claim.what(), "a local claim has no operation")
	}
	o, i, err := c.resolve(&e.claim, Send)
	if err != nil {
		return err
	}
	if err := c.operate(o, i, e.status); err != nil {
		return c.refusal(err, e.claim.what(), o.said(i, e.status.String()))
	}
	return nil
}

// local is what happened to a piece's own scatter or gather (contract §4).
func (c *core) local(e *evidence) error {
	if !e.local.IsValid() {
		return fail(KindInvalid, e.claim.what(), e.local.String())
	}
	if e.claim.Accessor != Local {
		return fail(KindInvalid, e.claim.what(), "is not of the local accessor")
	}
	if s := c.owned(e.claim.Piece.Session); s != nil {
		if o := s.piece(e.claim.Piece.Piece); o != nil && !o.hasLocal() {
			return fail(KindInvalid, e.claim.what(), "the piece has no local claim")
		}
	}
	o, i, err := c.resolve(&e.claim, 0)
	if err != nil {
		return err
	}
	if err := c.localEvent(o, e.local); err != nil {
		return c.refusal(err, e.claim.what(), o.said(i, e.local.String())+o.stands())
	}
	return nil
}
