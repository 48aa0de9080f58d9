// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// numbered fills every counter with a number of its own.
func numbered(c any, from uint64) uint64 {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(int64(from))
			from++
		case reflect.Uint64:
			f.SetUint(from)
			from++
		}
	}
	return from
}

// TestEveryCounterIsAMetric: each counter is there once, under its own name.
func TestEveryCounterIsAMetric(t *testing.T) {
	var c Counters
	next := numbered(&c.Counters, 1)
	last := numbered(&c, next)
	var m metrics
	m.ownership(c.Counters)
	m.runtime(c)
	seen := map[float64]string{}
	for _, metric := range m {
		if other := seen[metric.Value]; other != "" || metric.Value < 1 {
			t.Errorf("%s has the value of %q", metric.Name, other)
		}
		seen[metric.Value] = metric.Name
	}
	for n := uint64(1); n < last; n++ {
		if seen[float64(n)] == "" {
			t.Errorf("counter %d of %d is no metric", n, last-1)
		}
	}
	for name, value := range map[string]float64{
		"kvxfer_pieces_admitted_total": float64(c.Admitted), "kvxfer_pieces_unproven": float64(c.Retained), "kvxfer_sessions": float64(c.Sessions),
		"kvxfer_stale_evidence_total": float64(c.Stale), "kvxfer_conflicts_total": float64(c.Conflicts), "kvxfer_contained": float64(c.Contained),
		"kvxfer_protocol_violations_total": float64(c.ProtocolViolations), "kvxfer_progress_errors_total": float64(c.ProgressErrors),
	} {
		if seen[value] != name {
			t.Errorf("%s is %q", name, seen[value])
		}
	}
}

// TestEachEffectHasALine: its level, words and attributes.
func TestEachEffectHasALine(t *testing.T) {
	s := ownership.SessionName{Request: ownership.RequestID{Endpoint: "e", Number: 1}, Attempt: 1}
	p := ownership.PieceName{Session: s, Piece: "p"}
	out := ownership.Outgoing{To: ownership.Member{Accessor: "a"}, Message: &ownership.SessionQuiesced{Name: s}}
	for _, tc := range []struct {
		effect ownership.Effect
		want   string
	}{
		{&ownership.GateMoved{Piece: p, From: 1, To: 2}, "DEBUG gate moved session=e/1@1 piece=p from=OPEN to=PUBLISHING"},
		{&ownership.PieceEnded{Piece: p, Outcome: outcome.Failed, Cause: ownership.CauseDoubt, Origin: ownership.FromPeer},
			"DEBUG piece ended session=e/1@1 piece=p outcome=FAILED cause=doubt origin=peer"},
		{&ownership.PieceEnded{Piece: p, Outcome: outcome.Succeeded}, "DEBUG piece ended session=e/1@1 piece=p outcome=SUCCEEDED"},
		{&ownership.PieceInvalid{Piece: p}, "ERROR piece invalid: contradictory evidence session=e/1@1 piece=p"},
		{&ownership.SessionEnded{Session: s, Outcome: outcome.Cancelled, Cause: ownership.CauseCancel, Origin: ownership.FromLocal},
			"INFO session ended session=e/1@1 outcome=CANCELLED cause=cancel origin=local"},
		{&ownership.SessionSettled{Session: s}, "DEBUG session settled session=e/1@1"},
		{&ownership.SessionUnsettled{Session: s}, "WARN session unsettled session=e/1@1"},
		{&ownership.SessionClosed{Session: s}, "DEBUG session closed session=e/1@1"},
		{&ownership.Released{Piece: p, Region: "R"}, "INFO memory released session=e/1@1 piece=p region=R"},
		{&ownership.Queued{Outgoing: out}, "DEBUG report queued session=e/1@1 to=a report=SESSION_QUIESCED"},
		{&ownership.TakenBack{Outgoing: out}, "DEBUG report taken back session=e/1@1 to=a report=SESSION_QUIESCED"},
		{&ownership.AdmissionChanged{From: ownership.AdmissionOpen, To: ownership.AdmissionQuarantined}, "WARN admission changed from=OPEN to=QUARANTINED"},
		{&ownership.AdmissionChanged{From: ownership.AdmissionQuarantined, To: ownership.AdmissionOpen}, "INFO admission changed from=QUARANTINED to=OPEN"},
		{&ownership.AdmissionChanged{From: ownership.AdmissionOpen, To: ownership.AdmissionFatal}, "ERROR admission changed from=OPEN to=FATAL"},
	} {
		level, message, attrs := described(Event{Effect: tc.effect})
		got := level.String() + " " + message
		for _, a := range attrs() {
			got += " " + a.String()
		}
		if got != tc.want {
			t.Errorf("the line is %q, want %q", got, tc.want)
		}
	}
	if _, message, _ := described(Event{Effect: &ownership.FatalLatched{}}); message != "" {
		t.Errorf("the latch has the line %q, and has one of its own", message)
	}
	if claimLevel(claim.InDoubt) != slog.LevelWarn || claimLevel(claim.Drained) != slog.LevelDebug {
		t.Error("a doubt is a warning, and nothing else is")
	}
	if level, message, attrs := described(Event{Note: "note"}); level != slog.LevelDebug || message != "note" || len(attrs()) != 0 {
		t.Errorf("a note is %v %q %v", level, message, attrs())
	}
}

