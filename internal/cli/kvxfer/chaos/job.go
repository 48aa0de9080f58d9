// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"time"

	"github.com/kvxfer/kvxfer/nixl"
)

// Job tells a process which node to be. It is the first line that it reads.
type Job struct {
	Node      int           `json:"node"`
	Life      int           `json:"life"` // how often this node was started before
	Library   string        `json:"library"`
	Transport string        `json:"transport"`
	Seed      uint64        `json:"seed"`
	Regions   int           `json:"regions"`
	Bytes     int           `json:"bytes"`  // of a region
	Listen    string        `json:"listen"` // where this node listens
	Dial      []string      `json:"dial"`   // whom it dials
	Wait      time.Duration `json:"wait_ns"`
	Notify    bool          `json:"notify"`
	Trace     string        `json:"trace"` // the file
	// Exchange lets NIXL take and give metadata by itself, beside the endpoint.
	Exchange bool `json:"exchange,omitempty"`
	// Lengths puts what may state other lengths into the streams that are accepted.
	Lengths bool `json:"lengths,omitempty"`
	// Careless nodes use memory again when a transfer has an outcome, without proof, as
	// engines do today: what the checker has to find.
	Careless bool `json:"careless,omitempty"`
}

// order is what the first process wants of a node. Exactly one field besides ID is set.
type order struct {
	ID     uint64        `json:"id"`
	Ask    *askOrder     `json:"ask,omitempty"`
	Hold   *bool         `json:"hold,omitempty"` // requests are kept, or answered again
	State  bool          `json:"state,omitempty"`
	Renew  bool          `json:"renew,omitempty"`  // Endpoint.Reincarnate
	Gone   []string      `json:"gone,omitempty"`   // Endpoint.FenceGone
	Abuse  Fault         `json:"abuse,omitempty"`  // which kind
	Lie    *bool         `json:"lie,omitempty"`    // state other lengths from now on, or no more
	Forget string        `json:"forget,omitempty"` // an agent, whose metadata NIXL forgets
	Check  bool          `json:"check,omitempty"`
	Stop   time.Duration `json:"stop_ns,omitempty"` // how long it may take
}

// askOrder is one transfer, which the node asks a peer for.
type askOrder struct {
	Peer string `json:"peer"`
	Read bool   `json:"read"`
	// Cancel, when > 0: after this time.
	Cancel time.Duration `json:"cancel_ns,omitempty"`
}

// reply answers the order of the same ID; one with ID 0 says that the node is there,
// or what it found by itself.
type reply struct {
	ID      uint64   `json:"id"`
	Outcome string   `json:"outcome,omitempty"`
	Error   string   `json:"error,omitempty"`
	State   *State   `json:"state,omitempty"`
	Found   []string `json:"found,omitempty"`
	Refused int      `json:"refused,omitempty"` // abuses that were refused as they should be
}

// State is what a node owns and uses.
type State struct {
	Agent    string         `json:"agent"` // the name that NIXL knows
	Owned    int            `json:"owned"` // regions
	Retained []string       `json:"retained,omitempty"`
	Outcomes map[string]int `json:"outcomes,omitempty"` // of transfers that this node was part of
	Checked  int64          `json:"checked"`            // bytes
	Usage
	Open []string `json:"open,omitempty"` // what the files are
}

// Usage is what a leak would make more of.
type Usage struct {
	Files      int          `json:"files"`
	Threads    int          `json:"threads"`
	Goroutines int          `json:"goroutines"`
	Resident   int64        `json:"resident"` // bytes
	Handles    nixl.Handles `json:"handles"`
}
