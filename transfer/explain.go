// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"slices"
	"strings"
	"time"

	"github.com/kvxfer/kvxfer/ownership/explain"
)

// Explain says for each region why it is still owned: which accessor, since
// when, which event, and what proof would free it; who pins which blocks, and which
// messages wait. Like Snapshot it takes time
// in proportion to what is owned.
func (e *Endpoint) Explain() *explain.Report {
	elapsed, taken := e.now(), time.Now()
	return explain.Of(explain.Endpoint{
		Name: e.config.Name, Incarnation: e.Incarnation(), Taken: taken, Elapsed: elapsed, Pools: e.explainPools(),
		Fences: e.explainFences(),
	}, e.registry.Snapshot())
}

// explainPools explains the regions that are divided into blocks, by their ids.
func (e *Endpoint) explainPools() []explain.Pool {
	list := []explain.Pool{}
	for _, p := range e.pools() {
		list = append(list, explain.PoolOf(p.region.id, p.blocks))
	}
	slices.SortFunc(list, func(a, b explain.Pool) int { return strings.Compare(a.Region, b.Region) })
	return list
}
