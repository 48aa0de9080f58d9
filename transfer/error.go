// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import "errors"

// Errors that callers match with errors.Is. Refusals of the ownership rules
// come as *ownership.Error.
var (
	// ErrHandshake: the stream ended, or said something else, before both
	// sides had said Hello.
	ErrHandshake = errors.New("handshake not completed")
)
