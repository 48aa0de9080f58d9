// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import "github.com/kvxfer/kvxfer/nixl"

// Agent is the binding's agent behind a backend.
func (b *Backend) Agent() *nixl.Agent { return b.agent }
