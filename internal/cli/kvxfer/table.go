// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
)

// newTable is a table on standard output in the one style of this command.
func (a *app) newTable() table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(a.stdout)
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns = false
	if w := width(a.stdout); w > 0 {
		t.Style().Size.WidthMax = w
	}
	return t
}

// colourful reports whether escape codes belong on standard output.
func (a *app) colourful() bool { return isTerminal(a.stdout) && os.Getenv("NO_COLOR") == "" }

func (a *app) colors(c ...text.Color) text.Colors {
	if !a.colourful() {
		return nil
	}
	return c
}

func (a *app) paint(s string, c ...text.Color) string {
	if !a.colourful() {
		return s
	}
	return text.Colors(c).Sprint(s)
}

// completeWords offers the values of a flag that has few.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}
