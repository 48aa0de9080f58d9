// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"time"
)

// Fence is one that was applied: later evidence under the names that it ended is stale.
type Fence struct {
	At          time.Time     `json:"at"`
	Elapsed     time.Duration `json:"elapsed_ns"` // since the endpoint was made
	Accessor    string        `json:"accessor"`
	Incarnation string        `json:"incarnation,omitempty"` // empty: all of its lives
	Scope       string        `json:"scope"`                 // own, passive or all
	Evidence    string        `json:"evidence"`              // who stated, or saw, what
	Freed       int           `json:"freed"`                 // claims
	Text        string        `json:"text"`
}

// FenceOf returns f with its Text.
func FenceOf(f Fence) Fence {
	who := f.Accessor
	if f.Incarnation != "" {
		who += " incarnation " + f.Incarnation
	}
	f.Text = fmt.Sprintf("%s, scope %s, at %s, %s freed: %s", who, f.Scope, f.At.Format(time.RFC3339), count(f.Freed, "claim"), f.Evidence)
	return f
}