// TestReaderLosesWhatItSays: what does not fit is counted once, and the next event, or a
// note, says how much it was.
func TestReaderLosesWhatItSays(t *testing.T) {
	r := &reader{wake: newSignal()}
	for range maxBacklog + 3 {
		r.push(Event{Endpoint: "e", Elapsed: time.Second})
	}
	list := r.take()
	if len(list) != maxBacklog+1 || r.lost != 3 {
		t.Fatalf("%d events, %d lost", len(list), r.lost)
	}
	for i, ev := range list {
		if last := i == maxBacklog; last != (ev.Dropped == 3) || last != (ev.Note == "3 events were lost here, since their reader was slow") || ev.Elapsed != time.Second {
			t.Fatalf("event %d is %+v", i, ev)
		}
	}
	if list := r.take(); len(list) != 0 {
		t.Fatalf("%d events come again", len(list))
	}
	r.push(Event{Endpoint: "e"})
	if list := r.take(); len(list) != 1 || list[0].Dropped != 0 {
		t.Fatalf("%+v", list)
	}
}

// TestWaitingRequests: the table counts in all and by peer.
func TestWaitingRequests(t *testing.T) {
	w := waiting{byName: map[ownership.SessionName][]*Request{}, byPeer: map[ownership.Accessor]int{}}
	name := func(n uint64) ownership.SessionName {
		return ownership.SessionName{Request: ownership.RequestID{Endpoint: "e", Number: n}, Attempt: 1}
	}
	var list []*Request
	for i := range 9 {
		r := &Request{piece: ownership.PieceName{Session: name(uint64(i / 3)), Piece: fmt.Sprint(i)}}
		r.from = ownership.Member{Accessor: ownership.Accessor(fmt.Sprint("peer", i%2))}
		if w.has(r) || w.knows(r) || w.remove(r) {
			t.Fatalf("request %d is known before it came", i)
		}
		w.add(r)
		if !w.has(r) || !w.knows(r) || w.n != i+1 {
			t.Fatalf("request %d is not known, of %d", i, w.n)
		}
		list = append(list, r)
	}
	if want := map[ownership.Accessor]int{"peer0": 5, "peer1": 4}; !maps.Equal(w.byPeer, want) {
		t.Fatalf("%v", w.byPeer)
	}
	all := 0
	for n, r := range w.all() {
		if all++; !slices.Contains(list, r) || n != r.piece.Session {
			t.Fatalf("%v under %v", r.piece, n)
		}
	}
	for range w.all() {
		all++
		break // and no panic of the iterator
	}
	if all != 10 {
		t.Fatalf("%d requests are seen", all)
	}
	for i, r := range list {
		if !w.remove(r) || w.remove(r) || w.has(r) || w.n != 8-i {
			t.Fatalf("request %d is not removed once, of %d", i, w.n)
		}
	}
	if len(w.byName)+len(w.byPeer) != 0 {
		t.Fatalf("%v %v are left", w.byName, w.byPeer)
	}
}

