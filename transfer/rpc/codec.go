// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"fmt"

	"github.com/kvxfer/kvxfer/transfer/rpc/pb"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// encode maps a message to its frame.
func encode(m wire.Message) (*pb.Frame, error) {
	switch m := m.(type) {
	case wire.Hello:
		return &pb.Frame{Message: &pb.Frame_Hello{Hello: &pb.Hello{
			Major: m.Version.Major, Minor: m.Version.Minor, Endpoint: m.Endpoint, Incarnation: m.Incarnation[:],
			Watermark: m.Watermark, Capabilities: m.Capabilities, Metadata: m.Metadata, Agent: m.Agent,
			Process: encodeProcess(m.Process),
		}}}, nil
	case wire.RequestData:
		return &pb.Frame{Message: &pb.Frame_RequestData{RequestData: encodeRequest(m)}}, nil
	case wire.Result:
		return &pb.Frame{Message: &pb.Frame_Result{Result: &pb.Result{
			Seq: m.Seq, Claim: encodeClaim(m.Claim), Evidence: pb.Evidence(m.Evidence),
		}}}, nil
	case wire.CancelSession:
		return &pb.Frame{Message: &pb.Frame_CancelSession{CancelSession: &pb.CancelSession{
			Seq: m.Seq, Session: encodeSession(m.Session), From: pb.Side(m.From),
		}}}, nil
	case wire.SessionQuiesced:
		return &pb.Frame{Message: &pb.Frame_SessionQuiesced{SessionQuiesced: &pb.SessionQuiesced{
			Seq: m.Seq, Session: encodeSession(m.Session),
		}}}, nil
	case wire.Receipt:
		return &pb.Frame{Message: &pb.Frame_Receipt{Receipt: &pb.Receipt{Received: m.Received, Watermark: m.Watermark}}}, nil
	case wire.Goodbye:
		return &pb.Frame{Message: &pb.Frame_Goodbye{Goodbye: &pb.Goodbye{}}}, nil
	case wire.Confirmed:
		return &pb.Frame{Message: &pb.Frame_Confirmed{Confirmed: &pb.Confirmed{Seq: m.Seq, Claim: encodeClaim(m.Claim)}}}, nil
	}
	return nil, fmt.Errorf("rpc: message of type %T has no encoding", m)
}

func encodeRequest(m wire.RequestData) *pb.RequestData {
	r := &pb.RequestData{
		Seq: m.Seq, Claim: encodeClaim(m.Claim), Metadata: m.Metadata, Label: m.Label,
		Direction: pb.Direction(m.Direction), Pieces: m.Pieces, Memory: pb.MemoryKind(m.Space.Kind), Device: m.Space.Device,
		Addrs: make([]uint64, len(m.Segments)), Lens: make([]uint64, len(m.Segments)),
	}
	for i, s := range m.Segments {
		r.Addrs[i], r.Lens[i] = s.Addr, s.Len
	}
	return r
}

func encodeProcess(p wire.Process) *pb.Process {
	if p == (wire.Process{}) {
		return nil
	}
	return &pb.Process{Pid: p.PID, Started: p.Started, Boot: p.Boot, Namespace: p.Namespace}
}

func encodeSession(s wire.SessionName) *pb.SessionName {
	return &pb.SessionName{Endpoint: s.Request.Endpoint, Number: s.Request.Number, Attempt: s.Attempt}
}

func encodeClaim(c wire.ClaimName) *pb.ClaimName {
	return &pb.ClaimName{
		Owner: c.Owner[:], Session: encodeSession(c.Session), Piece: c.Piece,
		Accessor: c.Accessor, Incarnation: c.Incarnation[:], Sequence: c.Sequence,
	}
}

