// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"fmt"
	"time"
)

// Verdict is what follows from a fact. There is none that says "well".
type Verdict uint8

// Verdicts, each one stronger than those before it.
const (
	_          Verdict = iota
	Notice             // for people: it may explain something
	Quarantine         // nothing new may be given to the device
	Doubt              // nobody knows what the device has done, or still does
)

var verdictNames = [...]string{Notice: "notice", Quarantine: "quarantine", Doubt: "doubt"}

// String names the verdict.
func (v Verdict) String() string {
	if v > 0 && int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("invalid verdict %d", uint8(v))
}

// Kind is where a fact comes from.
type Kind uint8

// Kinds of facts.
const (
	_        Kind = iota
	Xid           // an error that the driver reported, with its number
	ECC           // memory errors that could not be corrected
	RowRemap      // rows of memory that were, or cannot be, replaced
	Lost          // the device has fallen off the bus, or needs a reset
	Throttle      // the clocks were lowered
	NVLink        // a link that was up is down
	Blind         // NVML could not tell: this says nothing about the device
)

var kindNames = [...]string{Xid: "xid", ECC: "ecc", RowRemap: "row remap", Lost: "lost", Throttle: "throttle", NVLink: "nvlink", Blind: "blind"}

// String names the kind.
func (k Kind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("invalid kind %d", uint8(k))
}

// ErrUnhealthy is matched by every [Fact] as an error.
var ErrUnhealthy = errors.New("health: device is not well")

// Fact is one thing that was seen of one device. It is an error, so that it can
// be the reason of a doubt.
type Fact struct {
	At      time.Time
	Index   int    // of the device, in NVML's order
	UUID    string // of the device, as nvidia-smi prints it
	Kind    Kind
	Verdict Verdict
	Xid     uint64 // with kind Xid
	Text    string
}

// Error is the fact in one line, without its time.
func (f *Fact) Error() string {
	what := f.Kind.String()
	if f.Kind == Xid {
		what = fmt.Sprintf("Xid %d", f.Xid)
	}
	return fmt.Sprintf("health: GPU %d (%s): %s: %s: %s", f.Index, f.UUID, f.Verdict, what, f.Text)
}

// Unwrap is [ErrUnhealthy].
func (f *Fact) Unwrap() error { return ErrUnhealthy }

// Sink takes what follows from facts about one device: an engine of package
// gather is one. Neither call may block.
type Sink interface {
	Doubt(reason error)
	Quarantine(reason error)
}

// Feed passes a fact on to the sinks of its device, by UUID. A doubt closes the
// device for what is new as well.
func Feed(f *Fact, sinks map[string][]Sink) {
	for _, s := range sinks[f.UUID] {
		if f.Verdict >= Quarantine {
			s.Quarantine(f)
		}
		if f.Verdict == Doubt {
			s.Doubt(f)
		}
	}
}
