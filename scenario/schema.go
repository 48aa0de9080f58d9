// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"maps"
	"slices"
)

// node is a part of a JSON Schema.
type node = map[string]any

// Schema returns the JSON Schema (draft 2020-12) of scenario files, for editors
// that complete and check YAML while it is typed. [Parse] is stricter: it also
// knows which names a file has.
func Schema() []byte {
	doc := object([]string{"name", "steps"}, node{
		"name": text("the file's name without its ending"), "about": text("one plain sentence"),
		"row":    node{"type": "integer", "minimum": 1, "description": "a row of the catalogue"},
		"config": configSchema(),
		"steps":  node{"type": "array", "minItems": 1, "items": stepSchema()},
	})
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	doc["title"] = "kvxfer scenario"
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic("scenario: schema: " + err.Error()) // cannot be: it is made of maps, lists and strings
	}
	return append(b, '\n')
}

func object(required []string, properties node) node {
	n := node{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		n["required"] = required
	}
	return n
}

func text(what string) node { return node{"type": "string", "minLength": 1, "description": what} }

func oneWord[T any](m map[string]T) node { return node{"enum": slices.Sorted(maps.Keys(m))} }

func list1(items node) node { return node{"type": "array", "items": items} }

var (
	nameNode     = node{"type": []string{"string", "integer", "number", "boolean"}}
	durationNode = node{"type": []string{"string", "number"}, "description": "a Go duration such as 1500ms"}
	countNode    = node{"type": "integer", "minimum": 1}
	numberNode   = node{"type": "integer"}
	truthNode    = node{"type": "boolean"}
)

func configSchema() node {
	return object(nil, node{
		"request_timeout": durationNode, "grace": durationNode,
		"owners": countNode, "sessions": countNode, "tombstones": countNode, "peer_tombstones": countNode, "outbox": countNode, "peer_outbox": countNode,
		"quarantine": oneWord(quarantines), "transport": oneWord(transports),
		"containment": oneWord(failing), "register": oneWord(failing),
	})
}

// stepSchemas are the values of the steps.
func stepSchemas() node {
	names := node{"anyOf": []node{nameNode, list1(nameNode)}}
	peer := object([]string{"session", "from"}, node{"session": nameNode, "from": nameNode})
	call := object([]string{"call"}, node{"call": oneWord(callKinds), "piece": nameNode, "to": nameNode})
	counted := object([]string{"count", "candidates"}, node{"count": numberNode, "candidates": list1(nameNode)})
	fenced := object([]string{"accessor"}, node{"accessor": nameNode, "scope": oneWord(scopes)})
	as := node{"anyOf": []node{{"enum": []string{"current", "stale"}}, object(nil, node{
		"attempt": numberNode, "incarnation": node{"enum": []string{"old", "current"}},
	})}}
	return node{
		"session": object([]string{"id", "side"}, node{"id": nameNode, "side": oneWord(sides), "attempt": numberNode}),
		"piece": object([]string{"session", "id", "region", "cohort"}, node{
			"session": nameNode, "id": nameNode, "region": nameNode, "kind": oneWord(pieceKinds), "local": truthNode,
			"access": oneWord(accesses),
			"cohort": node{"anyOf": []node{list1(nameNode), counted}},
		}),
		"seal": names, "sent": names, "publish": names,
		"send_failed": object([]string{"piece", "published"}, node{"piece": nameNode, "published": list1(nameNode)}),
		"cancel":      object([]string{"session"}, node{"session": nameNode, "by": oneWord(origins), "from": nameNode, "attempt": numberNode}),
		"fail":        object(nil, node{"session": nameNode, "piece": nameNode, "reason": nameNode}),
		"report":      object([]string{"piece", "from", "evidence"}, node{"piece": nameNode, "from": nameNode, "evidence": oneWord(evidences), "as": as}),
		"ack":         peer, "request": peer,
		"operation": object([]string{"piece", "to", "status"}, node{"piece": nameNode, "to": nameNode, "status": oneWord(statuses)}),
		"local":     object([]string{"piece", "event"}, node{"piece": nameNode, "event": oneWord(locals)}),
		"fence":     node{"anyOf": []node{nameNode, fenced}},
		"gone":      nameNode, "complete": nameNode, "close": nameNode, "reuse": nameNode,
		"advance": durationNode, "stop": oneWord(registries), "reopen": oneWord(registries), "expire": oneWord(expirable),
		"watermark": object([]string{"below"}, node{"below": nameNode}),
		"deliver":   object([]string{"to", "result"}, node{"to": nameNode, "result": oneWord(results)}),
		"begin":     call, "end": call,
	}
}

// stepSchema is one key that says what to do, or none and an expectation.
func stepSchema() node {
	properties := stepSchemas()
	does := []node{{"required": []string{"expect"}}}
	for _, kind := range slices.Sorted(maps.Keys(properties)) {
		does = append(does, node{"required": []string{kind}})
	}
	properties["expect"], properties["error"] = expectSchema(), oneWord(kinds)
	step := object(nil, properties)
	step["anyOf"] = does
	step["maxProperties"] = 3
	return step
}

func expectSchema() node {
	each := func(word node) node { return node{"type": "object", "additionalProperties": word} }
	piece := node{
		"claims": each(oneWord(claimStates)), "verdicts": each(oneWord(verdictStates)), "gate": oneWord(gateStates),
		"drained": truthNode, "invalid": truthNode, "outcome": oneWord(outcomeStates),
		"local": node{"enum": append(slices.Sorted(maps.Keys(claimStates)), "none")},
	}
	session := node{
		"outcome": oneWord(outcomeStates), "origin": oneWord(allOrigins), "cause": nameNode,
		"released": numberNode, "closed": truthNode, "physical": oneWord(physicals),
	}
	registry := node{
		"admission": oneWord(admissions), "owners": numberNode, "retained": numberNode, "fatal": truthNode, "contained": numberNode,
		"stale": numberNode, "duplicates": numberNode, "ignored": numberNode, "outbox": numberNode,
	}
	own := node{"registry": object(nil, registry)}
	maps.Copy(own, piece)
	maps.Copy(own, session)
	maps.Copy(own, registry)
	n := object(nil, own)
	n["patternProperties"] = node{
		"^piece .": object(nil, piece), "^session .": object(nil, session), "^outbox .": list1(oneWord(labels)),
	}
	return n
}
