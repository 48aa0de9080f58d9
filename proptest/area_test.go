// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/blocks"
	"github.com/kvxfer/kvxfer/transfer"
)

// area is memory that one session has at a time, or several that read it: a
// region, or blocks of the node's pool, which it gets when somebody takes it.
type area struct {
	node   *node
	id     string
	region *transfer.Region // nil: blocks of the pool
	span
	// aside is where a scatter puts the bytes, or a gather has them from. Nothing
	// registers it; it is the session's as long as the area is.
	aside span

	owners int  // sessions that have not released it
	reads  bool // they read it

	table []blocks.Block // of the pool
	pin   blocks.Name    // of the request that holds the blocks
	held  bool           // it does; else the sessions' own pins keep them
}

// mine reports whether nobody else was given a block of the area since.
func (a *area) mine() bool {
	for _, b := range a.table {
		if a.node.usedBy[b.Number] != a {
			return false
		}
	}
	return true
}

const (
	poolBlock = regionLen / 2 // of a pool: an area takes two, in any order
	poolLen   = 3 * regionLen
)

// allocate gives a pooled area blocks, as a request gets them.
func (a *area) allocate() bool {
	p := a.node
	table := make([]blocks.Block, regionLen/poolBlock)
	pin, err := p.pool.Blocks().Allocate(a.id, table)
	if err != nil {
		if !errors.Is(err, blocks.ErrExhausted) && !p.over(err) {
			p.net.bad = append(p.net.bad, finding{p, fmt.Sprintf("%s: allocate: %v", p.name, err)})
		}
		return false
	}
	if p.net.number%2 == 1 {
		table[0], table[1] = table[1], table[0]
	}
	for i, user := range p.usedBy {
		if user == a {
			p.usedBy[i] = nil
		}
	}
	a.table, a.pin, a.held, a.span = table, pin, true, span{}
	for _, b := range table {
		a.bytes = append(a.bytes, p.pooled.bytes[b.Number])
		a.shadow = append(a.shadow, p.pooled.shadow[b.Number])
		p.usedBy[b.Number] = a
	}
	return true
}

// unpin ends the request; what sessions own of its blocks is theirs.
func (a *area) unpin() {
	if !a.held {
		return
	}
	a.held = false
	if _, err := a.node.pool.Blocks().Unpin(a.pin); err != nil && !a.node.over(err) {
		a.node.net.bad = append(a.node.net.bad, finding{a.node, fmt.Sprintf("%s: unpin %v: %v", a.node.name, a.pin, err)})
	}
}

// over reports whether an error is that of an endpoint that gives nothing more.
func (p *node) over(err error) bool {
	return !p.alive() || errors.Is(err, ownership.ErrFatal) || errors.Is(err, blocks.ErrFrozen) || errors.Is(err, blocks.ErrClosed)
}

func (p *node) fatal() bool {
	select {
	case <-p.Fatal():
		return true
	default:
		return false
	}
}

// take marks an area as about to be owned and returns its region, nil where it is
// not to be had. Content for a reader is put in where nobody reads it yet.
func (p *node) take(a *area, reads bool) *transfer.Region {
	n := p.net
	n.mu.Lock()
	defer n.mu.Unlock()
	n.number++
	if a.owners > 0 && !(reads && a.reads) || a.region == nil && a.owners > 0 && !a.held {
		return nil
	}
	if a.owners == 0 {
		if a.region == nil && !a.allocate() {
			return nil
		}
		a.fill(fresh(n.number, !reads))
	}
	region := a.region
	if region == nil {
		if region = p.lease(a, reads); region == nil {
			return nil
		}
	}
	a.owners, a.reads = a.owners+1, reads
	return region
}

// fresh is content to be sent, or a tag in what is to be written over.
func fresh(number int, tag bool) []byte {
	content := make([]byte, regionLen)
	for i := range content {
		content[i] = byte((number*31 + i*7) % firstTag)
		if tag {
			content[i] = firstTag + byte(number%16)
		}
	}
	return content
}

// lease makes a region of an area's blocks for one session. Sometimes the request
// ends at once: then nothing else keeps them.
func (p *node) lease(a *area, reads bool) *transfer.Region {
	n := p.net
	access := ownership.Writes
	if reads {
		access = ownership.Reads
	}
	region, err := p.pool.Region(access, a.id, a.table)
	if err != nil {
		if !p.over(err) {
			n.bad = append(n.bad, finding{p, fmt.Sprintf("%s: blocks %v of %s are nobody's: %v", p.name, a.table, a.id, err)})
		}
		if a.owners == 0 {
			a.unpin()
		}
		return nil
	}
	if n.number%3 == 0 || n.ending {
		a.unpin()
	}
	return region
}

// unpinAll ends all requests: a stop waits for their pins too.
func (n *network) unpinAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ending = true
	for _, p := range n.nodes {
		for _, a := range p.areas {
			a.unpin()
		}
	}
}

// back marks an area as ours again. Whoever had it alone gets permission to reuse
// it, and does. owned: a session had it; else nobody has heard of it.
func (p *node) back(a *area, region *transfer.Region, owned bool, why string) {
	n := p.net
	n.mu.Lock()
	defer n.mu.Unlock()
	a.owners--
	if a.region == nil {
		p.backToPool(a, region, owned, why)
		return
	}
	if a.owners > 0 {
		return
	}
	err := region.Reuse()
	if _, registered := region.State(); !registered {
		err = nil // a stop has let go of it
	}
	if err != nil {
		if !p.over(err) {
			n.bad = append(n.bad, finding{p, fmt.Sprintf("%s: %s is ours again (%s) and may not be reused: %v", p.name, a.id, why, err)})
		}
		return
	}
	if owned {
		a.reuse()
	}
}

// backToPool: a region of blocks is over with its last session, and with it their pins.
func (p *node) backToPool(a *area, region *transfer.Region, owned bool, why string) {
	n := p.net
	if owned {
		if _, known := region.State(); known && p.alive() && !p.fatal() {
			n.bad = append(n.bad, finding{p, fmt.Sprintf("%s: %s is given back (%s), and its blocks stay pinned", p.name, region.ID(), why)})
		}
	} else if err := region.Deregister(); err != nil && !p.over(err) {
		n.bad = append(n.bad, finding{p, fmt.Sprintf("%s: %s, of which nobody has heard (%s): %v", p.name, region.ID(), why, err)})
	}
	if a.owners > 0 {
		return
	}
	if owned && a.mine() {
		a.reuse()
	}
	a.unpin()
}

// reuse fills memory that is ours again: with poison what was sent from.
func (a *area) reuse() {
	n := a.node.net
	n.number++
	tag := byte(firstTag + n.number%16)
	if a.reads {
		tag = poison
	}
	content := bytes.Repeat([]byte{tag}, regionLen)
	a.fill(content)
	a.aside.fill(content)
}
