// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/transfer/wire"
)

func incarnation(b byte) wire.Incarnation { return wire.Incarnation{b} }

func session() wire.SessionName {
	return wire.SessionName{Request: wire.RequestID{Endpoint: "decode-0", Number: 17}, Attempt: 1}
}

func claim() wire.ClaimName {
	return wire.ClaimName{Owner: incarnation(1), Session: session(), Piece: "kv", Accessor: "prefill-0",
		Incarnation: incarnation(2), Sequence: 5}
}

func hello() wire.Hello {
	return wire.Hello{Version: wire.Current, Endpoint: "prefill-0", Incarnation: incarnation(2), Metadata: []byte("m")}
}

func request() wire.RequestData {
	return wire.RequestData{Seq: 1, Claim: claim(), Direction: wire.Write, Segments: []wire.Segment{{Addr: 4096, Len: 64}}, Label: "chat 7"}
}

// with returns a changed copy of m.
func with[M any](m M, change func(*M)) M { change(&m); return m }

func TestValidMessages(t *testing.T) {
	for _, m := range []wire.Message{
		hello(), request(),
		wire.Result{Seq: 2, Claim: claim(), Evidence: wire.InDoubt},
		wire.CancelSession{Seq: 3, Session: session(), From: wire.Receive},
		wire.SessionQuiesced{Seq: 4, Session: session()},
		wire.Receipt{}, wire.Receipt{Received: 9, Watermark: 3}, wire.Goodbye{}, wire.Confirmed{Seq: 5, Claim: claim()},
		with(request(), func(m *wire.RequestData) { m.Direction, m.Pieces = wire.Read, 2 }),
		with(request(), func(m *wire.RequestData) { m.Space = wire.Space{Kind: wire.VRAM, Device: 7} }),
		with(hello(), func(m *wire.Hello) { m.Process = wire.Process{PID: 7, Started: 9, Boot: "b", Namespace: "pid:[4]"} }),
	} {
		if err := m.Validate(); err != nil {
			t.Errorf("%v: %v", m, err)
		}
		if s := m.String(); !strings.Contains(s, m.Kind().String()) || strings.Contains(s, "\n") {
			t.Errorf("%v: text %q does not name the kind in one line", m.Kind(), s)
		}
	}
}

func TestValidateNamesTheField(t *testing.T) {
	type (
		H = wire.Hello
		D = wire.RequestData
		R = wire.Result
		C = wire.CancelSession
		Q = wire.SessionQuiesced
	)
	result := R{Seq: 2, Claim: claim(), Evidence: wire.OK}
	cancel := C{Seq: 3, Session: session(), From: wire.Send}
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		field   string
		message wire.Message
	}{
		{"Endpoint", with(hello(), func(m *H) { m.Endpoint = "" })},
		{"Endpoint", with(hello(), func(m *H) { m.Endpoint = long(wire.MaxEndpoint + 1) })},
		{"Endpoint", with(hello(), func(m *H) { m.Endpoint = "a/b" })},
		{"Endpoint", with(hello(), func(m *H) { m.Endpoint = "a\nb" })},
		{"Incarnation", with(hello(), func(m *H) { m.Incarnation = wire.Incarnation{} })},
		{"Agent", with(hello(), func(m *H) { m.Agent = "a b" })},
		{"Metadata", with(hello(), func(m *H) { m.Metadata = make([]byte, wire.MaxMetadata+1) })},
		{"Process.PID", with(hello(), func(m *H) { m.Process = wire.Process{Started: 9, Boot: "b", Namespace: "n"} })},
		{"Process.PID", with(hello(), func(m *H) { m.Process = wire.Process{PID: 1 << 31, Boot: "b", Namespace: "n"} })},
		{"Process", with(hello(), func(m *H) { m.Process = wire.Process{PID: 1, Boot: "b"} })},
		{"Process.Boot", with(hello(), func(m *H) { m.Process = wire.Process{PID: 1, Boot: long(wire.MaxEndpoint + 1), Namespace: "n"} })},
		{"Process.Namespace", with(hello(), func(m *H) { m.Process = wire.Process{PID: 1, Boot: "b", Namespace: "a\nb"} })},
		{"Space.Kind", with(request(), func(m *D) { m.Space.Kind = 2 })},
		{"Space.Device", with(request(), func(m *D) { m.Space.Device = 1 })},
		{"Seq", with(request(), func(m *D) { m.Seq = 0 })},
		{"Claim.Owner", with(request(), func(m *D) { m.Claim.Owner = wire.Incarnation{} })},
		{"Claim.Session.Request.Endpoint", with(request(), func(m *D) { m.Claim.Session.Request.Endpoint = "" })},
		{"Claim.Session.Request.Number", with(request(), func(m *D) { m.Claim.Session.Request.Number = 0 })},
		{"Claim.Session.Attempt", with(request(), func(m *D) { m.Claim.Session.Attempt = 0 })},
		{"Claim.Piece", with(request(), func(m *D) { m.Claim.Piece = "" })},
		{"Claim.Piece", with(request(), func(m *D) { m.Claim.Piece = long(wire.MaxPiece + 1) })},
		{"Claim.Piece", with(request(), func(m *D) { m.Claim.Piece = "a\x00" })},
		{"Claim.Piece", with(request(), func(m *D) { m.Claim.Piece = "\xff" })},
		{"Claim.Accessor", with(request(), func(m *D) { m.Claim.Accessor = "é" })},
		{"Claim.Incarnation", with(request(), func(m *D) { m.Claim.Incarnation = wire.Incarnation{} })},
		{"Claim.Sequence", with(request(), func(m *D) { m.Claim.Sequence = 0 })},
		{"Segments", with(request(), func(m *D) { m.Segments = nil })},
		{"Segments", with(request(), func(m *D) { m.Segments = make([]wire.Segment, wire.MaxSegments+1) })},
		{"Segments[1].Len", with(request(), func(m *D) { m.Segments = []wire.Segment{{Addr: 1, Len: 1}, {Addr: 1}} })},
		{"Segments[0]", with(request(), func(m *D) { m.Segments = []wire.Segment{{Addr: math.MaxUint64, Len: 1}} })},
		{"Segments", with(request(), func(m *D) { m.Segments = []wire.Segment{{Len: math.MaxUint64}, {Len: 1}} })},
		{"Metadata", with(request(), func(m *D) { m.Metadata = make([]byte, wire.MaxMetadata+1) })},
		{"Label", with(request(), func(m *D) { m.Label = long(wire.MaxLabel + 1) })},
		{"Seq", with(result, func(m *R) { m.Seq = 0 })},
		{"Claim.Sequence", with(result, func(m *R) { m.Claim.Sequence = 0 })},
		{"Evidence", with(result, func(m *R) { m.Evidence = 0 })},
		{"Evidence", with(result, func(m *R) { m.Evidence = wire.FailedQuiesced + 1 })},
		{"Session.Attempt", with(cancel, func(m *C) { m.Session.Attempt = 0 })},
		{"From", with(cancel, func(m *C) { m.From = 0 })},
		{"From", with(cancel, func(m *C) { m.From = 3 })},
		{"Session.Request.Number", Q{Seq: 1, Session: wire.SessionName{Request: wire.RequestID{Endpoint: "a"}, Attempt: 1}}},
		{"Seq", Q{Session: session()}},
		{"Direction", with(request(), func(m *D) { m.Direction = 0 })},
		{"Direction", with(request(), func(m *D) { m.Direction = wire.Read + 1 })},
		{"Seq", wire.Confirmed{Claim: claim()}},
		{"Claim.Owner", wire.Confirmed{Seq: 1}},
	} {
		err := test.message.Validate()
		var field *wire.FieldError
		if !errors.As(err, &field) || !errors.Is(err, wire.ErrInvalid) {
			t.Errorf("%v: got %v, want a FieldError on %s", test.message.Kind(), err, test.field)
			continue
		}
		if field.Field != test.field || field.Kind != test.message.Kind() || field.Reason == "" {
			t.Errorf("%v: got %v, want field %s", test.message.Kind(), err, test.field)
		}
	}
}

