// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kvxfer/kvxfer/ownership"
)

// keys are the names in the store, all of them below one prefix:
//
//	a/RANK                 alive: the current incarnation, under its lease
//	f/INCARNATION          a fence
//	m/RANK/INCARNATION     a member, for good
//	p/RANK                 progress: how far the rank has read
//	s/RANK/INCARNATION/N   statements, numbered
type keys struct{ prefix string }

func (k keys) alive(rank int) string { return k.prefix + "a/" + strconv.Itoa(rank) }

func (k keys) fence(i ownership.Incarnation) string { return k.prefix + "f/" + i.String() }

func (k keys) member(rank int, i ownership.Incarnation) string {
	return k.prefix + "m/" + strconv.Itoa(rank) + "/" + i.String()
}

func (k keys) progress(rank int) string { return k.prefix + "p/" + strconv.Itoa(rank) }

func (k keys) segment(rank int, i ownership.Incarnation, n uint64) string {
	return fmt.Sprintf("%ss/%d/%v/%016x", k.prefix, rank, i, n)
}

// name is a key taken apart.
type name struct {
	kind   byte
	rank   int
	life   ownership.Incarnation
	number uint64
}

func (k keys) parse(key string) (name, error) {
	bad := func() (name, error) { return name{}, fmt.Errorf("cluster: key %q: %w", key, ErrRecord) }
	rest, ours := strings.CutPrefix(key, k.prefix)
	parts := strings.Split(rest, "/")
	count := map[string]int{"a": 2, "f": 2, "m": 3, "p": 2, "s": 4}[parts[0]]
	if !ours || count == 0 || len(parts) != count {
		return bad()
	}
	n := name{kind: parts[0][0]}
	var err error
	if n.kind == 'f' {
		n.life, err = ownership.ParseIncarnation(parts[1])
	} else {
		n.rank, err = strconv.Atoi(parts[1])
	}
	if err == nil && count > 2 {
		n.life, err = ownership.ParseIncarnation(parts[2])
	}
	if err == nil && count > 3 {
		n.number, err = strconv.ParseUint(parts[3], 16, 64)
	}
	if err != nil {
		return bad()
	}
	return n, nil
}
