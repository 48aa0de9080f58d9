// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package transfer

import "time"

func nap(d time.Duration) { time.Sleep(d) }