// decode maps a frame to its message and validates it. A frame of a kind that
// this version does not know gives nil, nil: a newer minor version may add one.
func decode(f *pb.Frame) (wire.Message, error) {
	var d decoder
	if len(f.GetMore()) > 0 { // the stream has taken apart what may have it
		return nil, &wire.FieldError{Field: "More", Reason: "is inside of another frame's"}
	}
	var m wire.Message
	switch f := f.GetMessage().(type) {
	case *pb.Frame_Hello:
		d.kind = wire.KindHello
		// First of all: another version may mean something else by the rest.
		v := wire.Version{Major: f.Hello.GetMajor(), Minor: f.Hello.GetMinor()}
		if err := v.Check(); err != nil {
			return nil, err
		}
		m = d.hello(f.Hello, v)
	case *pb.Frame_RequestData:
		d.kind = wire.KindRequestData
		m = d.request(f.RequestData)
	case *pb.Frame_Result:
		d.kind = wire.KindResult
		r := f.Result
		m = wire.Result{Seq: r.GetSeq(), Claim: d.claim(r.GetClaim()), Evidence: wire.Evidence(d.code("Evidence", int32(r.GetEvidence())))}
	case *pb.Frame_CancelSession:
		d.kind = wire.KindCancelSession
		c := f.CancelSession
		m = wire.CancelSession{Seq: c.GetSeq(), Session: session(c.GetSession()), From: wire.Side(d.code("From", int32(c.GetFrom())))}
	case *pb.Frame_SessionQuiesced:
		d.kind = wire.KindSessionQuiesced
		m = wire.SessionQuiesced{Seq: f.SessionQuiesced.GetSeq(), Session: session(f.SessionQuiesced.GetSession())}
	case *pb.Frame_Receipt:
		m = wire.Receipt{Received: f.Receipt.GetReceived(), Watermark: f.Receipt.GetWatermark()}
	case *pb.Frame_Goodbye:
		m = wire.Goodbye{}
	case *pb.Frame_Confirmed:
		d.kind = wire.KindConfirmed
		m = wire.Confirmed{Seq: f.Confirmed.GetSeq(), Claim: d.claim(f.Confirmed.GetClaim())}
	default:
		return nil, nil
	}
	if d.first != nil {
		return nil, d.first
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return m, nil
}

// decoder keeps the first field that has no counterpart in package wire.
type decoder struct {
	kind  wire.Kind
	first error
}

func (d *decoder) fail(field, format string, args ...any) {
	if d.first == nil {
		d.first = &wire.FieldError{Kind: d.kind, Field: field, Reason: fmt.Sprintf(format, args...)}
	}
}

func (d *decoder) incarnation(field string, b []byte) (i wire.Incarnation) {
	if copy(i[:], b) != len(i) || len(b) != len(i) {
		d.fail(field, "has %d bytes, want %d", len(b), len(i))
	}
	return i
}

// code refuses what would be cut to a byte before it can be validated.
func (d *decoder) code(field string, n int32) uint8 {
	if n < 0 || n > 255 {
		d.fail(field, "code %d is not known", n)
		return 0
	}
	return uint8(n)
}

func (d *decoder) hello(h *pb.Hello, v wire.Version) wire.Message {
	return wire.Hello{
		Version: v, Endpoint: h.GetEndpoint(),
		Incarnation: d.incarnation("Incarnation", h.GetIncarnation()), Watermark: h.GetWatermark(),
		Capabilities: h.GetCapabilities(), Metadata: h.GetMetadata(), Agent: h.GetAgent(),
		Process: wire.Process{
			PID: h.GetProcess().GetPid(), Started: h.GetProcess().GetStarted(),
			Boot: h.GetProcess().GetBoot(), Namespace: h.GetProcess().GetNamespace(),
		},
	}
}

func (d *decoder) request(r *pb.RequestData) wire.Message {
	addrs, lens := r.GetAddrs(), r.GetLens()
	if len(addrs) != len(lens) {
		d.fail("Segments", "%d addresses and %d lengths", len(addrs), len(lens))
		return wire.RequestData{}
	}
	segments := make([]wire.Segment, len(addrs))
	for i := range segments {
		segments[i] = wire.Segment{Addr: addrs[i], Len: lens[i]}
	}
	return wire.RequestData{
		Seq: r.GetSeq(), Claim: d.claim(r.GetClaim()), Direction: wire.Direction(d.code("Direction", int32(r.GetDirection()))),
		Space:    wire.Space{Kind: wire.MemoryKind(d.code("Space.Kind", int32(r.GetMemory()))), Device: r.GetDevice()},
		Segments: segments, Metadata: r.GetMetadata(), Label: r.GetLabel(), Pieces: r.GetPieces(),
	}
}

func session(s *pb.SessionName) wire.SessionName {
	return wire.SessionName{Request: wire.RequestID{Endpoint: s.GetEndpoint(), Number: s.GetNumber()}, Attempt: s.GetAttempt()}
}

func (d *decoder) claim(c *pb.ClaimName) wire.ClaimName {
	return wire.ClaimName{
		Owner: d.incarnation("Claim.Owner", c.GetOwner()), Session: session(c.GetSession()), Piece: c.GetPiece(),
		Accessor: c.GetAccessor(), Incarnation: d.incarnation("Claim.Incarnation", c.GetIncarnation()), Sequence: c.GetSequence(),
	}
}
