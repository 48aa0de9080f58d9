// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import "go.yaml.in/yaml/v3"

// Parse returns the YAML document of a spec file with its comments, as far as the
// language allows it: one document, a mapping, without anchors, aliases and tags.
func Parse(src *Source) (*yaml.Node, error) {
	var errs Errors
	doc := src.document(&errs)
	if doc != nil {
		r := &reader{file: src.File, errs: &errs}
		if top := doc.Content[0]; r.plain(top, 0) && top.Kind != yaml.MappingNode {
			r.errorf(top, "expected machine:, table: or system: with a name, found %s", describe(top))
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return doc, nil
}
