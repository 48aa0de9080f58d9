// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/codegen"
	"github.com/kvxfer/kvxfer/fsm/draw"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// addDocuments adds a page for every spec, with a picture for every machine, and
// an index page.
func (o *output) addDocuments(dir string, set *load.Set, specName func(string) string) {
	index := new(bytes.Buffer)
	fmt.Fprintf(index, "# Machines, tables and systems\n\nOne page for each spec. Everything here is generated; change the specs.\n\n| page | kind | what it is |\n|---|---|---|\n")
	for _, sp := range set.Specs {
		h := sp.Header()
		file := specName(h.Source.File)
		image := ""
		if data := picture(sp); data != nil {
			image = h.Name + ".svg"
			o.addMarked(filepath.Join(dir, image), file, data)
		}
		o.addMarked(filepath.Join(dir, h.Name+".md"), file, draw.Page(sp, file, image))
		fmt.Fprintf(index, "| [%s](%s.md) | %v | %s |\n", h.Name, h.Name, h.Kind, h.Doc)
	}
	if len(set.Specs) > 0 {
		o.addMarked(filepath.Join(dir, "README.md"), filepath.ToSlash(filepath.Dir(specName(set.Specs[0].Header().Source.File))), index.Bytes())
	}
}

// addMarked adds a document under the marker that makes it ours to replace.
func (o *output) addMarked(file, spec string, data []byte) {
	marker := "<!-- " + strings.TrimPrefix(codegen.Marker(spec), "// ") + " -->\n"
	o.add(file, append([]byte(marker), data...))
}
