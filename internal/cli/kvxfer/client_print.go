// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/schollz/progressbar/v3"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/files"
)

// clientPrinter shows how far the files are: a bar on a terminal, a line now and then
// elsewhere, JSON Lines with --json.
type clientPrinter struct {
	app   *app
	flags *clientFlags
	flag  string // of the address

	mu    sync.Mutex
	bar   *progressbar.ProgressBar // guarded by mu; nil where nothing can be redrawn
	shown time.Time                // guarded by mu
	why   string                   // guarded by mu; told last
}

// progressEvent is how far the files are.
type progressEvent struct {
	Event string `json:"event"` // "progress"
	files.Progress
}

// fileEvent is what became of one file.
type fileEvent struct {
	Event string `json:"event"` // "done" or "failed"
	files.Result
	BytesPerSecond float64 `json:"bytes_per_second"`
	Why            string  `json:"why,omitempty"`  // failed
	Exit           int     `json:"exit,omitempty"` // failed: the exit code that this alone would have
}

// summaryEvent is the last line of --json.
type summaryEvent struct {
	Event          string        `json:"event"` // "summary"
	Peer           string        `json:"peer"`
	Files          int           `json:"files"`
	Failed         int           `json:"failed"`
	Bytes          int64         `json:"bytes"`   // of the files that are in place
	Resumed        int64         `json:"resumed"` // of these were there before
	Took           time.Duration `json:"took_ns"`
	Lives          int           `json:"lives"`
	BytesPerSecond float64       `json:"bytes_per_second"`
}

// title is what the progress is of.
func (p *clientPrinter) title(ended int) string {
	if n := len(p.flags.moves); n > 1 {
		return fmt.Sprintf("%d of %d files", ended, n)
	}
	return p.flags.moves[0].remote
}

func (p *clientPrinter) progress(g files.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case isTerminal(p.app.stderr):
		if p.bar == nil {
			p.bar = progressbar.NewOptions64(g.Size, progressbar.OptionSetWriter(p.app.stderr), progressbar.OptionShowBytes(true),
				progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		}
		p.bar.Describe(p.title(g.Ended))
		p.bar.ChangeMax64(max(1, g.Size)) // of a file that is received it is not known before
		if g.Bytes < g.Size || g.Ended == g.Files {
			_ = p.bar.Set64(g.Bytes)
		}
	case time.Since(p.shown) < 3*time.Second:
	case p.shown.IsZero(): // short transfers need no line
		p.shown = time.Now()
	case p.flags.json:
		p.shown = time.Now()
		_ = p.app.json(progressEvent{"progress", g})
	default:
		p.shown = time.Now()
		fmt.Fprintf(p.app.stderr, "%s: %s of %s\n", p.title(g.Ended), sizeText(g.Bytes), sizeText(g.Size))
	}
}

// ended tells of one file, with --json.
func (p *clientPrinter) ended(r files.Result) {
	if !p.flags.json {
		return
	}
	e := fileEvent{Event: "done", Result: r, BytesPerSecond: perSecond(r.Bytes-r.Resumed, r.Took)}
	if r.Err != nil {
		e.Event, e.Why, e.BytesPerSecond = "failed", r.Err.Error(), 0
		e.Exit = p.failed(r.Err).code
	}
	_ = p.app.json(e)
}

func perSecond(bytes int64, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return float64(bytes) / took.Seconds()
}

// event tells what hinders, once, and everything with --json.
func (p *clientPrinter) event(e files.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.flags.json:
		_ = p.app.json(e)
	case e.Why != "" && e.Why != p.why:
		p.why = e.Why
		fmt.Fprintln(p.app.stderr, eventText(e))
	}
}

func (p *clientPrinter) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// failed is the failure of one file.
func (p *clientPrinter) failed(err error) *failure {
	var f *failure
	if errors.As(networkFailure(p.flag, err), &f) {
		return f
	}
	return &failure{exit.Peer, err, ""}
}

// result prints the summary and returns why the command has failed, if it has: err, of
// the whole, or what files failed of.
func (p *clientPrinter) result(sum files.Summary, err error) error {
	e := summaryEvent{Event: "summary", Peer: sum.Peer, Files: len(sum.Results), Took: sum.Took, Lives: sum.Lives}
	var worst *failure
	for _, r := range sum.Results {
		if r.Err == nil {
			e.Bytes, e.Resumed = e.Bytes+r.Bytes, e.Resumed+r.Resumed
			continue
		}
		e.Failed++
		if f := p.failed(r.Err); worst == nil || f.code > worst.code {
			worst = f
		}
	}
	e.BytesPerSecond = perSecond(e.Bytes-e.Resumed, e.Took)
	if printed := p.print(sum, e); printed != nil {
		return printed
	}
	switch {
	case err != nil:
		return networkFailure(p.flag, err)
	case worst == nil:
		return nil
	case e.Files == 1:
		return worst
	}
	return &failure{worst.code, fmt.Errorf("%d of %d files failed: %w", e.Failed, e.Files, worst.err), worst.do}
}

func (p *clientPrinter) print(sum files.Summary, e summaryEvent) error {
	if p.flags.json {
		return p.app.json(e)
	}
	if e.Files > 1 {
		p.table(sum)
	}
	if e.Files == 1 && e.Failed > 0 || sum.Peer == "" { // or no peer was asked
		return nil
	}
	what := sum.Results[0].File
	if e.Files > 1 {
		what = fmt.Sprintf("%d of %d files", e.Files-e.Failed, e.Files)
	}
	fmt.Fprintf(p.app.stdout, "%s: %s with %s in %v, %s, %s of it were there before\n",
		what, sizeText(e.Bytes), sum.Peer, e.Took.Round(time.Millisecond), rateText(e.BytesPerSecond), sizeText(e.Resumed))
	if e.Files > 1 {
		return nil
	}
	fmt.Fprintln(p.app.stdout, "equal on both sides, by the SHA-256 of each chunk")
	if sha := sum.Results[0].SHA256; sha != "" {
		fmt.Fprintf(p.app.stdout, "sha256 %s\n", sha)
	}
	return nil
}

// table has one row a file.
func (p *clientPrinter) table(sum files.Summary) {
	t := p.app.newTable()
	head := table.Row{"file", "size", "there before", "time", "result"}
	if p.flags.sha256 {
		head = append(head, "sha256")
	}
	t.AppendHeader(head)
	for _, r := range sum.Results {
		result := p.app.paint("equal", text.FgGreen)
		if r.Err != nil {
			result = p.app.paint(oneLine(r.Err.Error()), text.FgRed)
		}
		row := table.Row{r.File, sizeText(r.Bytes), sizeText(r.Resumed), r.Took.Round(time.Millisecond), result}
		if p.flags.sha256 {
			row = append(row, r.SHA256)
		}
		t.AppendRow(row)
	}
	t.Render()
}
