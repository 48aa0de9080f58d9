// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"strings"
)

// compareRequests orders request ids by creator and number.
func compareRequests(a, b RequestID) int {
	return cmp.Or(strings.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Number, b.Number))
}

// compareSessions orders session names by request and attempt.
func compareSessions(a, b SessionName) int {
	return cmp.Or(compareRequests(a.Request, b.Request), cmp.Compare(a.Attempt, b.Attempt))
}
