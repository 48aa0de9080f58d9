// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/load"
)

func simCommand() *cobra.Command {
	var replicas int
	cmd := &cobra.Command{
		Use:   "sim NAME",
		Short: "Step a machine or a system by hand",
		Long: "sim shows the state of a machine and what each event would do, and reads events from the standard\n" +
			"input. Other words: undo, reset, trace (what was done so far), help, quit. For a system it reads calls,\n" +
			"one a line, and list says what each call would do.",
		Example: "  fsmgen sim claim\n  echo publish doubt settle | fsmgen sim claim",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sp, err := loadOne(cmd, args[0])
			if err != nil {
				return err
			}
			if sys, ok := sp.(*load.System); ok {
				if replicas < 1 || replicas > 8 {
					return usageError("--replicas %d: expected 1 to 8", replicas)
				}
				return simulateSystem(sys, replicas, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			m, ok := sp.(*load.Machine)
			if !ok {
				return usageError("%s is a %v, expected a machine or a system", args[0], sp.Header().Kind)
			}
			s := &simulation{m: m, out: cmd.OutOrStdout(), states: []int{m.Initial()}}
			return s.run(cmd.InOrStdin())
		},
	}
	cmd.Flags().String("spec", "spec", "folder of the specs")
	cmd.Flags().IntVar(&replicas, "replicas", 2, "members of each set of a system")
	return cmd
}

// simulation is a machine with the way it came.
type simulation struct {
	m      *load.Machine
	out    io.Writer
	states []int // the initial one, then the one after each event
	events []int
}

func (s *simulation) run(in io.Reader) error {
	s.show()
	words := bufio.NewScanner(in)
	words.Split(bufio.ScanWords)
	for words.Scan() {
		if words.Text() == "quit" {
			return nil
		}
		s.word(words.Text())
	}
	return words.Err()
}

// word does one thing that the user typed.
func (s *simulation) word(w string) {
	switch w {
	case "help":
		fmt.Fprintln(s.out, "type an event, or undo, reset, trace, help, quit")
	case "undo":
		if len(s.events) == 0 {
			fmt.Fprintln(s.out, "nothing to undo")
			return
		}
		s.events, s.states = s.events[:len(s.events)-1], s.states[:len(s.states)-1]
		s.show()
	case "reset":
		s.events, s.states = nil, s.states[:1]
		s.show()
	case "trace":
		for i, e := range s.events {
			fmt.Fprintf(s.out, "%s %s %s\n", s.m.States[s.states[i]].Name, s.m.Events[e].Name, s.m.States[s.states[i+1]].Name)
		}
	default:
		s.offer(w)
	}
}

func (s *simulation) offer(name string) {
	e, ok := s.m.EventEnum().Lookup(name)
	if !ok {
		fmt.Fprintf(s.out, "no event %q; type help\n", name)
		return
	}
	c := s.m.Cells[s.now()][e]
	because := ""
	if c.Why != "" {
		because = ": " + c.Why
	}
	fmt.Fprintf(s.out, "\n%s %s: %v%s\n", s.m.States[s.now()].Name, name, c.Result, because)
	s.events, s.states = append(s.events, e), append(s.states, c.To)
	if c.Result == fsm.Moved {
		s.show()
	}
}

func (s *simulation) now() int { return s.states[len(s.states)-1] }

// show prints the state and what each event would do in it.
func (s *simulation) show() {
	st := s.m.States[s.now()]
	tags := ""
	if len(st.Tags) > 0 {
		tags = " (" + strings.Join(st.Tags, ", ") + ")"
	}
	fmt.Fprintf(s.out, "%s%s: %s\n", st.Name, tags, st.Doc)
	width := 0
	for _, e := range s.m.Events {
		width = max(width, len(e.Name))
	}
	for j, e := range s.m.Events {
		c := s.m.Cells[s.now()][j]
		word := s.m.Word(c)
		if c.Result == fsm.Moved {
			word = "-> " + word
		}
		fmt.Fprintf(s.out, "  %-*s  %s\n", width, e.Name, word)
	}
}
