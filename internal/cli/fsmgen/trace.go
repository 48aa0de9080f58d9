// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm/load"
)

func traceCommand() *cobra.Command {
	var anywhere bool
	cmd := &cobra.Command{
		Use:   "trace NAME [FILE]",
		Short: "Check a log of steps against a machine's spec",
		Long: "trace reads lines of STATE EVENT STATE (before, offered, after), from a file or the standard input, and\n" +
			"names the first line that the spec does not allow. With a fourth word in front, that names the instance,\n" +
			"a log of many machines is checked, each on its own. Empty lines and lines that start with # are skipped.\n" +
			"The first step of an instance starts in the initial state, unless --anywhere is given.",
		Example: "  fsmgen trace claim steps.log\n  myserver | fsmgen trace claim",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := loadMachine(cmd, args[0])
			if err != nil {
				return err
			}
			in, name := cmd.InOrStdin(), "stdin"
			if len(args) == 2 {
				f, err := os.Open(args[1])
				if err != nil {
					return err
				}
				defer f.Close()
				in, name = f, args[1]
			}
			c := &traceCheck{m: m, anywhere: anywhere, at: map[string]int{}}
			return c.run(in, name, cmd.OutOrStdout())
		},
	}
	cmd.Flags().String("spec", "spec", "folder of the specs")
	cmd.Flags().BoolVar(&anywhere, "anywhere", false, "the first step of an instance may start in any state")
	return cmd
}

// loadMachine picks one machine by name.
func loadMachine(cmd *cobra.Command, name string) (*load.Machine, error) {
	sp, err := loadOne(cmd, name)
	if err != nil {
		return nil, err
	}
	m, ok := sp.(*load.Machine)
	if !ok {
		return nil, usageError("%s is a %v, expected a machine", name, sp.Header().Kind)
	}
	return m, nil
}

// traceCheck follows the state of each instance through a log.
type traceCheck struct {
	m        *load.Machine
	anywhere bool
	at       map[string]int // state of each instance seen
	steps    int
}

func (c *traceCheck) run(in io.Reader, name string, stdout io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if bad := c.step(words); bad != "" {
			fmt.Fprintf(stdout, "%s:%d: %s\n", name, n, bad)
			return errFinding
		}
		c.steps++
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(stdout, "%d steps of %d instances agree with %s\n", c.steps, len(c.at), c.m.Name)
	return nil
}

// step judges one line; it returns what is wrong with it, or "".
func (c *traceCheck) step(words []string) string {
	instance := ""
	if len(words) == 4 {
		instance, words = words[0]+": ", words[1:]
	}
	if len(words) != 3 {
		return fmt.Sprintf("%d words; expected STATE EVENT STATE, or INSTANCE STATE EVENT STATE", len(words))
	}
	states := c.m.StateEnum()
	from, ok := states.Lookup(words[0])
	if !ok {
		return fmt.Sprintf("%sunknown state %q", instance, words[0])
	}
	event, ok := c.m.EventEnum().Lookup(words[1])
	if !ok {
		return fmt.Sprintf("%sunknown event %q", instance, words[1])
	}
	to, ok := states.Lookup(words[2])
	if !ok {
		return fmt.Sprintf("%sunknown state %q", instance, words[2])
	}
	if before, seen := c.at[instance]; seen && before != from {
		return fmt.Sprintf("%sstarts in %s, but the step before ended in %s", instance, words[0], c.m.States[before].Name)
	} else if !seen && !c.anywhere && !c.m.States[from].Initial {
		return fmt.Sprintf("%sstarts in %s, but a new machine is in %s", instance, words[0], c.m.States[c.m.Initial()].Name)
	}
	if cell := c.m.Cells[from][event]; cell.To != to {
		return fmt.Sprintf("%s%s %s ends in %s, but the spec says %s", instance, words[0], words[1], words[2], c.m.Word(cell))
	}
	c.at[instance] = to
	return ""
}
