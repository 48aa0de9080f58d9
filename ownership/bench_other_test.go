// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package ownership

import "time"

// threadCPU is not known here.
func threadCPU() time.Duration { return 0 }
