// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of one line of a trace. It is made
// from the types that lines are read into, so that it has every field.
func Schema() []byte {
	line := object(reflect.TypeFor[Record]())
	properties := line["properties"].(map[string]any)
	properties["effect"] = map[string]any{"enum": effectNames}
	known := append(slices.Sorted(maps.Keys(steps)), stepLost, stepEnd)
	slices.Sort(known)
	properties["step"] = map[string]any{"enum": known}
	line["oneOf"] = []any{
		map[string]any{"required": []string{"trace"}}, map[string]any{"required": []string{"step"}}, map[string]any{"required": []string{"effect"}},
	}
	line["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	line["title"] = "a line of a kvxfer trace"
	b, err := json.MarshalIndent(line, "", "  ")
	if err != nil {
		panic("trace: schema: " + err.Error()) // cannot be: it is made of maps, lists and strings
	}
	return append(b, '\n')
}

// object describes a struct; fields that may be left out are not required.
func object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		name, rest, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		properties[name] = described(t.Field(i).Type)
		if rest == "" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
}

func described(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return described(t.Elem())
	case reflect.Struct:
		return object(t)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": described(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	}
	return map[string]any{"type": "integer"}
}
