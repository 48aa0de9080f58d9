// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"slices"
	"testing"
	"time"
)

func TestTimelineIsByTimeAndKeepsEachSidesOrder(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	got := Timeline([]Event{
		{Time: at(3), Side: SideSender, Seq: 1, What: "c"},
		{Time: at(1), Side: SideReceiver, Seq: 1, What: "a"},
		{Time: at(2), Side: SideReceiver, Seq: 2, What: "b"},
		{Time: at(4), Side: SideSender, Seq: 2, What: "d"},
	})
	var order string
	for _, e := range got {
		order += e.What
	}
	if order != "abcd" {
		t.Errorf("order %q", order)
	}
}

func TestOf(t *testing.T) {
	got := Of("p/1@1", []Event{{Session: "p/1@1", What: "a"}, {Session: "p/2@1", What: "b"}, {What: "c"}})
	if !slices.EqualFunc(got, []string{"a", "c"}, func(e Event, w string) bool { return e.What == w }) {
		t.Errorf("got %v", got)
	}
}

func TestState(t *testing.T) {
	for want, e := range map[string]Event{"A → B": {From: "A", To: "B"}, "B": {To: "B"}, "": {}} {
		if got := e.State(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLatencyTakesMeasuredValues(t *testing.T) {
	var d []time.Duration
	for i := 100; i >= 1; i-- {
		d = append(d, time.Duration(i))
	}
	if got, want := LatencyOf(d), (Latency{Count: 100, P50: 50, P95: 95, P99: 99, Max: 100, Total: 5050}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := LatencyOf([]time.Duration{7}), (Latency{Count: 1, P50: 7, P95: 7, P99: 7, Max: 7, Total: 7}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := LatencyOf(nil); got != (Latency{}) {
		t.Errorf("got %+v", got)
	}
}
