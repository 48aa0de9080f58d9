// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// ClaimState is one accessor's hold on a piece.
type ClaimState struct {
	Of             Member
	State, Verdict string
	Settled        bool // by settle: it counts though it is FAILED_QUIESCED
	Fenced         bool
	Spoke          bool // it gave evidence
	Operation      Operation
}

// Counts reports whether the claim's result counts (§4).
func (c *ClaimState) Counts() bool {
	return c.State == "DRAINED" || c.State == "FAILED_QUIESCED" && c.Settled
}

func (c *ClaimState) delivered() bool { return c.State == "DRAINED" && c.Verdict == "OK" }

// canDeliver reports whether a success of this claim is still possible.
func (c *ClaimState) canDeliver() bool {
	return c.State == "UNPUBLISHED" || c.State == "PUBLISHED" || c.delivered()
}

// Piece is an owner.
type Piece struct {
	Name    PieceName
	Region  string
	Reads   bool // the region is read and not written
	Count   int  // 0: exact cohort
	Claims  []*ClaimState
	Local   *ClaimState
	Gate    string
	Outcome string
	Cause   string
	Origin  string

	Invalid, Selected bool
}

// All returns the cohort's claims and the local one.
func (p *Piece) All() []*ClaimState {
	if p.Local == nil {
		return p.Claims
	}
	return append(slices.Clone(p.Claims), p.Local)
}

func (p *Piece) find(accessor string) *ClaimState {
	for _, c := range p.All() {
		if c.Of.Accessor == accessor {
			return c
		}
	}
	return nil
}

func (p *Piece) reusable() bool {
	for _, c := range p.All() {
		if !Reusable(c.State) {
			return false
		}
	}
	return true
}

// settled is §6, for one owner.
func (p *Piece) settled() bool { return p.reusable() && p.Gate != "PUBLISHING" && !p.Invalid }

// drained is §4, without its last condition, which is the registry's.
func (p *Piece) drained() bool {
	return (p.Gate == "SEALED" || p.Gate == "ABORTED") && p.reusable() && !p.Invalid
}

// needs is how many results a success takes.
func (p *Piece) needs() int {
	if p.Count > 0 {
		return p.Count
	}
	return len(p.Claims)
}

// heard reports whether everybody who counts has delivered and nobody of the
// cohort is live: what success and a receiver's local start wait for.
func (p *Piece) heard() bool {
	counted := 0
	for _, c := range p.Claims {
		if Live(c.State) || c.Counts() && !c.delivered() {
			return false
		}
		if c.Counts() {
			counted++
		}
	}
	return counted >= p.needs() && p.Gate == "SEALED" && !p.Invalid
}

func (p *Piece) succeeds() bool {
	return p.heard() && (p.Local == nil || p.Local.State == "DRAINED")
}

// impossible reports whether success is out of reach (§4).
func (p *Piece) impossible() bool {
	able := 0
	for _, c := range p.Claims {
		if c.canDeliver() {
			able++
		}
		if c.Counts() && c.Verdict == "FAILED" {
			return true
		}
	}
	return able < p.needs() || p.Local != nil && !p.Local.canDeliver()
}

// selection is §4: once N candidates count, nobody else may write.
func (p *Piece) selection() {
	if p.Count == 0 || p.Selected {
		return
	}
	counted := 0
	for _, c := range p.Claims {
		if c.Counts() {
			counted++
		}
	}
	if p.Selected = counted >= p.Count; !p.Selected {
		return
	}
	for _, c := range p.Claims {
		if c.State == "PUBLISHED" {
			c.State, _ = Claim.Next(c.State, "unexposed")
		}
	}
}

// withdraw is what an end does to a piece: nothing is published afterwards.
func (p *Piece) withdraw() {
	p.Gate, _ = Gate.Next(p.Gate, "cancel")
	for _, c := range p.All() {
		if c.State == "UNPUBLISHED" {
			c.State, _ = Claim.Next(c.State, "withdraw")
		}
	}
}
