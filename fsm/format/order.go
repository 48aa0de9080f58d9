// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Orders of keys in the language. Keys that are not listed keep their place, after
// those that are.
var (
	machineKeys = []string{"machine", "doc", "states", "events", "cells", "never"}
	tableKeys   = []string{"table", "doc", "enums", "inputs", "outputs", "invalid", "rules"}
	stateKeys   = []string{"code", "initial", "final", "tags", "doc"}
	columnKeys  = []string{"type", "optional", "keep", "doc"}
	enumKeys    = []string{"doc", "values"}
	neverKeys   = []string{"from", "to", "without", "doc"}
	ruleKeys    = []string{"when", "then", "why"}
	systemKeys  = []string{"system", "doc", "scenario", "replicas", "machines", "tables", "enums", "environments", "constants", "horizon",
		"variables", "initially", "define", "effects", "procedures", "actions", "reactions", "invariants", "fair", "liveness", "survivors"}
	actionKeys   = []string{"doc", "environment", "scenario", "assume", "when", "refuse", "do", "world"}
	propertyKeys = []string{"doc", "state", "step", "after", "from", "then", "eventually", "refuted"}
)

// reorder puts keys into the order of the language, and rows and cells into that
// of the states and events.
func reorder(top *yaml.Node) {
	switch {
	case get(top, "machine") != nil:
		sortKeys(top, machineKeys)
		each(get(top, "states"), func(n *yaml.Node) { sortKeys(n, stateKeys) })
		each(get(top, "events"), func(n *yaml.Node) { sortKeys(n, stateKeys) })
		cells := get(top, "cells")
		sortKeys(cells, keys(get(top, "states")))
		each(cells, func(n *yaml.Node) { sortKeys(n, keys(get(top, "events"))) })
		if never := get(top, "never"); never != nil && never.Kind == yaml.SequenceNode {
			for _, r := range never.Content {
				sortKeys(r, neverKeys)
			}
		}
	case get(top, "table") != nil:
		sortKeys(top, tableKeys)
		each(get(top, "enums"), func(n *yaml.Node) {
			sortKeys(n, enumKeys)
			each(get(n, "values"), func(v *yaml.Node) { sortKeys(v, stateKeys) })
		})
		each(get(top, "inputs"), func(n *yaml.Node) { sortKeys(n, columnKeys) })
		each(get(top, "outputs"), func(n *yaml.Node) { sortKeys(n, columnKeys) })
		if rules := get(top, "rules"); rules != nil && rules.Kind == yaml.SequenceNode {
			for _, r := range rules.Content {
				sortKeys(r, ruleKeys)
				sortKeys(get(r, "when"), keys(get(top, "inputs")))
				sortKeys(get(r, "then"), keys(get(top, "outputs")))
			}
		}
	case get(top, "system") != nil:
		sortKeys(top, systemKeys)
		each(get(top, "actions"), func(n *yaml.Node) { sortKeys(n, actionKeys) })
		each(get(top, "reactions"), func(n *yaml.Node) { sortKeys(n, actionKeys) })
		each(get(top, "invariants"), func(n *yaml.Node) { sortKeys(n, propertyKeys) })
		each(get(top, "liveness"), func(n *yaml.Node) { sortKeys(n, propertyKeys) })
	}
}

func get(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func keys(n *yaml.Node) []string {
	var out []string
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			out = append(out, n.Content[i].Value)
		}
	}
	return out
}

func each(n *yaml.Node, f func(*yaml.Node)) {
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 1; i < len(n.Content); i += 2 {
			f(n.Content[i])
		}
	}
}

// sortKeys sorts the entries of a mapping, stably.
func sortKeys(n *yaml.Node, order []string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	rank := func(k *yaml.Node) int {
		if i := slices.Index(order, k.Value); i >= 0 {
			return i
		}
		return len(order)
	}
	type pair [2]*yaml.Node
	var pairs []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		pairs = append(pairs, pair{n.Content[i], n.Content[i+1]})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return rank(a[0]) - rank(b[0]) })
	for i, p := range pairs {
		n.Content[2*i], n.Content[2*i+1] = p[0], p[1]
	}
}
