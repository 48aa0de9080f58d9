// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import "time"

// SetPatience shortens the waits of a test that expects the kit to give up.
func SetPatience(d time.Duration) { patience = d }
