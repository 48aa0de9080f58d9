// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/schollz/progressbar/v3"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/move"
)

// runPrinter prints one run: a first line that says what is used, progress
// while it goes, the timeline of the last transfer, and the sums; or JSON Lines.
type runPrinter struct {
	app    *app
	flags  *runFlags
	bar    *progressbar.ProgressBar // nil where nothing can be redrawn
	events []move.Event             // of the transfer that is going on
	last   []move.Event             // of the last transfer
}

// runEvent is one line of --json.
type runEvent struct {
	Event string `json:"event"` // run, timeline, transfer, fatal, summary
	// run
	Backend   string `json:"backend,omitempty"`
	Why       string `json:"why,omitempty"` // why it is not NIXL
	Library   string `json:"library,omitempty"`
	Version   string `json:"version,omitempty"`
	Transport string `json:"transport,omitempty"`
	Count     int    `json:"count,omitempty"`
	Sender    int    `json:"sender_pid,omitempty"`
	Receiver  int    `json:"receiver_pid,omitempty"`
	Admin     string `json:"admin,omitempty"` // where kvxfer explain can ask
	Plugin    string `json:"plugin,omitempty"`
	File      string `json:"file,omitempty"` // that the plugin offloads to
	// timeline, transfer
	Timeline *move.Event    `json:"timeline,omitempty"`
	Transfer *move.Transfer `json:"transfer,omitempty"`
	// summary
	Summary *runSummary `json:"summary,omitempty"`
}

type runSummary struct {
	Transfers         int            `json:"transfers"`
	Delivered         int            `json:"delivered"` // success on both sides, equal digests
	Proven            int            `json:"proven"`    // both owners released on proof
	Bytes             int64          `json:"bytes"`
	Took              time.Duration  `json:"took_ns"`
	BytesPerSecond    float64        `json:"bytes_per_second"` // while operations ran
	PostToDone        move.Latency   `json:"post_to_done"`
	RequestToReleased move.Latency   `json:"request_to_released"`
	Retained          []string       `json:"retained,omitempty"`
	Contained         string         `json:"contained,omitempty"`
	Recovery          *move.Recovery `json:"recovery,omitempty"`
}

func summaryOf(r *move.Report) runSummary {
	s := runSummary{
		Transfers: len(r.Transfers), Delivered: r.Delivered(), Proven: r.Proven(), Bytes: r.Bytes(), Took: r.Took,
		PostToDone: r.PostToDone(), RequestToReleased: r.RequestToReleased(), Retained: r.AllRetained(), Contained: r.Contained, Recovery: r.Recovery,
	}
	if t := s.PostToDone.Total; t > 0 {
		s.BytesPerSecond = float64(s.Bytes) / t.Seconds()
	}
	return s
}

func (p *runPrinter) began(first firstLine, receiver int) {
	switch {
	case p.flags.json:
		e := runEvent{Event: "run", Backend: first.backend, Why: first.why, Transport: first.transport, Count: p.flags.count,
			Sender: os.Getpid(), Receiver: receiver, Admin: p.flags.admin}
		if first.library != nil {
			e.Library, e.Version, e.Plugin, e.File = first.library.Path(), first.library.Version().String(), p.flags.plugin, p.flags.file
		}
		_ = p.app.json(e)
	case p.flags.storage():
		fmt.Fprintf(p.app.stdout, "NIXL %s, plugin %s: blocks go to a file and back, and an endpoint of its own owns the file\nlibrary     %s\nfile        %s\n",
			first.library.Version(), p.flags.plugin, first.library.Path(), p.flags.file)
	case first.library != nil:
		fmt.Fprintf(p.app.stdout, "NIXL %s, transport %s, two processes: process %d sends, process %d receives\nlibrary     %s\n",
			first.library.Version(), first.transport, os.Getpid(), receiver, first.library.Path())
	default:
		fmt.Fprintf(p.app.stdout, "NOT NIXL: the in-process loop backend, one process sends and receives (%s)\n", first.why)
	}
	if !p.flags.json {
		fmt.Fprintf(p.app.stdout, "shape       %s; %s\n", p.flags.shapeText(), plural(p.flags.count, "transfer"))
		p.hint()
	}
	if !p.flags.json && p.flags.count > 1 && isTerminal(p.app.stderr) {
		p.bar = progressbar.NewOptions(p.flags.count,
			progressbar.OptionSetWriter(p.app.stderr), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("transfers"), progressbar.OptionSetDescription("moving"), progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(50*time.Millisecond), progressbar.OptionClearOnFinish())
	}
}

// hint says how to look at the sender while it runs.
func (p *runPrinter) hint() {
	if p.flags.admin != "" {
		fmt.Fprintf(p.app.stdout, "admin       %s; in another terminal: kvxfer explain --addr %s\n", p.flags.admin, p.flags.admin)
	}
}

// event takes one line of the timeline. It is called from one goroutine.
func (p *runPrinter) event(e move.Event) {
	if p.flags.json {
		_ = p.app.json(runEvent{Event: "timeline", Timeline: &e})
		return
	}
	p.events = append(p.events, e)
}

func (p *runPrinter) transfer(t move.Transfer) {
	if p.flags.json {
		_ = p.app.json(runEvent{Event: "transfer", Transfer: &t})
		return
	}
	if p.flags.recover && t.Number == p.flags.count { // what it recovered from is to be seen
		p.events = append(p.last, p.events...)
	}
	p.last, p.events = p.events, nil
	if p.bar != nil {
		_ = p.bar.Add(1)
	}
}