// TestSegments: blocks are inside of their region, to the last byte.
func TestSegments(t *testing.T) {
	r := &Region{id: "R"}
	r.memory = backend.Memory{Addr: 1000, Len: 100}
	for _, tc := range []struct {
		block Block
		ok    bool
	}{
		{Block{0, 100}, true}, {Block{99, 1}, true}, {Block{100, 0}, false}, {Block{0, 0}, false}, {Block{0, 101}, false},
		{Block{99, 2}, false}, {Block{100, 1}, false}, {Block{101, 1}, false}, {Block{1, 1<<64 - 1}, false}, {Block{1<<64 - 1, 1}, false},
	} {
		list, err := segments(r, []Block{tc.block})
		if (err == nil) != tc.ok || tc.ok && (len(list) != 1 || list[0] != backend.Segment{Addr: 1000 + tc.block.Offset, Len: tc.block.Len}) {
			t.Errorf("%+v is %v, %v", tc.block, list, err)
		}
		if err != nil && !errors.Is(err, ErrConfig) {
			t.Errorf("error %v", err)
		}
	}
	if list, err := segments(r, nil); err != nil || len(list) != 1 || list[0].Len != 100 {
		t.Errorf("the whole region is %v, %v", list, err)
	}
	for overlap, list := range map[bool][]backend.Segment{
		false: {{Addr: 1020, Len: 5}, {Addr: 1000, Len: 20}, {Addr: 1025, Len: 1}},
		true:  {{Addr: 1020, Len: 5}, {Addr: 1000, Len: 21}},
	} {
		if err := apart(r, list); (err != nil) != overlap || overlap && !strings.HasSuffix(err.Error(), "region R: invalid argument: two blocks of one source overlap at offset 20") {
			t.Errorf("%v: error is %v", list, err)
		}
	}
}

// TestConfigBounds: what each field may be, and the values that a zero one takes.
func TestConfigBounds(t *testing.T) {
	good := func() Config { return Config{Name: "e", Backend: idle{}} }
	for name, tc := range map[string]struct {
		change func(*Config)
		why    string
	}{
		"no name":              {func(c *Config) { c.Name = "" }, "Name"},
		"a long agent":         {func(c *Config) { c.Agent = strings.Repeat("x", wire.MaxEndpoint+1) }, "Agent"},
		"no backend":           {func(c *Config) { c.Backend = nil }, "Backend is nil"},
		"a negative wait":      {func(c *Config) { c.OperationWait = -1 }, "negative"},
		"a negative handshake": {func(c *Config) { c.HandshakeTimeout = -1 }, "negative"},
		"fewer than no peers":  {func(c *Config) { c.Peers = -1 }, "negative"},
	} {
		c := good()
		tc.change(&c)
		if err := c.validate(); !errors.Is(err, ErrConfig) || !strings.Contains(fmt.Sprint(err), tc.why) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	c := good()
	if err := c.validate(); err != nil {
		t.Fatal(err)
	}
	if c.Agent != "e" || c.OperationWait != DefaultOperationWait || c.HandshakeTimeout != DefaultHandshakeTimeout || c.Requests != ownership.DefaultRequests ||
		c.PeerRequests != c.Requests/4 || c.Incarnation.IsZero() || c.FirstRequest == 0 {
		t.Errorf("the defaults are %+v", c)
	}
	for requests, share := range map[int]int{1: 1, 3: 1, 4: 1, 8: 2, 100: 25} {
		c := good()
		if c.Requests = requests; c.validate() != nil || c.PeerRequests != share {
			t.Errorf("a peer has %d of %d requests, want %d", c.PeerRequests, requests, share)
		}
	}
}

// idle is a backend that is only there.
type idle struct{ backend.Backend }

func TestErrorTexts(t *testing.T) {
	cause := errors.New("cause")
	for want, e := range map[string]*Error{
		"transfer: thing: halted: cause": {What: "thing", Kind: errors.New("halted"), Err: cause},
		"transfer: thing: halted":        {What: "thing", Kind: errors.New("halted")},
	} {
		if e.Error() != want || !errors.Is(e, e.Kind) || errors.Is(e, cause) != (e.Err != nil) || len(e.Unwrap()) != strings.Count(want, ":")-1 {
			t.Errorf("text is %q, want %q; it wraps %v", e, want, e.Unwrap())
		}
	}
	if a := (Answer{Outcome: outcome.Succeeded}).String(); a != "SUCCEEDED" {
		t.Error(a)
	}
}
