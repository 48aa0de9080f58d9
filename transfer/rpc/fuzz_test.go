// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/kvxfer/kvxfer/transfer/rpc/pb"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Whatever bytes arrive, decoding gives a valid message or a typed error, and
// what it gives survives the way back.
func FuzzDecode(f *testing.F) {
	for _, m := range samples() {
		b := marshalled(f, m)
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(checkFrame)
}

func FuzzHello(f *testing.F)           { fuzzKind(f, wire.KindHello) }
func FuzzRequestData(f *testing.F)     { fuzzKind(f, wire.KindRequestData) }
func FuzzResult(f *testing.F)          { fuzzKind(f, wire.KindResult) }
func FuzzCancelSession(f *testing.F)   { fuzzKind(f, wire.KindCancelSession) }
func FuzzSessionQuiesced(f *testing.F) { fuzzKind(f, wire.KindSessionQuiesced) }
func FuzzReceipt(f *testing.F)         { fuzzKind(f, wire.KindReceipt) }
func FuzzGoodbye(f *testing.F)         { fuzzKind(f, wire.KindGoodbye) }
func FuzzConfirmed(f *testing.F)       { fuzzKind(f, wire.KindConfirmed) }

// fuzzKind does the same within the fields of one message, so that no time goes
// into bytes that are another's.
func fuzzKind(f *testing.F, kind wire.Kind) {
	for _, m := range samples() {
		if m.Kind() != kind {
			continue
		}
		_, _, tag := protowire.ConsumeTag(marshalled(f, m))
		fields, n := protowire.ConsumeBytes(marshalled(f, m)[tag:])
		if n < 0 {
			f.Fatal(protowire.ParseError(n))
		}
		f.Add(fields)
		f.Add(fields[:len(fields)/2])
	}
	f.Fuzz(func(t *testing.T, fields []byte) {
		checkFrame(t, protowire.AppendBytes(protowire.AppendTag(nil, protoNumber(kind), protowire.BytesType), fields))
	})
}

func marshalled(f *testing.F, m wire.Message) []byte {
	frame, err := encode(m)
	if err != nil {
		f.Fatal(err)
	}
	b, err := proto.Marshal(frame)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

func checkFrame(t *testing.T, b []byte) {
	var frame pb.Frame
	if proto.Unmarshal(b, &frame) != nil {
		return // gRPC ends the stream
	}
	m, err := decode(&frame)
	if err != nil {
		if !errors.Is(err, wire.ErrInvalid) && !errors.Is(err, wire.ErrVersion) {
			t.Fatalf("untyped error %v", err)
		}
		return
	}
	if m == nil {
		return
	}
	if err := m.Validate(); err != nil {
		t.Fatalf("decoded an invalid message: %v", err)
	}
	again, err := encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if proto.Size(again) > wire.MaxMessage {
		t.Fatalf("a valid message takes %d bytes, limit %d", proto.Size(again), wire.MaxMessage)
	}
	got, err := decode(again)
	if err != nil || got.String() != m.String() {
		t.Fatalf("round trip of %v gave %v, %v", m, got, err)
	}
}