// failed leaves the terminal as it was.
func (p *runPrinter) failed() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	if !p.flags.json {
		p.timeline(p.events)
	}
}

func (p *runPrinter) ended(r *move.Report) {
	s := summaryOf(r)
	if p.flags.json {
		_ = p.app.json(runEvent{Event: "summary", Summary: &s})
		return
	}
	if p.bar != nil {
		_ = p.bar.Finish()
	}
	p.timeline(append(p.last, p.events...))
	p.summary(r, s)
}

func (p *runPrinter) timeline(events []move.Event) {
	if len(events) == 0 {
		return
	}
	events = shown(move.Timeline(events))
	if len(events) == 0 {
		return
	}
	t := p.app.newTable()
	t.AppendHeader(table.Row{"ms", "side", "what", "event", "state"})
	for _, e := range events {
		t.AppendRow(table.Row{sinceText(e.Time.Sub(events[0].Time)), e.Side, firstWord(e.What), e.Event, p.stateText(e)})
	}
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, Align: text.AlignRight, Colors: p.app.colors(text.Faint)},
		{Number: 4, WidthMax: eventWidth(width(p.app.stdout)), WidthMaxEnforcer: text.WrapSoft},
	})
	t.Render()
}

// eventWidth is what the other columns leave of a terminal's width.
func eventWidth(terminal int) int {
	const others, least, most = 63, 16, 44
	if terminal == 0 {
		return most
	}
	return min(max(terminal-others, least), most)
}

// firstWord is enough where there is one peer: "claim" of "claim of decode".
func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// shown leaves out what endpoints say about themselves: it belongs to starting
// and stopping, not to the transfer.
func shown(events []move.Event) []move.Event {
	return slices.DeleteFunc(events, func(e move.Event) bool {
		return e.Session == "" && (e.What == "endpoint" || e.What == "admission")
	})
}

// stateText paints what a reader looks for: doubt, proof, and the answer.
func (p *runPrinter) stateText(e move.Event) string {
	switch s := e.State(); e.To {
	case "IN_DOUBT", "FAILED", "CANCELLED", "FATAL":
		return p.app.paint(s, text.FgYellow)
	case "DRAINED", "FAILED_QUIESCED", "SUCCEEDED", "RELEASED":
		return p.app.paint(s, text.FgGreen)
	default:
		return s
	}
}

func (p *runPrinter) summary(r *move.Report, s runSummary) {
	out := p.app.stdout
	n := len(r.Transfers)
	fmt.Fprintf(out, "delivered   %d of %d, %s, SHA-256 compared %s\n", s.Delivered, n, sizeText(s.Bytes), p.flags.compared())
	if n > 0 {
		last := r.Transfers[n-1]
		fmt.Fprintf(out, "sha256      %s  %s\n", last.Digest, p.digestText(last))
	}
	if s.Delivered > 0 {
		fmt.Fprintf(out, "throughput  %s while operations ran%s\n", rateText(s.BytesPerSecond), p.wholeRate(s))
		fmt.Fprintf(out, "latency     post to done         p50 %v  p95 %v  p99 %v\n", round(s.PostToDone.P50), round(s.PostToDone.P95), round(s.PostToDone.P99))
		fmt.Fprintf(out, "            request to released  p50 %v  p95 %v  p99 %v\n", round(s.RequestToReleased.P50), round(s.RequestToReleased.P95), round(s.RequestToReleased.P99))
	}
	word := p.app.paint(fmt.Sprintf("%d of %d", s.Proven, n), text.FgGreen)
	if s.Proven < n {
		word = p.app.paint(fmt.Sprintf("%d of %d", s.Proven, n), text.FgRed)
	}
	fmt.Fprintf(out, "released    on proof, on both sides: %s\n", word)
	p.retained(r)
}

// wholeRate is the rate with what is around the operations, where that is work:
// with a fault most of it is waiting for proof.
func (p *runPrinter) wholeRate(s runSummary) string {
	if p.flags.fault != "" {
		return ""
	}
	return fmt.Sprintf("; %s with making and checking the content", rateText(float64(s.Bytes)/s.Took.Seconds()))
}

// retained says what was not given back, and why that is right.
func (p *runPrinter) retained(r *move.Report) {
	if r.Recovery != nil {
		fmt.Fprintf(p.app.stdout, "recovered   incarnation %s follows %s, claims freed: %d\nproven      %s\n",
			r.Recovery.To, r.Recovery.From, r.Recovery.Fenced, r.Recovery.Proven)
	}
	for _, line := range r.AllRetained() {
		fmt.Fprintf(p.app.stdout, "retained    %s\n", line)
	}
	if r.Contained == "" {
		return
	}
	fmt.Fprintf(p.app.stdout, `why         an error is no proof, and neither is the death of the receiver: what had been
            handed to the system may still be on its way. Time is no proof either, so
            after the grace nothing is given back; the containment callback was called,
            once. This process contains the memory by ending.
`)
}

func (p *runPrinter) digestText(t move.Transfer) string {
	switch {
	case t.Delivered():
		return p.app.paint("equal on both sides", text.FgGreen)
	case t.Receiver != nil && t.Receiver.Digest != "" && t.Receiver.Digest != t.Digest:
		return p.app.paint("differs: "+t.Receiver.Digest, text.FgRed)
	}
	return "not delivered: " + t.Outcome + causeText(t.Cause)
}

func causeText(cause string) string {
	if cause == "" {
		return ""
	}
	return ", cause " + cause
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func sinceText(d time.Duration) string { return fmt.Sprintf("%.3f", float64(d.Microseconds())/1000) }

// round keeps three digits or so: more is noise.
func round(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(time.Millisecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}
