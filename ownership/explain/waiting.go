// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	"github.com/kvxfer/kvxfer/ownership"
)

// Waiting is one message that has not left. It outlives its session's close, and a
// stop waits for it (contract §8).
type Waiting struct {
	To          string `json:"to"` // the accessor
	Incarnation string `json:"incarnation"`
	Session     string `json:"session"`
	Message     string `json:"message"` // OK, FAILED, IN_DOUBT, FAILED_QUIESCED, CANCEL_SESSION or SESSION_QUIESCED
	Frees       string `json:"frees"`
	Text        string `json:"text"`
}

func waiting(s *ownership.Snapshot) []Waiting {
	list := make([]Waiting, 0, len(s.Waiting))
	for i := range s.Waiting {
		out := &s.Waiting[i]
		w := Waiting{
			To: string(out.To.Accessor), Incarnation: out.To.Incarnation.String(), Session: out.Message.Session().String(),
			Message: out.Message.Label(), Frees: "its delivery on a stream to that life of the peer, or a fence of the peer",
		}
		w.Text = fmt.Sprintf("for %s: %s of %s; what frees it: %s", w.To, w.Message, w.Session, w.Frees)
		list = append(list, w)
	}
	return list
}
