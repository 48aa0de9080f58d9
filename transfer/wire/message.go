// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// Message is one of Hello, RequestData, Result, CancelSession, SessionQuiesced,
// Receipt, Goodbye and Confirmed; no other package can add one.
type Message interface {
	// Kind returns the stable code of the message's type.
	Kind() Kind
	// Validate returns a *FieldError for the first field outside of its limit.
	Validate() error
	// String returns the message in one line, without bulk data.
	String() string

	sealed()
}

// Sequenced is a Message with a number: it grows by one for each message that
// an endpoint sends to one incarnation of a peer, over all streams between the
// two, so that a repeated message is recognised and dropped.
type Sequenced interface {
	Message
	// Sequence returns the number, > 0 in a valid message.
	Sequence() uint64
	// WithSequence returns a copy that carries seq.
	WithSequence(seq uint64) Sequenced
}

// Version is the version of the protocol. Endpoints with different major
// numbers do not talk; a higher minor number only adds what may be ignored.
type Version struct{ Major, Minor uint32 }

// Current is the version that this library speaks.
var Current = Version{Major: 1, Minor: 0}

// String returns "major.minor".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Hello is the first message in each direction of a stream.
type Hello struct {
	Version     Version
	Endpoint    string // the accessor's name; the stream stands for it
	Incarnation Incarnation
	// Agent is the name under which Metadata is to be loaded, where that is not
	// Endpoint: a backend may need a fresh name in each life.
	Agent string
	// Watermark: requests that this endpoint created with a lower number are
	// over for good. 0 says nothing.
	Watermark uint64
	// Capabilities is a bit set. Unknown bits are ignored; none is defined yet.
	Capabilities uint64
	// Metadata is what the peer's backend needs to reach this endpoint's
	// registered memory, opaque here. It may be empty.
	Metadata []byte
	// Process is the process that the endpoint lives in, zero where that is not
	// said. It is believed only as far as the kernel says the same.
	Process Process
}

// Process names one process of a host for good; see package fence.
type Process struct {
	PID             uint32
	Started         uint64
	Boot, Namespace string
}

// RequestData asks an accessor to write Segments, or to read them. From this
// message on the accessor may touch the memory.
type RequestData struct {
	Seq   uint64
	Claim ClaimName // the receiver's claim on this accessor
	// Direction says whether the accessor writes or reads.
	Direction Direction
	// Space is what the memory is. A peer that knows host memory only takes a
	// device's for that, and its backend refuses the unknown addresses.
	Space Space
	// Segments are the owner's memory, in the order in which the data is meant.
	Segments []Segment
	// Metadata replaces that of the Hello when registrations changed; empty
	// says that the latest is still good.
	Metadata []byte
	// Label is the caller's own name of what it wants, opaque here.
	Label string
	// Pieces is how many pieces of the session name this accessor; 0 while that
	// is not decided: more may come.
	Pieces uint32
}

// Result tells the receiver how one of its claims ended.
type Result struct {
	Seq      uint64
	Claim    ClaimName // the receiver's, as its RequestData gave it
	Evidence Evidence
}

// CancelSession tells that the session failed or was cancelled at From's side.
// It proves nothing about memory.
type CancelSession struct {
	Seq     uint64
	Session SessionName
	From    Side
}

// SessionQuiesced is the sender's statement that it holds no access for a
// session and never will.
type SessionQuiesced struct {
	Seq     uint64
	Session SessionName
}

// Receipt acknowledges all sequenced messages up to and including Received. It
// follows each Hello, where it says from which number to resume, and then comes
// from time to time. It has no number of its own.
type Receipt struct {
	Received uint64
	// Watermark is that of Hello, as it is now.
	Watermark uint64
}

// Goodbye is the last message of an endpoint that has stopped: it owns nothing
// any more, so that reports to it can be dropped. It is no evidence.
type Goodbye struct{}

