// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// Endpoint is what a snapshot does not know about its owner.
type Endpoint struct {
	Name        string
	Incarnation ownership.Incarnation
	// Taken is the wall-clock time of the snapshot and Elapsed the time on the
	// registry's clock.
	Taken   time.Time
	Elapsed time.Duration
	Pools   []Pool // see PoolOf; sorted by region
	Fences  []Fence
}

// Of explains a snapshot.
func Of(e Endpoint, s ownership.Snapshot) *Report {
	b := builder{now: max(e.Elapsed, s.At), snapshot: &s}
	n := s.Counters
	r := &Report{
		Schema: Schema, Endpoint: e.Name, Incarnation: e.Incarnation.String(), Taken: e.Taken, Elapsed: b.now,
		Admission: admission(&s), Fatal: fatal(&s), Regions: make([]Region, 0, len(s.Regions)),
		Pools: pools(e.Pools, s.Fatal), Waiting: waiting(&s), Fences: e.Fences,
		Totals: Totals{n.Admitted, n.Released, n.Owners, n.Retained, n.Sessions, n.Outbox},
	}
	owners := b.owners()
	for i := range s.Regions {
		r.Regions = append(r.Regions, region(&s.Regions[i], owners[s.Regions[i].ID]))
	}
	return r
}

// builder is one call of Of.
type builder struct {
	now      time.Duration
	snapshot *ownership.Snapshot
}

// owners explains each piece, by its region.
func (b *builder) owners() map[string][]Owner {
	by := map[string][]Owner{}
	for i := range b.snapshot.Sessions {
		s := &b.snapshot.Sessions[i]
		for k := range s.Pieces {
			by[s.Pieces[k].Region] = append(by[s.Pieces[k].Region], b.owner(s, &s.Pieces[k]))
		}
	}
	return by
}

func (b *builder) owner(s *ownership.SessionState, p *ownership.PieceState) Owner {
	o := Owner{
		Session: s.Name.String(), Piece: p.Name.Piece, Kind: p.Kind, Side: s.Side.String(),
		Outcome: p.Outcome.String(), Cause: string(p.Cause), Gate: p.Gate.String(), Drained: p.Drained,
	}
	if p.Origin != ownership.NoOrigin {
		o.Origin = p.Origin.String()
	}
	if s.Armed && s.Outcome == outcome.Active {
		o.Expires = &s.Expires
	}
	if s.Draining && !s.Settled && !b.snapshot.Fatal {
		o.Deadline = &s.Deadline
	}
	all := p.Claims
	if p.Local != nil {
		all = append(all[:len(all):len(all)], *p.Local)
	}
	o.Claims = len(all)
	for i := range all {
		if all[i].State.Reusable() {
			o.Proven++
		} else {
			o.Reasons = append(o.Reasons, b.claim(s, p, &all[i]))
		}
	}
	o.Reasons = append(o.Reasons, b.others(s, p, len(o.Reasons) > 0)...)
	o.Text = b.ownerText(&o)
	return o
}

// others are the reasons that are no claims; there is one if no claim is one.
func (b *builder) others(s *ownership.SessionState, p *ownership.PieceState, claims bool) (list []Reason) {
	add := func(about Subject, text, frees string) {
		list = append(list, Reason{About: about, Frees: frees, Text: text + "; what frees it: " + frees})
	}
	if p.Gate == gate.Publishing {
		add(Gate, "the fan-out of the addresses has not returned", "its return: finish, or fail_send")
	}
	if p.Invalid {
		add(Invalid, "contradictory evidence made the piece invalid", "nothing; it ends with the process")
	}
	switch {
	case claims || len(list) > 0:
	case b.snapshot.Fatal:
		add(Late, "everything is proven, but too late", nothing)
	case s.Outcome == outcome.Active:
		add(Close, "everything is proven, but its session is ACTIVE", "the session's outcome, by complete, fail or cancel, and then its close")
	case !s.Settled:
		add(Close, "everything is proven here, but not in other pieces of its session", "their proof, and then the session's close")
	default:
		add(Close, "everything is proven", "its session's close (Session.Drain)")
	}
	return list
}

func (b *builder) claim(s *ownership.SessionState, p *ownership.PieceState, c *ownership.ClaimState) Reason {
	r := Reason{
		About: Claim, Accessor: string(c.Name.Accessor), State: c.State.String(), Since: c.Since, Age: b.now - c.Since,
		Frees: nothing,
	}
	if c.Name.Accessor != ownership.Local {
		r.Incarnation = c.Name.Incarnation.String()
	}
	led := "never sealed"
	if c.By != 0 {
		r.Event = c.By.String()
		led = "by " + r.Event
	}
	if !b.snapshot.Fatal {
		r.Frees = frees(s.Side, p, c)
	}
	r.Text = fmt.Sprintf("%s: %v for %s, %s; what frees it: %s", access(s.Side, c), c.State, age(r.Age), led, r.Frees)
	return r
}

// access says what a claim stands for.
func access(side ownership.Side, c *ownership.ClaimState) string {
	who := string(c.Name.Accessor)
	switch {
	case c.State == claim.Unpublished && c.Name.Accessor == ownership.Local:
		return "our own " + localWork(side) + " has not started"
	case c.State == claim.Unpublished:
		return who + " does not have the address yet"
	case c.Name.Accessor == ownership.Local:
		return "our own " + localWork(side) + " may still touch it"
	case side == ownership.Send:
		return "our operation to " + who + " may still read it"
	}
	return who + " may still write into it"
}

func localWork(side ownership.Side) string {
	if side == ownership.Send {
		return "gather"
	}
	return "scatter"
}

func (b *builder) ownerText(o *Owner) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s:%s, %s, %s", o.Session, o.Piece, o.Side, o.Outcome)
	if o.Cause != "" {
		fmt.Fprintf(&t, " (cause %s, origin %s)", o.Cause, o.Origin)
	}
	fmt.Fprintf(&t, ", gate %s, %d of %d claims proven", o.Gate, o.Proven, o.Claims)
	switch {
	case o.Deadline != nil && slices.ContainsFunc(o.Reasons, func(r Reason) bool { return r.About == Invalid }):
		fmt.Fprintf(&t, "; FATAL in %s", age(*o.Deadline-b.now))
	case o.Deadline != nil:
		fmt.Fprintf(&t, "; FATAL in %s unless the rest is proven", age(*o.Deadline-b.now))
	case o.Expires != nil:
		fmt.Fprintf(&t, "; times out in %s", age(*o.Expires-b.now))
	}
	return t.String()
}

func region(g *ownership.RegionState, owners []Owner) Region {
	r := Region{
		ID: g.ID, Bytes: g.Len, Allocation: g.Allocation, Registration: g.Registration, Registered: g.Registered,
		Holding: Free, Owners: owners,
	}
	unproven := 0
	for i := range owners {
		if !owners[i].Drained {
			unproven++
		}
	}
	switch {
	case unproven > 0:
		r.Holding = Retained
		r.Text = fmt.Sprintf("region %s: retained, %s without proof", g.ID, count(unproven, "owner"))
	case len(owners) > 0:
		r.Holding = Drained
		r.Text = fmt.Sprintf("region %s: everything is proven, %s not closed", g.ID, count(len(owners), "owner"))
	default:
		r.Owners = []Owner{}
		r.Text = fmt.Sprintf("region %s: free", g.ID)
	}
	if !g.Registered {
		r.Text += ", not registered"
	}
	return r
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// age rounds to what a reader can use.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
