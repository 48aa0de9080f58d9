// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "testing"

// §7: what happens to a region's memory, and not the side, decides who shares it:
// the sources of READs share, and the destination of one is held alone.
func TestAccessDecidesWhoSharesARegion(t *testing.T) {
	for name, test := range map[string]struct {
		first, second             Side
		firstAccess, secondAccess Access
		want                      error
	}{
		"sources of two READs":               {Receive, Receive, Reads, Reads, nil},
		"sources of a READ and of a WRITE":   {Receive, Send, Reads, 0, nil},
		"destinations of two READs":          {Send, Send, Writes, Writes, ErrRefused},
		"a READ into the source of a WRITE":  {Send, Send, 0, Writes, ErrRefused},
		"a WRITE from the READ's target":     {Send, Send, Writes, 0, ErrRefused},
		"destination of a WRITE, and source": {Receive, Receive, 0, Reads, ErrRefused},
		"an access that is none":             {Receive, Receive, 0, Reads + 1, ErrInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			add := func(n uint64, side Side, access Access) (Effects, error) {
				h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(n, 1), Side: side}))
				_, effects, err := h.reg.AddPiece(0, PieceSpec{
					Name: PieceName{sessionNamed(n, 1), "x"}, Region: "R", Cohort: h.cohort(side, "a"), Access: access,
				})
				return effects, err
			}
			if err := h.reg.AddRegion(RegionSpec{ID: "R"}); err != nil {
				t.Fatal(err)
			}
			h.ok(add(1, test.first, test.firstAccess))
			h.want(test.want)(add(2, test.second, test.secondAccess))
		})
	}
}
