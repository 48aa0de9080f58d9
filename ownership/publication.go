// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

// together finds the pieces of one atomic gate action: a list that is not
// empty, without repetition, of one session.
func (c *core) together(names []PieceName) ([]*owner, error) {
	if len(names) == 0 {
		return nil, fail(KindInvalid, "piece", "the list is empty")
	}
	owners := c.scratch[:0]
	for _, n := range names {
		o, err := c.ownedPiece(n)
		if err != nil {
			return nil, err
		}
		owners = append(owners, o)
	}
	c.scratch = owners
	if len(owners) == 1 {
		return owners, nil
	}
	seen := make(map[*owner]bool, len(owners))
	for i, o := range owners {
		switch {
		case o.session != owners[0].session:
			return nil, fail(KindInvalid, names[i].what(), "is of another session than "+names[0].String())
		case seen[o]:
			return nil, fail(KindInvalid, names[i].what(), "is given twice")
		}
		seen[o] = true
	}
	return owners, nil
}

// seal publishes the claims of all candidates of all pieces, or of none.
func (c *core) seal(names []PieceName) error {
	owners, err := c.together(names)
	if err != nil {
		return err
	}
	closed := owners[0].session.takesNothing()
	return c.allOrNone(owners,
		func(o *owner) error { return c.maySeal(o, closed) },
		func(o *owner) error { return c.sealOwner(o, closed) })
}

// finish says that the whole fan-out returned.
func (c *core) finish(names []PieceName) error {
	owners, err := c.together(names)
	if err != nil {
		return err
	}
	return c.allOrNone(owners, c.mayFinish, c.finishOwner)
}

// allOrNone makes a call to several owners, or to none if one would refuse it.
func (c *core) allOrNone(owners []*owner, ask, do func(*owner) error) error {
	if len(owners) > 1 {
		for _, o := range owners {
			if err := ask(o); err != nil {
				return c.refusal(err, o.name().what(), o.stands())
			}
		}
	}
	for _, o := range owners {
		if err := do(o); err != nil {
			return c.refusal(err, o.name().what(), o.stands())
		}
	}
	return nil
}

// stands tells how the owner stands, for an error.
func (o *owner) stands() string {
	return ": its gate is " + o.gate().String() + ", its outcome " + o.outcome().String()
}

// failSend says that the fan-out ended early. It skips fenced claims.
func (c *core) failSend(name PieceName, published []Accessor) error {
	o, err := c.ownedPiece(name)
	if err != nil {
		return err
	}
	var exposed uint64
	for _, a := range published {
		i := o.find(a)
		if i < 0 || i >= o.size() {
			return fail(KindInvalid, name.what(), "published names "+string(a)+", which is not in the cohort")
		}
		if exposed>>i&1 != 0 {
			return fail(KindInvalid, name.what(), "published names "+string(a)+" twice")
		}
		exposed |= 1 << i
	}
	if err := c.failSendOwner(o, exposed); err != nil {
		return c.refusal(err, name.what(), o.stands())
	}
	return nil
}

func (c *core) fatalError(what string) *Error {
	return fail(KindFatal, what, "the registry is FATAL since session "+c.contained.Session.String()+" was not settled at its deadline")
}
