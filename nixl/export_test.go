// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl

import "github.com/kvxfer/kvxfer/internal/nixlc"

// BarePoll gives a pass over the requests without the binding: a loop in C over
// the same handles.
func (a *Agent) BarePoll(requests []*Request) (pass func()) {
	handles := make([]nixlc.Request, len(requests))
	for i, r := range requests {
		handles[i] = r.handle
	}
	codes := make([]nixlc.Code, len(handles))
	return func() { nixlc.BarePoll(a.lib.api, a.handle, handles, codes, 1) }
}
