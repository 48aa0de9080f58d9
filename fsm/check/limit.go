// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import "fmt"

// LimitError says that a system is too large for the explorer as it is built.
type LimitError struct {
	System string
	What   string // what there is too much of
	Have   int
	Most   int
}

// Error names the system, the thing and both numbers.
func (e *LimitError) Error() string {
	return fmt.Sprintf("check: %s: %d %s; at most %d", e.System, e.Have, e.What, e.Most)
}

// ArgumentError says that the caller asked for something that the system has not.
type ArgumentError struct {
	System, What string
}

// Error names the system and what was asked for.
func (e *ArgumentError) Error() string { return "check: " + e.System + ": " + e.What }
