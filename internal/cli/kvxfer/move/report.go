// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"slices"
	"time"
)

// Transfer is one transfer as both sides saw it.
type Transfer struct {
	Number   int    `json:"number"` // from 1
	Session  string `json:"session"`
	Bytes    int64  `json:"bytes"`
	Outcome  string `json:"outcome"` // the sender's
	Cause    string `json:"cause,omitempty"`
	Digest   string `json:"sha256"` // of what was sent, computed before
	Released bool   `json:"released"`
	// PostToDone is how long the operation ran; 0 when it did not end in success.
	PostToDone time.Duration `json:"post_to_done_ns"`
	// Receiver is the other side's word; nil when it could not give it any more.
	Receiver *Received `json:"receiver,omitempty"`
}

// Delivered reports whether both sides call it a success and the content that
// arrived is the content that was sent.
func (t *Transfer) Delivered() bool {
	return t.Outcome == Succeeded && t.Receiver != nil && t.Receiver.Outcome == Succeeded && t.Receiver.Equal && t.Receiver.Digest == t.Digest
}

// Proven reports whether both owners were released on proof, whatever the outcome.
func (t *Transfer) Proven() bool { return t.Released && t.Receiver != nil && t.Receiver.Released }

// Succeeded is the outcome of a delivery.
const Succeeded = "SUCCEEDED"

// Report is what a whole run found out.
type Report struct {
	Transfers []Transfer    `json:"transfers"`
	Took      time.Duration `json:"took_ns"` // all transfers, without starting and stopping
	// Retained lists what the sender still owns without proof, one line each.
	Retained []string `json:"retained,omitempty"`
	// Recovery is the sender's other life; nil without one.
	Recovery *Recovery `json:"recovery,omitempty"`
	// Contained says what the containment callback was called for; empty
	// unless FATAL.
	Contained string `json:"contained,omitempty"`
	// Sender and Receiver count owners at the end; Receiver is nil when it was killed.
	Sender   Finished  `json:"sender"`
	Receiver *Finished `json:"receiver,omitempty"`
}

// Delivered counts the transfers that both sides call a success with equal digests.
func (r *Report) Delivered() (n int) {
	for i := range r.Transfers {
		if r.Transfers[i].Delivered() {
			n++
		}
	}
	return n
}

// Proven counts the transfers whose owners were both released on proof.
func (r *Report) Proven() (n int) {
	for i := range r.Transfers {
		if r.Transfers[i].Proven() {
			n++
		}
	}
	return n
}

// Bytes is what arrived.
func (r *Report) Bytes() (n int64) {
	for i := range r.Transfers {
		if r.Transfers[i].Delivered() {
			n += r.Transfers[i].Bytes
		}
	}
	return n
}

// PostToDone is the distribution over delivered transfers.
func (r *Report) PostToDone() Latency {
	return r.latency(func(t *Transfer) time.Duration { return t.PostToDone })
}

// RequestToReleased is the receiver's: from its request to its memory's release.
func (r *Report) RequestToReleased() Latency {
	return r.latency(func(t *Transfer) time.Duration { return t.Receiver.Took })
}

func (r *Report) latency(pick func(*Transfer) time.Duration) Latency {
	var d []time.Duration
	for i := range r.Transfers {
		if r.Transfers[i].Delivered() {
			d = append(d, pick(&r.Transfers[i]))
		}
	}
	return LatencyOf(d)
}

// AllRetained is what either side still owns without proof, one line each.
func (r *Report) AllRetained() []string {
	all := slices.Clone(r.Retained)
	if r.Receiver != nil {
		for _, line := range r.Receiver.Retained {
			all = append(all, "receiver: "+line)
		}
	}
	return all
}
