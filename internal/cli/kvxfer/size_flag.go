// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"fmt"
	"math"
	"strings"

	"github.com/dustin/go-humanize"
)

// sizeFlag is a number of bytes on the command line: 16384, 16KiB, 1MB.
type sizeFlag int64

// Set reads a size.
func (s *sizeFlag) Set(text string) error {
	if strings.HasPrefix(strings.TrimSpace(text), "-") {
		return fmt.Errorf("%q is less than nothing, give a size such as 16KiB", text)
	}
	n, err := humanize.ParseBytes(text)
	if err != nil {
		return fmt.Errorf("%q is not a size, give one such as 16KiB", text)
	}
	if n > math.MaxInt64 {
		return fmt.Errorf("%q is larger than any memory", text)
	}
	*s = sizeFlag(n)
	return nil
}

// String writes a size as Set reads it.
func (s *sizeFlag) String() string { return sizeText(int64(*s)) }

// Type is what the help calls the value.
func (s *sizeFlag) Type() string { return "size" }

// sizeText is a number of bytes for a reader: 16KiB, 32MiB.
func sizeText(n int64) string {
	return strings.ReplaceAll(humanize.IBytes(uint64(max(n, 0))), " ", "")
}

// rateText is a throughput, in decimal units as memory is measured.
func rateText(bytesPerSecond float64) string {
	return humanize.Bytes(uint64(max(bytesPerSecond, 0))) + "/s"
}
