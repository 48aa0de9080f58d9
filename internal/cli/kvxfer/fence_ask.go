// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/kvxfer/kvxfer/transfer/admin"
)

// complete asks for what a statement lacks, where somebody can be asked, and then
// whether it is meant. Without a terminal it refuses what is not complete.
func (a *app) complete(ctx context.Context, order *admin.FenceOrder, d *admin.Demand) error {
	stdin, terminal := a.stdin.(*os.File)
	if terminal = terminal && term.IsTerminal(int(stdin.Fd())); !terminal {
		return incomplete(order, d)
	}
	asked := incomplete(order, d) != nil
	q := questions{ctx: ctx, from: bufio.NewReader(a.stdin), to: a.stderr}
	if order.By == "" {
		order.By = q.ask("your name, to be asked later: ")
	}
	for _, f := range d.Facts {
		if order.Checked[f.Name] == "" {
			order.Checked[f.Name] = q.ask(fmt.Sprintf("%s: %s.\n  How was that checked? (nothing: it was not) ", f.Name, f.Meaning))
		}
	}
	if q.err != nil {
		return q.err
	}
	if err := incomplete(order, d); err != nil || !asked {
		return err
	}
	if q.ask(fmt.Sprintf("Memory is given back on this. Type %s to state it: ", order.Accessor)) != order.Accessor && q.err == nil {
		return usagef("nothing was fenced", "it was not stated")
	}
	return q.err
}

// incomplete says what a statement lacks.
func incomplete(order *admin.FenceOrder, d *admin.Demand) error {
	var missing []string
	if strings.TrimSpace(order.By) == "" {
		missing = append(missing, "--by NAME")
	}
	for _, f := range d.Facts {
		if strings.TrimSpace(order.Checked[f.Name]) == "" {
			missing = append(missing, fmt.Sprintf("--checked %s=HOW (%s)", f.Name, f.Meaning))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return usagef("nothing was fenced", "the statement lacks %s", strings.Join(missing, ", "))
}

// questions are asked one after the other; after an error no more.
type questions struct {
	ctx  context.Context
	from *bufio.Reader
	to   io.Writer
	err  error
}

func (q *questions) ask(text string) string {
	if q.err != nil {
		return ""
	}
	fmt.Fprint(q.to, text)
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() { text, err := q.from.ReadString('\n'); read <- line{text, err} }() // it may outlive a Ctrl-C; the program ends then
	select {
	case l := <-read:
		if l.err != nil {
			q.err = usagef("nothing was fenced", "standard input ended before all was answered")
		}
		return strings.TrimSpace(l.text)
	case <-q.ctx.Done():
		q.err = context.Cause(q.ctx)
		return ""
	}
}
