// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package export

import _ "embed"

//go:embed spec.schema.json
var schema []byte

// Schema returns the JSON Schema of the spec language. It accepts what the loader
// accepts; the loader also checks what a schema cannot say, such as that no cell
// is left out.
func Schema() []byte { return schema }