// Confirmed tells the accessor that its operation for Claim was seen to end by the
// owner of the memory, whom the backend notified. It is proof where the accessor
// itself is in doubt.
type Confirmed struct {
	Seq   uint64
	Claim ClaimName // the owner's, as its RequestData gave it
}

// Kind returns KindHello.
func (Hello) Kind() Kind { return KindHello }

// Kind returns KindRequestData.
func (RequestData) Kind() Kind { return KindRequestData }

// Kind returns KindResult.
func (Result) Kind() Kind { return KindResult }

// Kind returns KindCancelSession.
func (CancelSession) Kind() Kind { return KindCancelSession }

// Kind returns KindSessionQuiesced.
func (SessionQuiesced) Kind() Kind { return KindSessionQuiesced }

// Kind returns KindReceipt.
func (Receipt) Kind() Kind { return KindReceipt }

// Kind returns KindGoodbye.
func (Goodbye) Kind() Kind { return KindGoodbye }

// Kind returns KindConfirmed.
func (Confirmed) Kind() Kind { return KindConfirmed }

func (Hello) sealed()           {}
func (RequestData) sealed()     {}
func (Result) sealed()          {}
func (CancelSession) sealed()   {}
func (SessionQuiesced) sealed() {}
func (Receipt) sealed()         {}
func (Goodbye) sealed()         {}
func (Confirmed) sealed()       {}

// Sequence returns the message's number.
func (m RequestData) Sequence() uint64 { return m.Seq }

// Sequence returns the message's number.
func (m Result) Sequence() uint64 { return m.Seq }

// Sequence returns the message's number.
func (m CancelSession) Sequence() uint64 { return m.Seq }

// Sequence returns the message's number.
func (m SessionQuiesced) Sequence() uint64 { return m.Seq }

// Sequence returns the message's number.
func (m Confirmed) Sequence() uint64 { return m.Seq }

// WithSequence returns a copy that carries seq.
func (m Confirmed) WithSequence(seq uint64) Sequenced { m.Seq = seq; return m }

// WithSequence returns a copy that carries seq.
func (m RequestData) WithSequence(seq uint64) Sequenced { m.Seq = seq; return m }

// WithSequence returns a copy that carries seq.
func (m Result) WithSequence(seq uint64) Sequenced { m.Seq = seq; return m }

// WithSequence returns a copy that carries seq.
func (m CancelSession) WithSequence(seq uint64) Sequenced { m.Seq = seq; return m }

// WithSequence returns a copy that carries seq.
func (m SessionQuiesced) WithSequence(seq uint64) Sequenced { m.Seq = seq; return m }

// String returns the message in one line.
func (m Hello) String() string {
	return fmt.Sprintf("%v %s version %v incarnation %v", m.Kind(), m.Endpoint, m.Version, m.Incarnation)
}

// String returns the message in one line.
func (m RequestData) String() string {
	return fmt.Sprintf("%d %v %v %v %d segments", m.Seq, m.Kind(), m.Claim, m.Direction, len(m.Segments))
}

// String returns the message in one line.
func (m Result) String() string {
	return fmt.Sprintf("%d %v %v %v", m.Seq, m.Kind(), m.Claim, m.Evidence)
}

// String returns the message in one line.
func (m CancelSession) String() string {
	return fmt.Sprintf("%d %v %v from %v", m.Seq, m.Kind(), m.Session, m.From)
}

// String returns the message in one line.
func (m SessionQuiesced) String() string { return fmt.Sprintf("%d %v %v", m.Seq, m.Kind(), m.Session) }

// String returns the message in one line.
func (m Receipt) String() string { return fmt.Sprintf("%v %d", m.Kind(), m.Received) }

// String returns the message in one line.
func (m Confirmed) String() string { return fmt.Sprintf("%d %v %v", m.Seq, m.Kind(), m.Claim) }

// String returns the message in one line.
func (m Goodbye) String() string { return m.Kind().String() }
