// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/draw"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// drawings are the formats of draw.
var drawings = map[string]func(load.Spec) []byte{
	"svg":      picture,
	"mermaid":  ofMachine(draw.Mermaid),
	"dot":      ofMachine(draw.DOT),
	"markdown": draw.Matrix,
	"html":     draw.HTML,
}

// ofMachine makes a drawing of machines one of specs; nil for other kinds.
// picture is the diagram of a machine, or the overview of a system.
func picture(sp load.Spec) []byte {
	if s, ok := sp.(*load.System); ok {
		return draw.Overview(s)
	}
	return ofMachine(draw.SVG)(sp)
}

func ofMachine(f func(*load.Machine) []byte) func(load.Spec) []byte {
	return func(sp load.Spec) []byte {
		if m, ok := sp.(*load.Machine); ok {
			return f(m)
		}
		return nil
	}
}

func drawCommand() *cobra.Command {
	var format, file string
	formats := strings.Join(slices.Sorted(maps.Keys(drawings)), ", ")
	cmd := &cobra.Command{
		Use:     "draw NAME",
		Short:   "Draw a machine or a system, or show a matrix",
		Long:    "draw writes the diagram or the matrix of one spec to the standard output or to a file.",
		Example: "  fsmgen draw claim > claim.svg\n  fsmgen draw claim --format mermaid",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, known := drawings[format]
			if !known {
				return usageError("--format %q: expected one of %s", format, formats)
			}
			sp, err := loadOne(cmd, args[0])
			if err != nil {
				return err
			}
			data := f(sp)
			if data == nil {
				return usageError("%s is a %v; the format %s does not show it", args[0], sp.Header().Kind, format)
			}
			if file != "" {
				abs, err := filepath.Abs(file)
				if err != nil {
					return err
				}
				return replace(abs, data)
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
	cmd.Flags().String("spec", "spec", "folder of the specs")
	cmd.Flags().StringVar(&format, "format", "svg", "one of "+formats)
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file")
	return cmd
}

// loadOne reads all specs and picks one by name.
func loadOne(cmd *cobra.Command, name string) (load.Spec, error) {
	mod, err := findModule()
	if err != nil {
		return nil, err
	}
	set, _, err := mod.loadSpecs(cmd)
	if err != nil {
		return nil, err
	}
	sp := set.Lookup(name)
	if sp == nil {
		var names []string
		for _, s := range set.Specs {
			names = append(names, s.Header().Name)
		}
		return nil, usageError("no spec %q; there are %s", name, strings.Join(names, ", "))
	}
	return sp, nil
}