// The codes travel between versions: a changed number is a broken protocol.
func TestCodesAreStable(t *testing.T) {
	for got, want := range map[int]int{
		int(wire.KindHello): 1, int(wire.KindRequestData): 2, int(wire.KindResult): 3,
		int(wire.KindCancelSession): 4, int(wire.KindSessionQuiesced): 5, int(wire.KindReceipt): 6, int(wire.KindGoodbye): 7, int(wire.KindConfirmed): 8,
	} {
		if got != want {
			t.Errorf("%v has code %d, want %d", wire.Kind(got), got, want)
		}
	}
	for i, e := range []wire.Evidence{wire.OK, wire.Failed, wire.InDoubt, wire.FailedQuiesced} {
		if int(e) != i+1 {
			t.Errorf("%v has code %d, want %d", e, e, i+1)
		}
	}
	if wire.Write != 1 || wire.Read != 2 {
		t.Errorf("directions have codes %d and %d, want 1 and 2", wire.Write, wire.Read)
	}
	if wire.Receive != 1 || wire.Send != 2 {
		t.Errorf("sides have codes %d and %d, want 1 and 2", wire.Receive, wire.Send)
	}
}

func TestZeroEnumsSayInvalid(t *testing.T) {
	for _, s := range []string{wire.Kind(0).String(), wire.Evidence(0).String(), wire.Side(0).String(), wire.Kind(99).String()} {
		if !strings.HasPrefix(s, "invalid ") {
			t.Errorf("got %q, want a text that says invalid", s)
		}
	}
}

func TestVersionCheck(t *testing.T) {
	if err := (wire.Version{Major: wire.Current.Major, Minor: 99}).Check(); err != nil {
		t.Errorf("a newer minor version: %v", err)
	}
	err := wire.Version{Major: 9, Minor: 3}.Check()
	var v *wire.VersionError
	if !errors.As(err, &v) || !errors.Is(err, wire.ErrVersion) {
		t.Fatalf("got %v, want a VersionError", err)
	}
	for _, want := range []string{"9.3", wire.Current.String()} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name version %s", err, want)
		}
	}
}

func TestWithSequenceLeavesTheOriginal(t *testing.T) {
	for _, m := range []wire.Sequenced{request(), wire.Result{Seq: 1}, wire.CancelSession{Seq: 1}, wire.SessionQuiesced{Seq: 1}} {
		if got := m.WithSequence(8); got.Sequence() != 8 || m.Sequence() != 1 || got.Kind() != m.Kind() {
			t.Errorf("%v: copy has %d, original %d", m.Kind(), got.Sequence(), m.Sequence())
		}
	}
}
