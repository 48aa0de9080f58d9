// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
)

func sample() *Report {
	const mib = 1 << 20
	ms := func(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }
	today := Half{Outcome: "success", InFlight: true, Steps: []Step{
		{ms(132), Primed, "done; the connection is up"},
		{ms(134.2), Stopped, "SIGSTOP, confirmed by wait4"},
		{ms(135), Posted, "post_xfer_req = 1 (in progress)"},
		{ms(135.1), Cancelled, "the request is forgotten"},
		{ms(135.2), Released, "release_xfer_req = 0 (success)"},
		{ms(159.4), Reused, "another request writes its bytes into it"},
		{ms(159.5), Overdue, "nobody waits"},
		{ms(161.9), Continued, "SIGCONT"},
		{ms(255.6), Ended, "goes on; nobody is told when it ends"},
		{ms(255.7), Closed, "nothing is left to close"},
		{ms(255.8), Outcome, "the caller was told: success"},
	}}
	owned := Half{Outcome: "CANCELLED", InFlight: true, Steps: []Step{
		{ms(132), Primed, "done; the connection is up"},
		{ms(134.2), Stopped, "SIGSTOP, confirmed by wait4"},
		{ms(135), Posted, "SUBMITTED; claim PUBLISHED"},
		{ms(135.1), Cancelled, "outcome CANCELLED; memory DRAINING"},
		{ms(135.2), Released, "kept with its request and memory"},
		{ms(135.4), Reused, "reuse is refused: claim <PUBLISHED>"},
		{ms(385.5), Overdue, "overdue: claim IN_DOUBT, peer told"},
		{ms(386.9), Continued, "SIGCONT"},
		{ms(420.6), Ended, "DONE, by its own handle: FAILED_QUIESCED"},
		{ms(421.7), Closed, "released; reuse is allowed"},
		{ms(421.8), Outcome, "the caller was told: CANCELLED"},
	}}
	for i := range 64 {
		o := blocks.Origins{Foreign: mib}
		switch {
		case i < 3:
			o = blocks.Origins{Own: mib}
		case i == 3:
			o = blocks.Origins{Own: 770972, Foreign: mib - 770972}
		}
		today.Map = append(today.Map, o)
		owned.Map = append(owned.Map, blocks.Origins{Own: mib})
	}
	today.Arrived, owned.Arrived = sum(today.Map), sum(owned.Map)
	return &Report{Version: "1.5.1", Transport: TCP, Op: Write, Bytes: 64 * mib, Pairs: []Pair{{today, owned}, {today, owned}}}
}

func TestPictureIsWellFormed(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("KVXFER_WRITE_PICTURE"); path != "" {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	counts := map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if a.Name.Local == "class" {
					counts[a.Value]++
				}
				if a.Name.Local == "href" || strings.Contains(a.Value, "url(") {
					t.Errorf("refers to something outside of itself: %v", a)
				}
			}
		}
	}
	if counts["cell"] != 128 || counts["foreign"] != 61+1 || counts["own"] != 4+64+1 || counts["bad"] != 1 || counts["good"] != 1 {
		t.Errorf("drawn: %v", counts)
	}
	for _, want := range []string{"63,192,164", "claim &lt;PUBLISHED&gt;", "in 2 of 2 runs today", "prefers-color-scheme"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("picture lacks %q", want)
		}
	}
}

func TestPictureOfNothing(t *testing.T) {
	if err := new(Report).WriteSVG(io.Discard); err == nil {
		t.Error("drew an empty report")
	}
}

func TestTally(t *testing.T) {
	r := &Report{}
	for _, n := range []int64{5, 0, 9, 7} {
		r.Pairs = append(r.Pairs, Pair{Today: Half{Arrived: blocks.Origins{Foreign: n}}})
	}
	if got, want := r.TallyOf(Today), (Tally{Runs: 4, Showed: 3, Min: 0, Median: 6, Max: 9}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := r.TallyOf(Owned), (Tally{Runs: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 63192164: "63,192,164", -1234: "-1,234", -123: "-123"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
