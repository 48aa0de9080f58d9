// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/files"
)

// sendPrinter shows how far a file is: a bar on a terminal, a line now and then
// elsewhere, JSON Lines with --json.
type sendPrinter struct {
	app   *app
	flags *clientFlags

	mu    sync.Mutex
	bar   *progressbar.ProgressBar // guarded by mu; nil where nothing can be redrawn
	shown time.Time                // guarded by mu
	why   string                   // guarded by mu; told last
}

// progressEvent is how far a file is.
type progressEvent struct {
	Event string `json:"event"` // "progress"
	Bytes int64  `json:"bytes"`
	Size  int64  `json:"size"`
}

// resultEvent is the last line of --json.
type resultEvent struct {
	Event string `json:"event"` // "done"
	files.Result
	BytesPerSecond float64 `json:"bytes_per_second"`
}

func (p *sendPrinter) progress(done, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case isTerminal(p.app.stderr):
		if p.bar == nil {
			p.bar = progressbar.NewOptions64(size, progressbar.OptionSetWriter(p.app.stderr), progressbar.OptionShowBytes(true),
				progressbar.OptionSetDescription(p.flags.as), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		}
		_ = p.bar.Set64(done)
	case time.Since(p.shown) < 3*time.Second:
	case p.shown.IsZero(): // short transfers need no line
		p.shown = time.Now()
	case p.flags.json:
		p.shown = time.Now()
		_ = p.app.json(progressEvent{"progress", done, size})
	default:
		p.shown = time.Now()
		fmt.Fprintf(p.app.stderr, "%s: %s of %s\n", p.flags.as, sizeText(done), sizeText(size))
	}
}

// event tells what hinders, once, and everything with --json.
func (p *sendPrinter) event(e files.Event) {
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

func (p *sendPrinter) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

func (p *sendPrinter) result(r files.Result) error {
	rate := 0.0
	if r.Took > 0 {
		rate = float64(r.Bytes-r.Resumed) / r.Took.Seconds()
	}
	if p.flags.json {
		return p.app.json(resultEvent{"done", r, rate})
	}
	_, err := fmt.Fprintf(p.app.stdout, "%s: %s with %s in %v, %s, %s of it were there before\ndigest %s, equal on both sides\n",
		r.File, sizeText(r.Bytes), r.Peer, r.Took.Round(time.Millisecond), rateText(rate), sizeText(r.Resumed), r.Digest)
	return err
}
