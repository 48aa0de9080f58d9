// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"encoding/json"
	"maps"
	"slices"
)

// Schema returns the JSON Schema (draft 2020-12) of mapping files. [Parse] is
// stricter: it also knows which names an expression has.
func Schema() []byte {
	text := map[string]any{"type": "string", "minLength": 1}
	object := func(required []string, properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "additionalProperties": false, "required": required, "properties": properties}
	}
	of := map[string]any{}
	for f := range fields {
		of[f] = text
	}
	records := map[string]any{}
	for name, required := range needs {
		records[name] = object(required, of)
	}
	record := object([]string{}, records)
	record["minProperties"], record["maxProperties"] = 1, 1
	list := map[string]any{"type": "array", "items": record}
	line := object([]string{"line"}, map[string]any{"line": text, "records": list})
	span := object([]string{"span", "on"}, map[string]any{
		"span": text, "on": text, "where": map[string]any{"type": "object", "additionalProperties": text}, "records": list,
	})
	doc := object([]string{"engine", "format", "rules"}, map[string]any{
		"engine": text, "format": map[string]any{"enum": slices.Sorted(maps.Keys(formats))},
		"rules": map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"oneOf": []any{line, span}}},
	})
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	doc["title"] = "kvxfer trace mapping"
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic("mapping: schema: " + err.Error()) // cannot be: it is made of maps, lists and strings
	}
	return append(b, '\n')
}
