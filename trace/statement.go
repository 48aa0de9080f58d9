// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

// claimName is the full name of a claim (contract section 3).
type claimName struct {
	session, piece, accessor, incarnation, owner string
	sequence                                     uint64
}

// published is a claim of the side that published its memory's address. Lines are 0
// where it did not come to that.
type published struct {
	line      int // of its piece
	shown     int // PUBLISHED
	unexposed int // SAFE_UNPUBLISHED
	unsent    int // the same, by fail_send
	fenced    int
	settled   int // by late proof
	released  int
}

// posted is the operation of the side that answered such a claim.
type posted struct {
	line    int // of its piece
	granted int // the line of the first permission to submit
	refused int // of NOT_SUBMITTED
	done    int // of its first DONE
	ended   int // its claim became reusable for the first time
}

// sent is a message that waited, and was not taken back.
type sent struct {
	line    int
	number  uint64
	label   string
	session string
	about   *posted // of a result
}

// heard is a message of a peer that was taken in.
type heard struct {
	line  int
	label string
	life  string    // of the sender, as its stream or the claim's name gave it
	about claimName // of a result; of an acknowledgement the session alone
}

// part is a session in which the claim of a life of another endpoint is answered.
type part struct{ session, life string }

// member is an endpoint in one life.
type member struct{ endpoint, life string }

// edge says that a line of this trace comes after a line of another one.
type edge struct {
	line int
	from member
	kind string // REQUEST_DATA or CANCEL_SESSION, of
	name string // this session
}

// owned is a session that is not closed: how a trace's own effects name its claims.
type owned struct {
	side   string
	pieces map[string]*roots
}

// roots are the claims of one piece, by accessor: one of the two, by its side.
type roots struct {
	ours   map[string]*published
	theirs map[string]*posted
}
