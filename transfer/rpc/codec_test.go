// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/kvxfer/kvxfer/transfer/rpc/pb"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

func samples() []wire.Message {
	session := wire.SessionName{Request: wire.RequestID{Endpoint: "decode-0", Number: 17}, Attempt: 2}
	claim := wire.ClaimName{Owner: wire.Incarnation{1}, Session: session, Piece: "kv/3", Accessor: "prefill-0", Incarnation: wire.Incarnation{2}, Sequence: 5}
	return []wire.Message{
		wire.Hello{Version: wire.Version{Major: 1, Minor: 7}, Endpoint: "prefill-0", Incarnation: wire.Incarnation{9}, Watermark: 4, Capabilities: 3, Metadata: []byte("md"), Agent: "prefill-0:2", Process: wire.Process{PID: 17, Started: 1 << 40, Boot: "b", Namespace: "pid:[4]"}},
		wire.RequestData{Seq: 1, Claim: claim, Segments: []wire.Segment{{Addr: 1 << 40, Len: 16384}, {Addr: 3, Len: 1}}, Metadata: []byte("new"), Label: "chat 7", Direction: wire.Read, Pieces: 3, Space: wire.Space{Kind: wire.VRAM, Device: 2}},
		wire.Result{Seq: 2, Claim: claim, Evidence: wire.FailedQuiesced},
		wire.CancelSession{Seq: 3, Session: session, From: wire.Send},
		wire.SessionQuiesced{Seq: 4, Session: session},
		wire.Receipt{Received: 9, Watermark: 5},
		wire.Goodbye{},
		wire.Confirmed{Seq: 5, Claim: claim},
	}
}

func TestCodecRoundTrip(t *testing.T) {
	for _, m := range samples() {
		f, err := encode(m)
		if err != nil {
			t.Fatalf("%v: %v", m, err)
		}
		got, err := decode(f)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("got %+v, %v; want %+v", got, err, m)
		}
	}
}

// The field numbers of the frame and the enum values are the codes of wire.
// A newer minor version may add fields, to the frame and to each message in it: they are
// passed over, and what is known means what it did.
func TestFieldsThatAreNotKnown(t *testing.T) {
	unknown := protowire.AppendBytes(protowire.AppendTag(nil, 1000, protowire.BytesType), []byte("of tomorrow"))
	unknown = protowire.AppendVarint(protowire.AppendTag(unknown, 1001, protowire.VarintType), 7)
	for _, want := range samples() {
		frame, err := encode(want)
		if err != nil {
			t.Fatal(err)
		}
		m := frame.ProtoReflect()
		m.SetUnknown(unknown)
		m.Mutable(m.WhichOneof(m.Descriptor().Oneofs().ByName("message"))).Message().SetUnknown(unknown)
		data, err := proto.Marshal(frame)
		if err != nil {
			t.Fatal(err)
		}
		var got pb.Frame
		if err := proto.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte("of tomorrow")) {
			t.Fatalf("%v: nothing was added", want.Kind())
		}
		if decoded, err := decode(&got); err != nil || !reflect.DeepEqual(decoded, want) {
			t.Errorf("%v: %+v, %v; want %+v", want.Kind(), decoded, err, want)
		}
	}
}

func TestFrameNumbersAreTheKinds(t *testing.T) {
	fields := (&pb.Frame{}).ProtoReflect().Descriptor().Oneofs().ByName("message").Fields()
	if fields.Len() != len(samples()) {
		t.Errorf("frame has %d fields, want %d", fields.Len(), len(samples()))
	}
	for _, m := range samples() {
		f := fields.ByNumber(protoNumber(m.Kind()))
		if f == nil || !strings.EqualFold(string(f.Name()), m.Kind().String()) {
			t.Errorf("%v: field number %d is %v", m.Kind(), m.Kind(), f)
		}
	}
	for d := wire.Write; d.IsValid(); d++ {
		if got := strings.TrimPrefix(pb.Direction(d).String(), "DIRECTION_"); got != d.String() {
			t.Errorf("direction %d is %s on the wire, %v here", d, got, d)
		}
	}
	for e := wire.OK; e.IsValid(); e++ {
		if got := strings.ToLower(strings.TrimPrefix(pb.Evidence(e).String(), "EVIDENCE_")); got != e.String() {
			t.Errorf("evidence %d is %s on the wire, %v here", e, got, e)
		}
	}
	for s := wire.Receive; s.IsValid(); s++ {
		if got := strings.ToLower(strings.TrimPrefix(pb.Side(s).String(), "SIDE_")); got != s.String() {
			t.Errorf("side %d is %s on the wire, %v here", s, got, s)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	edit := func(i int, change func(*pb.Frame)) *pb.Frame {
		f, err := encode(samples()[i])
		if err != nil {
			t.Fatal(err)
		}
		change(f)
		return f
	}
	for _, test := range []struct {
		field string
		frame *pb.Frame
	}{
		{"Incarnation", edit(0, func(f *pb.Frame) { f.GetHello().Incarnation = []byte{1} })},
		{"Incarnation", edit(0, func(f *pb.Frame) { f.GetHello().Incarnation = make([]byte, 17) })},
		{"Segments", edit(1, func(f *pb.Frame) { f.GetRequestData().Lens = nil })},
		{"Claim.Owner", edit(1, func(f *pb.Frame) { f.GetRequestData().Claim = nil })},
		{"Evidence", edit(2, func(f *pb.Frame) { f.GetResult().Evidence = 257 })},
		{"Evidence", edit(2, func(f *pb.Frame) { f.GetResult().Evidence = -1 })},
		{"Evidence", edit(2, func(f *pb.Frame) { f.GetResult().Evidence = 0 })},
		{"From", edit(3, func(f *pb.Frame) { f.GetCancelSession().From = 77 })},
		{"Session.Request.Endpoint", edit(4, func(f *pb.Frame) { f.GetSessionQuiesced().Session = nil })},
	} {
		m, err := decode(test.frame)
		var field *wire.FieldError
		if !errors.As(err, &field) || field.Field != test.field || m != nil {
			t.Errorf("%v: got %v, %v; want an error on field %s", test.frame, m, err, test.field)
		}
	}
	other := edit(0, func(f *pb.Frame) { f.GetHello().Major, f.GetHello().Incarnation = 2, []byte("other form") })
	if _, err := decode(other); !errors.Is(err, wire.ErrVersion) {
		t.Errorf("hello of another major version: %v, want ErrVersion", err)
	}
	if m, err := decode(&pb.Frame{}); m != nil || err != nil {
		t.Errorf("frame of an unknown kind: %v, %v; want to pass over it", m, err)
	}
}

// A message with every field at its limit fits into what a stream accepts.
func TestLargestMessageFits(t *testing.T) {
	r := samples()[1].(wire.RequestData)
	r.Metadata = make([]byte, wire.MaxMetadata)
	r.Label = strings.Repeat("x", wire.MaxLabel)
	r.Segments = make([]wire.Segment, wire.MaxSegments)
	for i := range r.Segments {
		r.Segments[i] = wire.Segment{Addr: 1 << 60, Len: 1 << 46} // 7-byte varints, 8 EiB in all
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	f, err := encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if n := proto.Size(f); n > wire.MaxMessage {
		t.Errorf("%d bytes, limit %d", n, wire.MaxMessage)
	}
}
