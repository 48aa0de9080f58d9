// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"strings"
	"testing"
)

// §5: a reservation of several pieces takes all of them or none, whatever refuses
// one of them.
func TestPiecesAreReservedTogetherOrNotAtAll(t *testing.T) {
	session := sessionNamed(1, 1)
	piece := func(name, region string) PieceSpec { return PieceSpec{Name: PieceName{session, name}, Region: region} }
	for name, test := range map[string]struct {
		specs  []PieceSpec
		config func(*Config)
		want   error
		text   string
	}{
		"all":                  {specs: []PieceSpec{piece("kv", "A"), piece("aux", "B")}},
		"none":                 {want: ErrInvalidArgument},
		"one region twice":     {specs: []PieceSpec{piece("kv", "A"), piece("aux", "A")}, want: ErrRefused, text: "piece origin/1@1:aux: refused"},
		"one name twice":       {specs: []PieceSpec{piece("kv", "A"), piece("kv", "B")}, want: ErrReject},
		"unknown region":       {specs: []PieceSpec{piece("kv", "A"), piece("aux", "C")}, want: ErrInvalidArgument},
		"no room for two":      {specs: []PieceSpec{piece("kv", "A"), piece("aux", "B")}, config: func(c *Config) { c.Owners = 1 }, want: ErrCapacity},
		"no room for messages": {specs: []PieceSpec{piece("kv", "A"), piece("aux", "B")}, config: func(c *Config) { c.Outbox = 1 }, want: ErrCapacity},
		"of no session": {specs: []PieceSpec{{Name: PieceName{sessionNamed(9, 1), "kv"}, Region: "A"}, {Name: PieceName{sessionNamed(9, 1), "aux"}, Region: "B"}},
			want: ErrStale},
		"one that is refused": {specs: []PieceSpec{piece("kv", "C")}, want: ErrInvalidArgument},
		"of another session, not owned": {specs: []PieceSpec{piece("kv", "A"), {Name: PieceName{sessionNamed(9, 1), "aux"}, Region: "B"}},
			want: ErrInvalidArgument, text: "piece origin/9@1:aux: invalid_argument: is of another session than origin/1@1:kv"},
		"of another session": {specs: []PieceSpec{piece("kv", "A"), {Name: PieceName{sessionNamed(2, 1), "aux"}, Region: "B"}}, want: ErrInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(c *Config) {
				if test.config != nil {
					test.config(c)
				}
			})
			for _, id := range []string{"A", "B"} {
				if err := h.reg.AddRegion(RegionSpec{ID: id}); err != nil {
					t.Fatal(err)
				}
			}
			h.ok(h.reg.Admit(0, SessionSpec{Name: session, Side: Receive}))
			h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(2, 1), Side: Receive}))
			for i := range test.specs {
				test.specs[i].Cohort = h.cohort(Receive, "a")
			}
			if name == "no room for messages" {
				h.cancelFrom(sessionNamed(8, 1), "z", Receive) // its answer waits
			}
			claims, effects, err := h.reg.AddPieces(0, test.specs...)
			h.want(test.want)(effects, err)
			if err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("error is %q, want %q in it", err, test.text)
			}
			want := 0
			if test.want == nil {
				want = len(test.specs)
			}
			if n := h.reg.Counters().Owners; n != want || len(claims) != want {
				t.Fatalf("%d owners, %d lists of claims, want %d", n, len(claims), want)
			}
		})
	}
}
