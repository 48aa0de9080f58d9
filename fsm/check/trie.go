// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import "encoding/binary"

// A trie is a decision tree over variables of a state: what a program did is found
// again by the values of what it read, in the order in which it read them. That is
// exact, as a program is deterministic: what it reads next depends on what it has
// read so far, and on nothing else.
//
// Nodes lie in one array: component<<8|shift, the mask, then one child for each
// value. A child is the offset of a node, leafBit with the number of a leaf, or 0
// if it was never seen. The array may be dropped at any time: it is a memory only.
type trie struct {
	nodes  []uint32
	leaves []*leaf
	known  map[string]uint32 // leaves by content: most instances do the same few things
	key    []byte
	flips  int // entries of the leaves' next
}

const leafBit = 1 << 31

// leafKind says what an action did.
type leafKind uint8

const (
	disabled leafKind = iota
	refused           // by a refusal that changes nothing
	enabled
)

// leaf is what a program does to a state.
type leaf struct {
	kind   leafKind
	bad    bool // left a range, or a reaction without end
	writes []write
	quiet  bool     // no reaction follows
	broken []*gprop // properties that the step breaks if no reaction follows
	touch  []uint64 // slots that it writes, as a bit set
	props  []*gprop // properties that these slots can break

	simple bool // it writes one component, comp, and nothing is left to judge
	comp   uint8
	next   []uint64 // by number of comp's word: how a code changes, as XOR; see plan.go
}

func newTrie() *trie {
	return &trie{nodes: make([]uint32, 1, 1<<12), known: map[string]uint32{}}
}

// find walks from root; the result has leafBit, or is 0.
func (t *trie) find(root uint32, words *[2 * maxComps]uint32) uint32 {
	nodes := t.nodes
	for root != 0 && root < leafBit {
		head := nodes[root]
		root = nodes[root+2+(words[head>>8&(2*maxComps-1)]>>(head&31))&nodes[root+1]]
	}
	return root
}

// insert adds the path of the reads with end, a child, at its end.
func (t *trie) insert(root *uint32, log []read, end uint32) {
	at := -1 // index of the child to follow; -1 is the root
	get := func() uint32 {
		if at < 0 {
			return *root
		}
		return t.nodes[at]
	}
	set := func(v uint32) {
		if at < 0 {
			*root = v
		} else {
			t.nodes[at] = v
		}
	}
	for _, r := range log {
		n := get()
		if n == 0 {
			n = uint32(len(t.nodes))
			t.nodes = append(t.nodes, uint32(r.comp)<<8|uint32(r.shift), r.mask)
			t.nodes = append(t.nodes, make([]uint32, r.mask+1)...)
			set(n)
		}
		at = int(n + 2 + r.value)
	}
	set(end)
}

// leaf gives the child that stands for l.
func (t *trie) leaf(l leaf) uint32 {
	t.key = l.appendTo(t.key[:0])
	if end, ok := t.known[string(t.key)]; ok {
		return end
	}
	if l.kind == enabled && l.quiet && !l.bad && len(l.broken) == 0 && len(l.writes) == 1 {
		l.simple, l.comp = true, l.writes[0].comp
	}
	t.leaves = append(t.leaves, &l)
	end := leafBit | uint32(len(t.leaves)-1)
	t.known[string(t.key)] = end
	return end
}

// appendTo appends what makes a leaf different from others.
func (l *leaf) appendTo(b []byte) []byte {
	b = append(b, byte(l.kind), flag(l.bad)|flag(l.quiet)<<1)
	b = binary.AppendUvarint(b, uint64(len(l.writes)))
	for _, w := range l.writes {
		b = binary.LittleEndian.AppendUint32(append(b, w.comp), w.clear)
		b = binary.LittleEndian.AppendUint32(b, w.set)
	}
	for _, t := range l.touch {
		b = binary.LittleEndian.AppendUint64(b, t)
	}
	for _, list := range [][]*gprop{l.broken, l.props} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, p := range list {
			b = binary.AppendUvarint(b, uint64(p.id))
		}
	}
	return b
}

func flag(yes bool) byte {
	if yes {
		return 1
	}
	return 0
}

// bytes is the memory that the trie takes.
func (t *trie) bytes() int { return 4*cap(t.nodes) + 400*len(t.leaves) + 16*t.flips }
