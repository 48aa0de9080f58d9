// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package yamlfile

import (
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// Document returns the root of a file's first document, and what is wrong with what
// follows it. The error is Problems too: there is no first document. The path is for
// messages alone.
func Document(path string, data []byte) (root *yaml.Node, after Problems, err error) {
	var first, next yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	switch err := dec.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, nil, Problems{{path, Pos{1, 1}, "the file is empty"}}
	case err != nil:
		return nil, nil, Problems{syntax(path, err)}
	}
	switch err := dec.Decode(&next); {
	case err == nil:
		after = Problems{{path, PosOf(&next), "a file holds one document"}}
	case !errors.Is(err, io.EOF):
		after = Problems{syntax(path, err)}
	}
	return first.Content[0], after, nil
}
